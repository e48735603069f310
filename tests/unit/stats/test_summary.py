"""The summary of launches and slices."""

import math

import numpy as np
import pytest

from halftrip.stats.interval import interval, of_samples
from halftrip.stats.summary import Slice, relative_width, summarize


def made(times):
    return Slice(np.asarray(times, dtype=np.float64), of_samples(np.asarray(times)))


def levels(*values, n=50, seed=1):
    """A slice of n times at each of these levels, which vary by a thousandth."""
    generator = np.random.default_rng(seed)
    return [made(generator.normal(value, 0.001 * value, n)) for value in values]


def test_the_latency_is_the_median_of_slices_and_the_interval_is_over_them():
    slices = levels(*range(100, 110))
    summary = summarize([slices], size=8, first=1.0)
    assert summary.latency == pytest.approx(104.5, rel=0.001)
    assert (summary.low, summary.high) == interval([each.median for each in slices])
    # The second of ten from either end.
    assert summary.low == pytest.approx(101, rel=0.001)
    assert summary.high == pytest.approx(108, rel=0.001)
    assert summary.samples == 500


def test_more_slices_of_the_same_kind_narrow_the_interval():
    generator = np.random.default_rng(2)
    few, many = (
        summarize([levels(*generator.normal(100, 2, k))], size=8, first=1.0) for k in (10, 60)
    )
    assert relative_width(many) < 0.7 * relative_width(few)


def test_slices_count_equally_whatever_their_number_of_samples():
    summary = summarize([[*levels(100), *levels(300, n=5000)]], size=8, first=1.0)
    assert summary.latency == pytest.approx(200, rel=0.01)
    assert summary.samples == 5050


def test_one_slice_has_no_interval():
    summary = summarize([levels(100)], size=8, first=1.0)
    assert math.isnan(summary.low)
    assert math.isnan(summary.high)
    assert relative_width(summary) == math.inf


def test_launches_count_equally_and_the_interval_is_over_them():
    launches = [levels(value, value, value + 1, n=50 * value) for value in range(100, 107)]
    summary = summarize(launches, size=8, first=1.0)
    assert summary.latency == pytest.approx(103, rel=0.001)
    assert summary.low == pytest.approx(100, rel=0.001)
    assert summary.high == pytest.approx(106, rel=0.001)


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


def test_without_slices_nothing_is_known():
    summary = summarize([], size=8, first=1.0)
    assert summary.samples == 0
    assert math.isnan(summary.latency)
    assert relative_width(summary) == math.inf
