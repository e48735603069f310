"""The bare loops of `doctor --loops` run, over every path that needs no launcher."""

import os

import pytest

from halftrip.errors import Unavailable
from halftrip.job.bare_loops import PATHS, WITHOUT_STREAM, BareLoops

CORES = sorted(os.sched_getaffinity(0))[:2]


@pytest.mark.parametrize("path", [path for path in PATHS if path != "mpi"])
def test_each_pattern_and_size_is_timed(path):
    found = BareLoops(path, CORES, [8, 100_000], 2).run(0.001)
    patterns = ["pingpong"] if path in WITHOUT_STREAM else ["pingpong", "stream"]
    sizes = [8] if path == "udp" else [8, 100_000]
    assert [each[:2] for each in found] == [(each, size) for each in patterns for size in sizes]
    assert all(each.samples >= 5 and 0 < each.median <= each.p99 for each in found)


def test_a_loop_that_fails_says_why():
    with pytest.raises(Unavailable, match="the bare loop over pipe: sched_setaffinity: Invalid"):
        BareLoops("pipe", [1 << 9, 1 << 9], [8], 2).run(0.001)
