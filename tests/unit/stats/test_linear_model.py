"""Least squares of relative residuals: what is planted comes out, and the intervals cover it."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.estimate import Estimate
from halftrip.stats.linear_model import linear_fit

SIZES = np.array([0.0, 10.0, 100.0, 1000.0, 10_000.0])
LINE = np.stack([np.ones_like(SIZES), SIZES], axis=1)


def exact(values, share=0.0):
    return [Estimate(v, v * (1 - share), v * (1 + share)) for v in np.asarray(values).tolist()]


@given(st.floats(1.0, 1e6), st.floats(1e-3, 1e3))
def test_a_line_comes_out(start, slope):
    found = linear_fit(LINE, exact(start + slope * SIZES))
    assert found.parameters[0].value == pytest.approx(start, rel=1e-6)
    assert found.parameters[1].value == pytest.approx(slope, rel=1e-6)
    assert found.scatter < 1e-6
    assert max(found.misfits(exact(start + slope * SIZES))) == pytest.approx(1.0, abs=1e-6)


def test_a_time_without_an_interval_leaves_none():
    times = exact(100 + 2 * SIZES, 0.01)
    times[2] = Estimate(times[2].value)
    for found in linear_fit(LINE, times).parameters:
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_times_that_scatter_have_the_intervals_of_the_textbook():
    """With as many degrees of freedom as there are more times than parameters."""
    times = (100 + 2 * SIZES) * np.array([1.02, 0.97, 1.03, 0.98, 1.01])
    rows = LINE / times[:, None]
    found, squares, *_ = np.linalg.lstsq(rows, np.ones(len(times)))
    spread = squares[0] / (len(times) - 2) * np.linalg.inv(rows.T @ rows).diagonal()
    half = scipy.stats.t.ppf(0.975, len(times) - 2) * np.sqrt(spread)
    fit = linear_fit(LINE, exact(times))
    assert [each.value for each in fit.parameters] == pytest.approx(found)
    assert [each.high for each in fit.parameters] == pytest.approx(found + half)
    assert [each.low for each in fit.parameters] == pytest.approx(found - half)
