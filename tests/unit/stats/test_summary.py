"""The variance between launches and within them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.summary import variance_components

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
