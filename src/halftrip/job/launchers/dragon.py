"""Ranks as processes of a Dragon runtime: of one that is started for them, or of the one that has
started halftrip."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

from halftrip.control.listener import Reach
from halftrip.control.network import Network
from halftrip.dragon import process
from halftrip.dragon.command import runtime_command
from halftrip.errors import Unavailable
from halftrip.job import dragon_runtime
from halftrip.job.launchers.base import Launcher
from halftrip.job.processes import Started
from halftrip.job.spec import Job
from halftrip.plan.plan import Plan


class DragonLauncher(Launcher):
    starts_dragon = True

    def __init__(self, plan: Plan) -> None:
        if not process.is_installed():
            raise Unavailable(process.no_dragon())
        self._network = Network(plan.interface, plan.data_ports)
        # In a runtime halftrip is its head process, and what it starts speaks for it.
        within = process.in_runtime()
        self._command = None if within else runtime_command(plan.dragon, os.environ)
        # Dragon starts its processes in the same working directory on all nodes.
        shared = os.getcwd() if self._spans_nodes else None
        self._directory = tempfile.TemporaryDirectory(
            prefix="halftrip-", dir=shared, ignore_cleanup_errors=True
        )

    @property
    def _spans_nodes(self) -> bool:
        return process.spans_nodes() if self._command is None else self._command.spans_nodes

    @property
    def reach(self) -> Reach:
        return self._network if self._spans_nodes else "unix"

    @property
    def job_fields(self) -> Mapping[str, Any]:
        return {"network": self._network, "directories": (self._directory.name,)}

    def start(self, job: Job, started: Started) -> None:
        started.until_end.callback(self._directory.cleanup)
        started.start_seconds = (
            dragon_runtime.NODES_START_SECONDS
            if self._spans_nodes
            else dragon_runtime.START_SECONDS
        )
        dragon_runtime.start(
            self._command, dragon_runtime.START_RANKS, job, self._directory.name, started
        )
