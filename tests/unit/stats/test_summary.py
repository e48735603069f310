"""The variance between launches and within them, and the interval of a bandwidth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.summary import summarize, variance_components

values = st.floats(1, 1e6)


def launches(generator, k, n, between, within):
    levels = 100 + between * generator.standard_normal(k)
    return [level + within * generator.standard_normal(n) for level in levels]


@pytest.mark.parametrize(("between", "within"), [(3.0, 1.0), (1.0, 3.0)])
def test_components_are_recovered(between, within):
    found = variance_components(launches(np.random.default_rng(1), 3000, 9, between, within))
    assert found == pytest.approx((between, within), rel=0.1)


def test_unbalanced_launches_are_not_biased():
    generator = np.random.default_rng(2)
    groups = [launches(generator, 1, 2 + i % 9, 2.0, 2.0)[0] for i in range(4000)]
    assert variance_components(groups) == pytest.approx((2.0, 2.0), rel=0.05)


def test_components_that_cannot_be_estimated_are_nan():
    assert math.isnan(variance_components([[1.0, 2.0]]).between)
    assert variance_components([[1.0], [2.0]]) == pytest.approx((math.nan, math.nan), nan_ok=True)
    assert variance_components([]) == pytest.approx((math.nan, math.nan), nan_ok=True)


@settings(max_examples=20)
@given(st.lists(st.lists(values, min_size=1, max_size=6), max_size=6))
def test_components_are_never_negative(groups):
    found = variance_components(groups)
    assert not found.between < 0
    assert not found.within < 0


TIMES = st.floats(1e-3, 1e12)


@given(st.lists(TIMES, min_size=3, max_size=3).map(sorted), st.floats(1e-3, 1e12))
def test_a_bandwidth_has_the_interval_of_its_time(times, value):
    low, latency, high = times
    found = summarize([], 8, 1.0)._replace(latency=latency, low=low, high=high).over_time(value)
    assert found.value == value
    assert found.low == pytest.approx(value * latency / high)
    assert found.high == pytest.approx(value * latency / low)


@pytest.mark.parametrize("times", [(1, 0, 2), (1, math.nan, math.nan), (0, 0, 1), (-1, -2, 3)])
def test_a_time_that_is_not_above_0_bounds_no_bandwidth(times):
    latency, low, high = times
    found = summarize([], 8, 1.0)._replace(latency=latency, low=low, high=high).over_time(5.0)
    assert found.value == 5.0
    assert math.isnan(found.low)
    assert math.isnan(found.high)
