"""The bare loops of `doctor --loops` run, over every path that needs no launcher."""

import contextlib
import os
import signal
import subprocess

import pytest

from halftrip.errors import Unavailable
from halftrip.job.bare_loops import PATHS, WITHOUT_STREAM, BareLoops

CORES = sorted(os.sched_getaffinity(0))[:2]


@pytest.mark.parametrize("path", [path for path in PATHS if path != "mpi"])
def test_each_pattern_and_size_is_timed(path):
    with contextlib.closing(BareLoops(path, CORES, 2)) as loops:
        loops.wait()
        for pattern in ("pingpong",) if path in WITHOUT_STREAM else ("pingpong", "stream"):
            for size in (8,) if path == "udp" else (8, 100_000):
                found = loops.time(pattern, size, 0.001)
                assert found.samples >= 5
                assert 0 < found.median <= found.p99


@pytest.mark.parametrize(
    ("cores", "order", "why"),
    [
        ([1 << 9, 1 << 9], ("pingpong", 8), "sched_setaffinity: Invalid argument"),
        (CORES, ("pingpong", 1 << 30), "Message too long"),
    ],
)
def test_a_loop_that_fails_says_why(cores, order, why):
    def ask(loops):
        loops.wait()
        loops.time(*order, 0.001)

    with (
        contextlib.closing(BareLoops("pipe", cores, 2)) as loops,
        pytest.raises(Unavailable, match=f"^the bare loop over pipe: .*{why}"),
    ):
        ask(loops)


def test_no_end_outlives_the_other_nor_who_asks():
    with contextlib.closing(BareLoops("pipe", CORES, 2)) as loops:
        loops.wait()
        first = loops._process.pid
        found = subprocess.run(("pgrep", "-P", str(first)), capture_output=True, check=True)
        other = int(found.stdout)
        os.kill(other, signal.SIGKILL)
        with pytest.raises(Unavailable, match="ended with status 1"):
            loops.time("pingpong", 8, 0.001)
    asked = BareLoops("pipe", CORES, 2)
    asked.wait()
    asked.close()
    assert asked._process.returncode == 0
