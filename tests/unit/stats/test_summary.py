"""The summary of launches and slices."""

import math

import numpy as np
import pytest

from halftrip.stats.interval import of_samples
from halftrip.stats.summary import Slice, summarize


def made(times):
    return Slice(np.asarray(times, dtype=np.float64), of_samples(np.asarray(times)))


def levels(*values, n=50, seed=1):
    """A slice of n times at each of these levels, which vary by a thousandth."""
    generator = np.random.default_rng(seed)
    return [made(generator.normal(value, 0.001 * value, n)) for value in values]


def test_slices_count_equally_whatever_their_number_of_samples():
    summary = summarize([[*levels(100), *levels(300, n=5000)]], size=8, first=1.0)
    assert summary.latency == pytest.approx(200, rel=0.01)
    assert summary.samples == 5050


def test_tails_are_of_single_iterations_only():
    generator = np.random.default_rng(3)
    slices = [made(generator.exponential(100, 2000)) for _ in range(10)]
    single = summarize([slices], size=8, first=1.0)
    assert single.p90.low < 100 * math.log(10) < single.p90.high
    assert single.p99.low < 100 * math.log(100) < single.p99.high
    assert single.p999.low < 100 * math.log(1000) < single.p999.high
    assert single.max == max(each.times.max() for each in slices)
    several = summarize([slices], size=8, first=1.0, single=False)
    assert all(math.isnan(value) for value in (*several.p90, *several.p99, *several.p999))
    assert math.isnan(several.max)
    assert several.latency == single.latency
