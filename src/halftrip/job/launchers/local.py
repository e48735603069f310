"""Ranks as plain processes on this host."""

from __future__ import annotations

import os
import subprocess

from halftrip.control.listener import Reach
from halftrip.job.launchers.base import RANK_COMMAND, Launcher
from halftrip.job.processes import Started
from halftrip.job.spec import RANK_VARIABLE, Job
from halftrip.plan.plan import Plan


class LocalLauncher(Launcher):
    def __init__(self, plan: Plan) -> None:
        pass

    @property
    def reach(self) -> Reach:
        return "unix"

    def start(self, job: Job, started: Started) -> None:
        for rank in range(job.ranks):
            start_rank(job, rank, started)


def start_rank(job: Job, rank: int, started: Started) -> None:
    """Starts a rank on this host. Raises what Started.add does."""
    process = subprocess.Popen(
        RANK_COMMAND,
        env=os.environ | job.environment() | {RANK_VARIABLE: str(rank)},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    started.add(process, f"rank {rank} (process {process.pid})", ranks=(rank,))
