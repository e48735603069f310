"""The start of MPI in a job that another launcher has started.

MPI starts when all ranks take part. So a rank that has found a mistake starts it too, and then all
agree on what is wrong; and where a rank leaves before that, a watch ends those that wait for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping

from halftrip import _native
from halftrip.control.collectives import MpiGroup
from halftrip.control.protocol import Abort
from halftrip.errors import HalftripError, Unavailable, UsageError
from halftrip.job.existing import ExistingJob, existing_job, library_of
from halftrip.job.shm_cleanup import PREFIXES
from halftrip.mpi import library

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_group(job: ExistingJob, threads: int = 1, refusal: Abort | None = None) -> MpiGroup:
    """Starts MPI, for calls from `threads` threads, and returns the group of all ranks. `refusal`
    is what this rank has found wrong. Raises, on every rank, the error of the first that has found
    something, with its number if others have not found the same; and Unavailable if there is no
    MPI."""
    library.select_library(library_of(job))
    # Of a signal to the whole job, one rank speaks. A signal that this process was started with
    # ignored stays ignored.
    signals = {
        number: f"stopped by {number.name}" if job.rank == 0 else ""
        for number in _STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    with watched(job, refusal, signals):
        communicator = library.start(job.size, threads)
    _Agreed.now = True
    group = MpiGroup(communicator)
    refusals = group.allgather(refusal, Abort | None)
    for rank, found in enumerate(refusals):
        if found is not None:
            is_common = all(other == found for other in refusals)
            reason = found.reason if is_common else f"rank {rank}: {found.reason}"
            raise Abort(reason, found.usage).error()
    return group


def shared(error: UsageError) -> HalftripError:
    """What to report of a mistake that this process has found: in a job of several ranks, what all
    of them report."""
    job = existing_job(os.environ)
    if job is None or _Agreed.now:
        return error
    try:
        start_group(job, refusal=Abort.of(error, job.rank))
    except Unavailable:
        # Without MPI, the watches of other ranks notice that this one leaves.
        return error
    except HalftripError as agreed:
        return agreed
    return error


class _Agreed:
    """Whether the ranks have agreed that they can begin, or that they cannot."""

    now = False


@contextlib.contextmanager
def watched(
    job: ExistingJob,
    refusal: Abort | None = None,
    signals: Mapping[signal.Signals, str] | None = None,
) -> Iterator[None]:
    """Ends this process where a rank of this host or the launcher ends before MPI has started, and
    says so, or the `refusal`; and at one of the `signals`, with its text."""
    usage = refusal is not None and refusal.usage
    watch = _native.StartWatch(
        rank_variable=job.rank_variable,
        ranks=job.here,
        signals={int(number): text for number, text in (signals or {}).items()},
        reason=refusal.reason if refusal is not None else "",
        status=2 if usage else 1,
        segments=list(PREFIXES),
    )
    try:
        yield
    finally:
        watch.stop()
