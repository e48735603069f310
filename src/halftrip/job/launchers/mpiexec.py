"""Ranks started by an mpiexec, of whichever MPI."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile

from halftrip.control.listener import Listener, Reach
from halftrip.errors import Unavailable
from halftrip.job.launchers.base import RANK_COMMAND, Launcher
from halftrip.job.processes import Output, Started
from halftrip.job.spec import JOB_VARIABLE, Job
from halftrip.mpi.launcher import (
    find_mpiexec,
    full_command,
    may_span_hosts,
    root_environment,
)
from halftrip.mpi.library import LIBRARY_VARIABLE, NO_MPI4PY
from halftrip.plan.plan import Plan


class MpiexecLauncher(Launcher):
    def __init__(self, plan: Plan) -> None:
        if importlib.util.find_spec("mpi4py") is None:
            raise Unavailable(NO_MPI4PY)
        self._mpiexec = find_mpiexec(plan.mpiexec)
        self._threads = plan.threads
        # Removed at the end, with the files that a killed mpiexec leaves in it.
        self._directory = tempfile.TemporaryDirectory(
            prefix="halftrip-", ignore_cleanup_errors=True
        )

    @property
    def reach(self) -> Reach:
        return "network" if may_span_hosts(self._mpiexec, os.environ) else "unix"

    def job(self, listener: Listener, token: str, ranks: int) -> Job:
        # The user's own choice wins.
        library = None if LIBRARY_VARIABLE in os.environ else self._mpiexec.library
        return Job(
            address=listener.address,
            token=token,
            launcher=os.getpid(),
            ranks=ranks,
            mpi=True,
            threads=self._threads,
            library=str(library) if library is not None else None,
            directory=self._directory.name,
        )

    def start(self, job: Job, started: Started) -> None:
        output = Output()
        started.until_end.callback(self._directory.cleanup)
        # Open MPI passes a variable on to other hosts only if told to.
        passed_on = ("-x", JOB_VARIABLE) if self._mpiexec.family == "openmpi" else ()
        process = subprocess.Popen(
            (
                *full_command(self._mpiexec),
                *passed_on,
                *("-n", str(job.ranks)),
                *RANK_COMMAND,
            ),
            env=os.environ
            | root_environment()
            | job.environment()
            | {"TMPDIR": self._directory.name},
            stdin=subprocess.DEVNULL,
            stdout=output.file,
            stderr=output.file,
            start_new_session=True,
        )
        name = os.path.basename(self._mpiexec.command[0])
        started.add(process, f"{name} (process {process.pid})", output)
