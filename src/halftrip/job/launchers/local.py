"""Ranks as plain processes on this host: forks of one, or fresh ones."""

from __future__ import annotations

import contextlib
import time
from functools import cached_property

from halftrip.control.listener import Reach
from halftrip.errors import Interrupted, Stopped
from halftrip.job import forks
from halftrip.job.deaths import LaunchFailed, how_ended
from halftrip.job.launchers.base import Launcher
from halftrip.job.processes import START_SECONDS, Started, rank_process
from halftrip.job.spec import Job, new_token
from halftrip.plan.plan import Plan


class LocalLauncher(Launcher):
    def __init__(self, plan: Plan) -> None:
        pass

    @property
    def reach(self) -> Reach:
        return "unix"

    @cached_property
    def token(self) -> str:
        return (forks.token() if self.may_fork else None) or new_token()

    def start(self, job: Job, started: Started) -> None:
        # A runtime of Dragon's is attached to before anything else.
        if self.may_fork and job.attach is None and _fork_ranks(job, started):
            return
        for rank in range(job.ranks):
            start_rank(job, rank, started)


def _fork_ranks(job: Job, started: Started) -> bool:
    """Starts all ranks as forks of one process, which stays for later launches. Returns whether
    that was possible. Raises Interrupted if that process was killed, and Stopped."""
    server = forks.server(job.token)
    if server is None:
        return False
    deadline = time.monotonic() + START_SECONDS

    def is_wanted() -> bool:
        return started.stop_reason is None and time.monotonic() < deadline

    try:
        forked = server.fork(job.environment(), job.ranks, is_wanted)
    except forks.Killed as error:
        name = f"the process that forks ranks (process {error.pid})"
        raise Interrupted(f"{name} {how_ended(-error.number)}") from None
    if not forked and time.monotonic() >= deadline:
        # Fresh ranks might meet forks that nobody knows of.
        raise LaunchFailed(f"no rank has started within {START_SECONDS:.0f} s")
    if forked:
        started.lasting.add(server.pid)
    for rank, process in enumerate(forked):
        # All of them exist already; the supervisor sees itself that it has to end them.
        with contextlib.suppress(Stopped):
            started.add(process, f"rank {rank} (process {process.pid})", ranks=(rank,))
    if started.stop_reason is not None:
        raise Stopped(started.stop_reason)
    if not forked:
        forks.end()
    return bool(forked)


def start_rank(job: Job, rank: int, started: Started) -> None:
    """Starts a rank on this host. Raises what Started.add does."""
    process = rank_process(job, rank)
    started.add(process, f"rank {rank} (process {process.pid})", ranks=(rank,))
