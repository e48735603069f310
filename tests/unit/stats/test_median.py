"""The median and other quantiles, and their intervals: coverage, and the width at which to stop."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import stats

from halftrip.stats.drift import block_medians
from halftrip.stats.median import FEWEST_FOR_INTERVAL, half_width, median, median_interval
from halftrip.stats.quantile import (
    quantile_interval,
    quantile_of_ordered,
    quantiles_of_ordered,
    tails,
)
from harness.noise import autoregression

samples = nps.arrays(
    np.int64, st.integers(FEWEST_FOR_INTERVAL, 400), elements=st.integers(1, 10**9)
)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1) | st.lists(st.integers(0, 10**9), min_size=1))
def test_the_median_is_that_of_numpy(values):
    assert median(values) == median(np.array(values)) == np.median(values)


@given(samples, st.integers(1, 50))
def test_medians_of_blocks_are_those_of_numpy(values, most):
    found, length = block_medians(values, most)
    blocks = values[: found.size * length].reshape(-1, length)
    assert found.tolist() == np.median(blocks, axis=1).tolist()


def test_order_statistics_cover_at_least_95_percent():
    for n in range(FEWEST_FOR_INTERVAL, 300):
        # 0 to n - 1, alternating about the middle, so that their order shows no dependence.
        values = np.empty(n, dtype=np.int64)
        values[0::2] = np.arange(values[0::2].size)
        values[1::2] = n - 1 - np.arange(values[1::2].size)
        interval = median_interval(values)
        assert interval is not None
        # The true median lies outside if no more than `low` samples are on one side of it.
        assert interval.low + interval.high == n - 1
        assert 2 * stats.binom.cdf(interval.low, n, 0.5) <= 0.05


@pytest.mark.parametrize("n", range(FEWEST_FOR_INTERVAL))
def test_too_few_samples_have_no_interval(n):
    assert median_interval(np.arange(n)) is None
    assert half_width(np.arange(n)) == math.inf
    for few, q in ((n, 0.5), (100, 0.99), (1000, 0.999)):
        assert quantile_interval(np.arange(few), q) is None


@pytest.mark.parametrize(
    ("rho", "n", "least"), [(0.0, 100, 0.93), (0.6, 500, 0.93), (0.9, 2000, 0.91)]
)
def test_coverage_under_autocorrelation(rho, n, least):
    """And not always: a wider interval would say less than is known."""
    generator = np.random.default_rng(2015)
    covered, count = 0, 1000
    for _ in range(count):
        interval = median_interval(autoregression(generator, n, rho))
        covered += interval is not None and interval.low <= 0.0 <= interval.high
    assert least <= covered / count <= 0.97


@given(samples)
def test_the_interval_holds_the_median_and_the_stopping_width_is_at_least_as_wide(values):
    interval, middle = median_interval(values), np.median(values)
    if interval is None:
        assert half_width(values) == math.inf
    else:
        assert values.min() <= interval.low <= middle <= interval.high <= values.max()
        reported = max(interval.high - middle, middle - interval.low) / middle
        assert half_width(values) >= reported


def test_the_stopping_width_allows_for_its_own_error():
    def excess(n, rho):
        samples = 100 + autoregression(np.random.default_rng(n), n, rho)
        low, high = median_interval(samples)
        middle = np.median(samples)
        return half_width(samples) * middle / max(high - middle, middle - low) - 1

    # One over the root of the degrees of freedom: 0.21 and 0.06, each a few order statistics off.
    assert excess(200, 0.6) > 0.1 > excess(100_000, 0.6)


def test_coverage_where_sampling_stops_at_a_width():
    generator = np.random.default_rng(8)
    covered, count = 0, 200
    for _ in range(count):
        samples = 1 + 0.035 * autoregression(generator, 1000, 0.6)
        n = 100
        while n < samples.size and half_width(samples[:n]) > 0.01:
            n += n // 2
        low, high = median_interval(samples[:n])
        covered += low <= 1 <= high
    assert 0.91 <= covered / count <= 0.97


SOME = nps.arrays(np.int64, st.integers(0, 400), elements=st.integers(1, 10**9))
shares = st.floats(0.01, 0.99)


def tail(parts, q):
    return tails(parts, (q,))[0]


ordered_floats = nps.arrays(
    np.float64, st.integers(1, 50), elements=st.floats(0, 1e9, width=32)
).map(np.sort)


@given(ordered_floats, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_quantiles_of_ordered_samples_are_those_of_numpy(ordered, many):
    known = np.quantile(ordered, many)
    assert [quantile_of_ordered(ordered, q) for q in many] == known.tolist()
    assert quantiles_of_ordered(ordered, np.array(many)).tolist() == known.tolist()


@given(SOME, shares)
def test_the_interval_holds_the_quantile(values, q):
    interval = quantile_interval(values, q)
    if interval is not None:
        assert values.min() <= interval.low <= np.quantile(values, q, method="lower")
        assert np.quantile(values, q, method="higher") <= interval.high <= values.max()


@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize("q", [0.9, 0.99])
def test_coverage_of_a_tail(rho, q):
    generator, count = np.random.default_rng(11), 200
    truth = stats.norm.ppf(q)
    covered = 0
    for _ in range(count):
        interval = quantile_interval(autoregression(generator, 3000, rho), q)
        covered += interval is not None and interval.low <= truth <= interval.high
    assert 0.92 <= covered / count <= 0.985


arrays = st.lists(st.integers(0, 1000), max_size=60).map(lambda v: np.array(v, dtype=np.float64))


@pytest.mark.parametrize(("q", "n"), [(0.9, 100), (0.9, 1000), (0.99, 1000), (0.999, 2000)])
def test_independent_samples_cover_the_quantile(q, n):
    generator = np.random.default_rng(n)
    true = -math.log(1 - q)
    hits = 0
    for _ in range(200):
        found = tail([generator.exponential(size=n) for _ in range(10)], q)
        hits += math.isnan(found.value) or found.low <= true <= found.high
    assert hits >= 0.93 * 200


@pytest.mark.parametrize(("q", "n", "known"), [(0.9, 20, True), (0.99, 50, False),
                                               (0.99, 200, True), (0.999, 1000, False),
                                               (0.999, 2000, True)])  # fmt: skip
def test_a_quantile_needs_a_dozen_samples_beyond_it(q, n, known):
    generator = np.random.default_rng(1)
    found = [tail([generator.exponential(size=n) for _ in range(10)], q) for _ in range(30)]
    assert (np.mean([not math.isnan(each.value) for each in found]) > 0.5) == known


def test_samples_beyond_it_that_come_in_a_few_slices_count_little():
    """A burst of 3 % of the samples in three slices of ten."""
    generator = np.random.default_rng(2)

    def burst(late):
        times = generator.exponential(size=5000)
        times[: 150 * late] += 20
        return times

    for q in (0.99, 0.999):
        rare = [tail([burst(n < 3) for n in range(10)], q) for _ in range(20)]
        assert all(math.isnan(each.value) for each in rare)
    # p90 is known: it lies among those that are not late.
    assert not math.isnan(tail([burst(n < 3) for n in range(10)], 0.9).value)
    every = tail([burst(True) for _ in range(10)], 0.99)
    assert 20 < every.low < every.high


def test_one_slice_has_a_quantile_if_its_samples_bound_it():
    times = np.random.default_rng(3).exponential(size=5000)
    found = tail([times], 0.99)
    assert found.low < found.value < found.high
    assert math.isnan(tail([times[:100]], 0.99).value)
    assert math.isnan(tail([], 0.99).value)
    assert math.isnan(tail([np.empty(0)], 0.99).value)


@settings(max_examples=50)
@given(st.lists(arrays, max_size=8), st.sampled_from([0.5, 0.9, 0.99]))
def test_bounds_are_samples_and_hold_the_quantile(parts, q):
    found = tail(parts, q)
    if math.isnan(found.value):
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        return
    every = np.concatenate(parts)
    assert found.value == np.quantile(every, q)
    assert found.low in every
    assert found.high in every
    assert found.low <= found.value <= found.high
