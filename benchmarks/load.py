"""A load that takes half of each core now and then, and by how much it moves a tool's figure."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from comparison import CORES, Contender, Figure, Goal, Goals, Times

# How long it is there, and away, in the mean, s: both are drawn, since programs do not come and go
# by the clock. A rank that polls beside it has half of its core.
THERE, AWAY = 0.1, 0.3
# Nothing runs on if this program is killed.
MOST_SECONDS = 120
LOOP = f"""
import random, sys, time
drawn = random.Random(int(sys.argv[1]))
end = time.monotonic() + {MOST_SECONDS}
while time.monotonic() < end:
    time.sleep(drawn.expovariate(1 / {AWAY}))
    until = time.monotonic() + drawn.expovariate(1 / {THERE})
    while time.monotonic() < until:
        pass
"""
# An error that is less is not told from none.
LEAST_PERCENT = 0.1
SEEDS = itertools.count(1)


@contextmanager
def load() -> Iterator[None]:
    """The load, on each of the two cores, until the block is left."""
    with ExitStack() as stack:
        for core in CORES:
            loop = subprocess.Popen([sys.executable, "-c", LOOP, str(next(SEEDS))])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
            os.sched_setaffinity(loop.pid, {core})
        yield


def error_under_load(contender: Contender) -> Contender:
    """By how many percent a contender's figure under the load is off its own at rest, which it
    measures first."""

    def measure() -> Times:
        at_rest = contender()
        with load():
            loaded = contender()
        return {
            size: Figure(max(100 * abs(loaded[size].us / rest.us - 1), LEAST_PERCENT))
            for size, rest in at_rest.items()
        }

    return measure


def smaller_error() -> Goals:
    """An error that is no larger than the peer's."""
    goal = Goal(
        "% off its figure at rest", lambda _, error: error, more_is_better=False, target=1.0
    )
    return lambda _: goal
