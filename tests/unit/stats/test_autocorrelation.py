"""How many samples count as independent, against the known values of an autoregression."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import stats

from halftrip.stats.autocorrelation import autocorrelation, ranks
from harness.noise import autoregression

samples = nps.arrays(np.int64, st.integers(2, 300), elements=st.integers(1, 50))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.9])
def test_the_integrated_time_of_an_autoregression(rho):
    # Of its ranks, too, but for a few percent (Pearson: 6 / pi asin(rho / 2)).
    found = autocorrelation(autoregression(np.random.default_rng(1), 100_000, rho))
    assert found.lag1 == pytest.approx(6 / np.pi * np.arcsin(rho / 2), abs=0.02)
    assert found.time == pytest.approx((1 + rho) / (1 - rho), rel=0.15)
    assert found.effective == pytest.approx(100_000 / found.time)


def test_spikes_do_not_hide_autocorrelation():
    generator = np.random.default_rng(2)
    series = autoregression(generator, 10_000, 0.6)
    series[generator.integers(0, 10_000, 100)] += 1e6
    assert autocorrelation(series).lag1 > 0.5


@given(samples)
def test_ranks_are_those_of_scipy(values):
    assert np.array_equal(ranks(values), stats.rankdata(values) - 1)


@given(samples, st.integers(1, 1000), st.integers(0, 10**6))
def test_scale_and_offset_do_not_matter(values, scale, shift):
    found = autocorrelation(values)
    assert autocorrelation(values * scale + shift) == found
    assert -1 <= found.lag1 <= 1
    assert found.time >= 1
    assert 0 < found.effective <= values.size


@pytest.mark.parametrize("values", [[], [3], [7] * 100])
def test_constant_samples_are_not_correlated(values):
    assert autocorrelation(np.array(values, dtype=float)) == (0.0, 1.0, len(values))
