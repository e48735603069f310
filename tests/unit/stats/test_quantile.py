"""The interval of a quantile: its coverage in a tail, with and without autocorrelation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import stats

from halftrip.stats.quantile import (
    quantile_interval,
    quantile_of_ordered,
    quantiles_of_ordered,
)
from harness.noise import autoregression

samples = nps.arrays(np.int64, st.integers(0, 400), elements=st.integers(1, 10**9))
shares = st.floats(0.01, 0.99)


ordered_floats = nps.arrays(
    np.float64, st.integers(1, 50), elements=st.floats(0, 1e9, width=32)
).map(np.sort)


@given(ordered_floats, st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_quantiles_of_ordered_samples_are_those_of_numpy(ordered, many):
    known = np.quantile(ordered, many)
    assert [quantile_of_ordered(ordered, q) for q in many] == known.tolist()
    assert quantiles_of_ordered(ordered, np.array(many)).tolist() == known.tolist()


@given(samples, shares)
def test_the_interval_holds_the_quantile(values, q):
    interval = quantile_interval(values, q)
    if interval is not None:
        assert values.min() <= interval.low <= np.quantile(values, q, method="lower")
        assert np.quantile(values, q, method="higher") <= interval.high <= values.max()


@pytest.mark.parametrize(("n", "q"), [(0, 0.5), (1, 0.5), (5, 0.5), (100, 0.99), (1000, 0.999)])
def test_too_few_samples_have_no_interval(n, q):
    assert quantile_interval(np.arange(n), q) is None


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
