"""Reading the counters of a host disturbs no samples: on real cores, which no other test has."""

import os

import numpy as np
import pytest

from halftrip.kernel_files import Reader
from halftrip.measure.batch import Batch
from halftrip.measure.pair import Pair
from halftrip.measure.slices import Slice, finish, serve
from halftrip.telemetry.host import Counters
from harness import runs
from harness.bench import AMPLE_BYTES, set_up
from harness.groups import on_two_ranks


class Alternating:
    """In place of a sampler: blocks of the same length, one like the other."""

    stopped = "count"
    first = 1
    iterations = 10
    warm_up = None

    def __init__(self, blocks):
        self.left = blocks

    def begin(self, iterations=None):
        pass

    def next(self):
        self.left -= 1
        batch = Batch(iterations=10, samples=10, warm_up=20, keep=True)
        return batch if self.left >= 0 else None

    def keep(self, latest, kept, rejected):
        pass


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_samples_after_a_reading_are_as_those_without(transport):
    """In one process, in turn: of four blocks the second and the third come after both ranks have
    read all counters, the others do not. The effect of reading is below a few per cent, or below
    three times the difference between the first two blocks and the last two, which is chance. A run
    disturbs its samples less: it reads between slices, whose warm-up is longer than this one. The
    ranks spin: how fast a sleeping one wakes depends on how long its core had idled (a virtual core
    at rest woke a quarter faster after any work), so that it would hide what the reading does."""
    the_configuration = runs.configuration(transport, 8, "spin")
    cores = sorted(os.sched_getaffinity(0))

    def take_part(rank, group):
        # This thread alone.
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
        setup = set_up(group, [transport])
        own = Pair(setup, setup.context((0, 1), 0), AMPLE_BYTES)
        side = own.side(the_configuration)
        counters, number = Counters(Reader()), iter(range(10**6))
        prepare = side.prepare

        def prepare_after_reading(batch):
            if next(number) % 4 in (1, 2):
                counters.advance()
            prepare(batch)

        side.prepare = prepare_after_reading
        found = None
        if rank == 1:
            side.begin_slice()
            serve(own, side)
            finish(own, side)
        else:
            slice_ = Slice(own, side, Alternating(402), None)
            side.begin_slice()
            slice_.sample(None)
            slice_.end()
            found = [block.times for block in slice_._blocks]
        own.close()
        return found

    blocks = on_two_ranks(take_part)[0][:400]
    times = np.asarray(blocks, dtype=float).reshape(100, 4, 10)
    without, first, second, again = np.median(times, axis=2).T
    effect = np.median((first + second) / (without + again))
    chance = np.median((without + first) / (second + again))
    assert abs(effect - 1) < max(0.05, 3 * abs(chance - 1))
