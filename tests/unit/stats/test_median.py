"""The interval of the median: its coverage, and the width by which a configuration stops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import stats

from halftrip.stats.drift import block_medians
from halftrip.stats.median import FEWEST_FOR_INTERVAL, half_width, median, median_interval
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


@given(samples)
def test_the_interval_holds_the_median(values):
    interval = median_interval(values)
    if interval is not None:
        assert values.min() <= interval.low <= np.median(values) <= interval.high <= values.max()


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
def test_the_stopping_width_is_at_least_the_reported_width(values):
    interval, middle = median_interval(values), np.median(values)
    if interval is None:
        assert half_width(values) == math.inf
    else:
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
