"""Jobs that an mpiexec has started, of which ranks leave, or are stopped, before MPI has started:
the others must not wait for them for ever."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.choice import extended
from harness.limits import AMPLE_SECONDS, END_SECONDS, until
from harness.mpi import AS_ROOT, job, quick_start
from harness.shell import HALFTRIP

WORK = (HALFTRIP, "run", "-t", "tcp", "-s", "8", "--time", "10ms")
# In the place of a rank: it leaves without MPI, with a rank's variables in its environment, when
# another rank has loaded MPI and waits for it.
_LEAVES = f"""
import os, time
deadline = time.monotonic() + {AMPLE_SECONDS}
while time.monotonic() < deadline:
    for pid in open(f"/proc/{{os.getppid()}}/task/{{os.getppid()}}/children").read().split():
        try:
            if int(pid) != os.getpid() and "/libmpi" in open(f"/proc/{{pid}}/maps").read():
                time.sleep(0.5)
                raise SystemExit
        except OSError:
            continue
    time.sleep(0.02)
"""
LEAVES = (sys.executable, "-c", _LEAVES)
# It never calls MPI, and stays.
STAYS = (sys.executable, "-c", f"import time; time.sleep({AMPLE_SECONDS})")


def pair(name, first, second):
    """An mpiexec that starts two programs as the ranks of one job."""
    *prefix, _, _ = job(name)
    return (*prefix, "-n", "1", *first, ":", "-n", "1", *second)


def run_pair(shell, name, first, second):
    """Both ranks, to their end; fails after a time that nobody would wait."""
    return shell.execute(
        *pair(name, first, second), timeout=30, environment=AS_ROOT | quick_start(name)
    )


@pytest.mark.parametrize(
    ("name", "mistaken"), [("wheel", 1), *extended(("wheel", 0), ("openmpi", 1), ("mpich", 0))]
)
def test_a_mistake_of_one_rank_is_that_of_all(shell, name, mistaken):
    ranks = [WORK, WORK]
    ranks[mistaken] = (HALFTRIP, "run", "-t", "bogus")
    result = run_pair(shell, name, *ranks)
    assert result.status == 2, result.err
    assert f"halftrip: rank {mistaken}: --transport: 'bogus' is not known" in result.err
    assert result.err.count("halftrip: ") == 1


@pytest.mark.parametrize(
    ("name", "first"),
    [("wheel", True), *extended(("wheel", False), ("openmpi", True), ("mpich", False))],
)
def test_a_rank_that_leaves_before_mpi_starts_is_named(shell, name, first):
    result = run_pair(shell, name, *((LEAVES, WORK) if first else (WORK, LEAVES)))
    assert result.status != 0
    number = 0 if first else 1
    assert f"halftrip: rank {number} (process " in result.err
    assert "ended before MPI had started" in result.err
    assert not shell.path.exists()


@pytest.mark.parametrize("name", extended("wheel", "mpich"))
def test_a_rank_that_left_before_anybody_saw_it_is_missed(shell, name):
    result = run_pair(shell, name, WORK, ("true",))
    assert "halftrip: of 2 ranks on this host only 1 is left; " in result.err
    assert "ended before MPI had started" in result.err
    assert not shell.path.exists()


@pytest.mark.parametrize(
    ("name", "number"),
    [("wheel", signal.SIGINT), *extended(("openmpi", signal.SIGTERM), ("mpich", signal.SIGINT))],
)
def test_a_signal_ends_a_rank_that_waits_for_mpi(shell, name, number):
    process = shell.start(*pair(name, WORK, STAYS), environment=AS_ROOT | quick_start(name))
    rank = waiting_rank(process.pid)
    began = time.monotonic()
    os.kill(rank.pid, number)
    psutil.wait_procs([rank], timeout=END_SECONDS)
    assert time.monotonic() - began < END_SECONDS
    process.terminate()
    _, err = process.communicate(timeout=AMPLE_SECONDS)
    assert f"halftrip: stopped by {number.name}" in err


def waiting_rank(pid):
    """The process of the rank that runs halftrip, when it has loaded MPI."""

    def found():
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, OSError):
                # A launcher that is about to become a rank has these words, too, behind its own.
                is_rank = str(HALFTRIP) in child.cmdline()[:2]
                if is_rank and "/libmpi" in Path(f"/proc/{child.pid}/maps").read_text():
                    return child
        return None

    rank = until(found, "no rank")
    time.sleep(0.5)
    return rank
