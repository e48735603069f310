"""Ranks started by an mpiexec, of whichever MPI."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from halftrip.control.listener import Reach
from halftrip.control.network import Network
from halftrip.errors import Unavailable
from halftrip.job.launchers.base import Launcher
from halftrip.job.left_behind import Claim
from halftrip.job.processes import ProcessOutput, Started
from halftrip.job.shm_cleanup import SHARED_MEMORY
from halftrip.job.spec import JOB_VARIABLE, RANK_COMMAND, Job
from halftrip.mpi.launcher import (
    find_mpiexec,
    full_command,
    may_span_hosts,
    quick_start,
    root_environment,
)
from halftrip.mpi.library import LIBRARY_VARIABLE, no_mpi4py
from halftrip.plan.plan import Plan

# Where Open MPI 5 and 4 make the segments of ranks on one host. MPICH has no such choice.
_SEGMENT_VARIABLES = (
    "OMPI_MCA_btl_sm_backing_directory",
    "OMPI_MCA_btl_vader_backing_directory",
)


class MpiexecLauncher(Launcher):
    def __init__(self, plan: Plan) -> None:
        if importlib.util.find_spec("mpi4py") is None:
            raise Unavailable(no_mpi4py())
        self._mpiexec = find_mpiexec(plan.mpiexec)
        self._threads = plan.all_threads
        # Those that are not set are nowhere.
        self._variables = [name for name, value in plan.variables.items() if value is not None]
        # One that the plan varies is chosen, also where it is not set.
        self._chosen = dict.fromkeys(plan.variables, "")
        self._network = Network(plan.interface, plan.data_ports)
        # Removed at the end, with the files that a killed mpiexec, or a killed rank, leaves in it.
        self._directories = {"TMPDIR": Claim()}
        if self.reach == "unix":
            with contextlib.suppress(OSError):
                shared = Claim(SHARED_MEMORY)
                self._directories |= dict.fromkeys(_SEGMENT_VARIABLES, shared)

    @property
    def reach(self) -> Reach:
        return self._network if may_span_hosts(self._mpiexec, os.environ) else "unix"

    @property
    def job_fields(self) -> Mapping[str, Any]:
        # The user's own choice wins.
        library = None if LIBRARY_VARIABLE in os.environ else self._mpiexec.library
        return {
            "mpi": True,
            "threads": self._threads,
            "library": str(library) if library is not None else None,
            "network": self._network,
            "directories": tuple({each.name for each in self._directories.values()}),
        }

    def start(self, job: Job, started: Started) -> None:
        output = ProcessOutput()
        for directory in self._directories.values():
            started.until_end.callback(directory.cleanup)
        # Open MPI passes a variable on to other hosts only if told to.
        names = (JOB_VARIABLE, *self._variables) if self._mpiexec.family == "openmpi" else ()
        passed_on = [word for name in names for word in ("-x", name)]
        process = subprocess.Popen(
            (
                *full_command(self._mpiexec),
                *passed_on,
                *("-n", str(job.ranks)),
                *RANK_COMMAND,
            ),
            env={name: each.name for name, each in self._directories.items()}
            | self._quick_start()
            | os.environ
            | root_environment()
            | job.environment()
            | {"TMPDIR": self._directories["TMPDIR"].name},
            stdin=subprocess.DEVNULL,
            stdout=output.file,
            stderr=output.file,
            # An ssh that it starts must not ask at a terminal that belongs to another group.
            start_new_session=self.reach != "unix",
            process_group=0 if self.reach == "unix" else None,
        )
        name = os.path.basename(self._mpiexec.command[0])
        started.add(process, f"{name} (process {process.pid})", output)

    def _quick_start(self) -> dict[str, str]:
        """What makes ranks start sooner, where all are on this host."""
        if self.reach != "unix":
            return {}
        return quick_start(self._mpiexec, dict(os.environ) | self._chosen)
