"""The process of which the ranks of launches are forks: ``python -m halftrip.job.fork_server``.

Its arguments are the descriptors of two pipes. From the first it reads what to fork, a line for
each launch; in between it sleeps. Into the second go the IDs of the processes, and `forks.READY`
whenever it is ready for a launch. It never has a thread, a device or a library that a fork could
not use: a rank loads all of that by itself, when it is one. The ranks of a launch are forks of a
child of it, which ends at once, so that the launcher becomes their parent.
"""

# Not `signal`: as in `halftrip.__main__`.
import _signal  # type: ignore[import-not-found]
import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from halftrip.errors import HalftripError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def main() -> None:
    """Returns in a rank only, which goes on as a fresh process would."""
    requests, answers = map(int, sys.argv[1:])
    # An interrupt of this process ends it without a traceback, as it does a rank.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})
    try:
        _prepare()
        rank = _serve(requests, answers)
    except (HalftripError, ImportError, MemoryError, OSError):
        # Fresh ranks will say what is wrong.
        os._exit(1)
    if rank is None:
        # No more ranks are wanted, or the launcher is dead.
        os._exit(0)


def _serve(requests: int, answers: int) -> int | None:
    """Forks the ranks of each request. Returns the rank's number in each of these, and None in this
    process when there are no more requests. Raises OSError where one cannot be served."""
    import json

    from halftrip.job.forks import READY

    # A user's own settings may have given numpy's BLAS threads, which a fork would lack.
    may_fork = len(os.listdir("/proc/self/task")) == 1
    with open(requests, "rb") as stream:
        os.write(answers, READY)
        while line := stream.readline():
            request = json.loads(line)
            if not may_fork:
                raise OSError("there are threads")
            child = os.fork()
            if child == 0:
                forks = _fork_all(request["ranks"])
                if isinstance(forks, int):
                    os.close(answers)
                    _become_rank(forks, request["environment"])
                    return forks
                os.write(answers, json.dumps(forks).encode())
                os._exit(0 if forks else 1)
            _, status = os.waitpid(child, 0)
            if status:
                raise OSError("a fork has failed")
            os.write(answers, READY)
    return None


def _prepare() -> None:
    """Imports what ranks need."""
    # Imports leave no garbage.
    gc.disable()
    # As in `halftrip.__main__`; a fork would lack the threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from halftrip.job import worker  # noqa: F401
    from halftrip.registry import DEFAULT_TRANSPORTS, TRANSPORTS, needing
    from halftrip.telemetry.copy_thresholds import copy_thresholds

    # Those that need nothing but what every rank has: most runs have some of them.
    for name in needing("", DEFAULT_TRANSPORTS):
        TRANSPORTS.load(name)
    # What a program says: each rank would start it, beside what others measure.
    copy_thresholds()
    # A collection in a rank would write to each object's head, and so copy all pages.
    gc.freeze()


def _fork_all(ranks: int) -> "int | Sequence[int]":
    """The IDs of so many forks, none if there cannot be as many; the rank's number in each."""
    forks: list[int] = []
    for rank in range(ranks):
        try:
            pid = os.fork()
        except OSError:
            for each in forks:
                os.kill(each, _signal.SIGKILL)
                os.waitpid(each, 0)
            return []
        if pid == 0:
            return rank
        forks.append(pid)
    return forks


def _become_rank(rank: int, environment: "Mapping[str, str]") -> None:
    """Makes this fork what a fresh process of a rank is."""
    from halftrip.job.forks import SERVER_VARIABLE
    from halftrip.job.spec import RANK_VARIABLE

    os.setpgid(0, 0)
    del sys.argv[1:], os.environ[SERVER_VARIABLE]
    os.environ.update(environment)
    os.environ[RANK_VARIABLE] = str(rank)
    # `random` does this by itself.
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    gc.enable()


def _run_rank() -> NoReturn:
    from halftrip.job.worker import run

    run()


if __name__ == "__main__":
    main()
    _run_rank()
