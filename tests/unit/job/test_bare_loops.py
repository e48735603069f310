"""The bare loops of `doctor --loops` run, over every path that needs no launcher."""

import contextlib
import os
import signal
import subprocess

import pytest

from halftrip.errors import Unavailable
from halftrip.job.bare_loops import PATHS, WITHOUT_STREAM, BareLoops, OtherHost

CORES = sorted(os.sched_getaffinity(0))[:2]


@pytest.mark.parametrize("path", [path for path in PATHS if path != "mpi"])
def test_each_pattern_and_size_is_timed(path):
    with contextlib.closing(BareLoops(path, CORES)) as loops:
        loops.wait()
        for window in (0,) if path in WITHOUT_STREAM else (0, 2):
            for size in (8,) if path == "udp" else (8, 100_000):
                found = loops.time(window, size, 0.001)
                assert found.samples >= 3
                assert 0 < found.median <= found.p99


@pytest.mark.parametrize(
    ("cores", "order", "why"),
    [
        ([1 << 9, 1 << 9], (0, 8), "sched_setaffinity: Invalid argument"),
        (CORES, (0, 1 << 30), "Message too long"),
        (CORES, (1 << 30, 8), "Message too long"),
    ],
)
def test_a_loop_that_fails_says_why(cores, order, why):
    def ask(loops):
        loops.wait()
        loops.time(*order, 0.001)

    with (
        contextlib.closing(BareLoops("pipe", cores)) as loops,
        pytest.raises(Unavailable, match=f"^the bare loop over pipe: .*{why}"),
    ):
        ask(loops)


def test_no_end_outlives_the_other_nor_who_asks():
    with contextlib.closing(BareLoops("pipe", CORES)) as loops:
        loops.wait()
        (first,) = loops._processes
        found = subprocess.run(("pgrep", "-P", str(first.pid)), capture_output=True, check=True)
        other = int(found.stdout)
        os.kill(other, signal.SIGKILL)
        with pytest.raises(Unavailable, match="ended with status 1"):
            loops.time(0, 8, 0.001)
    asked = BareLoops("pipe", CORES)
    asked.wait()
    asked.close()
    assert [process.returncode for process in asked._processes] == [0]


# In place of an ssh: runs the command here.
HERE = OtherHost("localhost", ("sh", "-c", 'exec sh -c "$2"', "sh"))


@pytest.mark.parametrize("path", ["tcp", "udp"])
def test_an_end_may_be_on_another_host(path):
    with contextlib.closing(BareLoops(path, [-1, -1], HERE)) as loops:
        loops.wait()
        assert loops.time(0, 8, 0.001).samples >= 3
    assert [process.returncode for process in loops._processes] == [0, 0]


def test_another_host_that_cannot_be_reached_is_named():
    with pytest.raises(Unavailable, match=r"over tcp: .*no way"):
        BareLoops("tcp", [-1, -1], OtherHost("far", ("sh", "-c", "echo no way >&2; exit 1")))
