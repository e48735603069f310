"""Variance between launches and within them, and the interval over launches."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halftrip.stats.variance import launch_interval, variance_components

values = st.floats(1, 1e6)


def launches(generator, k, n, between, within):
    levels = 100 + between * generator.standard_normal(k)
    return [level + within * generator.standard_normal(n) for level in levels]


@pytest.mark.parametrize(("between", "within"), [(3.0, 1.0), (1.0, 3.0)])
def test_components_are_recovered(between, within):
    found = variance_components(launches(np.random.default_rng(1), 3000, 9, between, within))
    assert found == pytest.approx((between, within), rel=0.1)


def test_components_agree_with_the_f_statistic():
    # Balanced: (MSB - MSW) / n and MSW; scipy's F is their ratio.
    groups = [[4.1, 4.5, 3.9], [5.2, 5.9, 5.0], [4.4, 4.2, 4.9]]
    found = variance_components(groups)
    ratio = stats.f_oneway(*groups).statistic
    assert 3 * found.between**2 / found.within**2 + 1 == pytest.approx(ratio)


def test_unbalanced_launches_are_not_biased():
    generator = np.random.default_rng(2)
    groups = [launches(generator, 1, 2 + i % 9, 2.0, 2.0)[0] for i in range(4000)]
    assert variance_components(groups) == pytest.approx((2.0, 2.0), rel=0.05)


def test_components_that_cannot_be_estimated_are_nan():
    assert math.isnan(variance_components([[1.0, 2.0]]).between)
    assert variance_components([[1.0], [2.0]]) == pytest.approx((math.nan, math.nan), nan_ok=True)
    assert variance_components([]) == pytest.approx((math.nan, math.nan), nan_ok=True)


@given(st.lists(st.lists(values, min_size=1, max_size=6), max_size=6))
def test_components_are_never_negative(groups):
    found = variance_components(groups)
    assert not found.between < 0
    assert not found.within < 0


@given(st.lists(values, max_size=40))
def test_the_interval_holds_the_median(medians):
    interval = launch_interval(medians)
    if len(medians) < 2:
        assert interval is None
    else:
        # Rounding apart: of a mean, by Student's t.
        slack = 1e-9 * max(medians)
        assert 0 < interval.low <= interval.high
        assert interval.low - slack <= np.median(medians) <= interval.high + slack


@pytest.mark.parametrize("n", range(6, 60))
def test_six_or_more_launches_use_the_narrowest_order_statistics(n):
    interval = launch_interval(list(range(n)))
    outside = int(interval.low)
    assert interval.high == n - 1 - outside
    assert 2 * stats.binom.cdf(outside, n, 0.5) <= 0.05 < 2 * stats.binom.cdf(outside + 1, n, 0.5)


@pytest.mark.parametrize("n", range(2, 6))
def test_two_to_five_launches_use_students_t(n):
    medians = [3.0, 5.0, 4.0, 7.0, 1.0][:n]
    logs = np.log(medians)
    low, high = np.exp(stats.t.interval(0.95, n - 1, np.mean(logs), stats.sem(logs)))
    assert launch_interval(medians) == pytest.approx((low, high))
    assert launch_interval([0.0, *medians[1:]]) is None
