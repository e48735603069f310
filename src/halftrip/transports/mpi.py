"""What the transports over MPI have in common, whoever makes the calls."""

from __future__ import annotations

from halftrip.results.configuration import Configuration, Wait
from halftrip.transports.base import ProcessContext

WAITS: tuple[Wait, ...] = ("spin",)
NO_OTHER_WAIT = "how MPI waits is the library's own choice; see its settings"

# The count argument of MPI_Send is an int.
LARGEST = 2**31 - 1
TOO_LARGE = f"MPI counts at most {LARGEST} bytes in one message"

# MPICH has a limited number of requests: with tens of thousands it aborts.
MOST_REQUESTS = 256


def missing(process: ProcessContext) -> str | None:
    """Why MPI cannot be used in a process, or None."""
    if process.communicator is None:
        return process.no_mpi
    from mpi4py import MPI

    if process.threads > 1 and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return "this MPI does not let several threads call it at once"
    return None


def refusal(configuration: Configuration) -> str | None:
    """Why MPI cannot do a configuration, or None."""
    if configuration.mode == "persistent" and configuration.cache == "cold":
        return "--cache cold: a persistent request is bound to one buffer"
    return None
