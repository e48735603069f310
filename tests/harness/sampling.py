"""A sampler that is given made times."""

import numpy as np
import pytest

from halftrip.measure.batch import Sampled
from halftrip.measure.sampler import Sampler

CLOCK_COST = 20.0
_MOST_BATCHES = 10_000


class Sampling:
    """Drives a sampler through slices, the first of which it begins, with exactly `iterations`
    iterations, if given. `batches` are those that the sampler asked for, and `kept` the blocks that
    it was given, in this slice."""

    def __init__(
        self, stopping, clock_cost=CLOCK_COST, clock_resolution=1.0, iterations=None, **options
    ):
        self.sampler = Sampler(stopping, clock_cost, clock_resolution, **options)
        self.begin(iterations)

    def begin(self, iterations=None):
        """Begins the next slice."""
        self.batches = []
        self.kept = []
        self.sampler.begin(iterations)
        return self

    @property
    def samples(self):
        """All kept samples, shape (n,), ns."""
        empty = np.empty(0, dtype=np.int64)
        return np.concatenate([empty, *(block.times for block in self.kept)])

    def next(self):
        batch = self.sampler.next()
        if batch is not None:
            self.batches.append(batch)
        return batch

    def give(self, batch, times, timed_out=0):
        """Gives the sampler the result of a batch; all batches that are to be kept count."""
        sampled = Sampled(np.asarray(times, dtype=np.int64), timed_out)
        if not batch.keep:
            self.sampler.feed(sampled)
        elif not self.sampler.warms_up(sampled):
            self.kept.append(sampled)
            self.sampler.keep(sampled, self.kept, [])

    def run(self, take):
        """Gives `take(batch)`, the times of the samples of a batch and how long it timed out, until
        the sampler has enough; fails if it never has."""
        for _ in range(_MOST_BATCHES):
            batch = self.next()
            if batch is None:
                return self
            self.give(batch, *take(batch))
        pytest.fail("the sampler never ends")
        return None

    def sample(self, exchange, read=np.rint):
        """Runs the slice to its end. `exchange(i, n)` gives the times of n iterations from its i-th
        on, ns, and `read` is what the clock makes of the times of samples."""
        done = 0

        def take(batch):
            nonlocal done
            done += batch.untimed
            times = exchange(done, batch.iterations * batch.samples)
            done += times.size
            per_sample = times.reshape(batch.samples, batch.iterations).sum(axis=1)
            return read(per_sample), 0

        return self.run(take)


def sample(stopping, exchange, clock_cost=CLOCK_COST, read=np.rint, **options):
    """A sampling whose first slice has ended; see `Sampling.sample`."""
    return Sampling(stopping, clock_cost, **options).sample(exchange, read)


def steady(ns):
    return lambda start, count: np.full(count, float(ns))


def noisy(ns, spread=0.1, seed=1):
    generator = np.random.default_rng(seed)
    return lambda start, count: ns * generator.lognormal(0, spread, count)


def settling(ns, extra, length):
    """A cold start that fades: the first `length` iterations take up to `extra` times longer."""
    return lambda start, count: ns * (1 + extra * np.exp(-np.arange(start, start + count) / length))
