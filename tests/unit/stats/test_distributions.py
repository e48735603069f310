"""Student's t against known values; p-values of many tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halftrip.stats import change_points
from halftrip.stats.distributions import adjusted_p_values, student_95, student_tail, upper_tail


@given(st.floats(-50, 50), st.floats(1, 2000))
def test_it_is_students(t, dof):
    exact = stats.t.sf(t, dof)
    assert upper_tail(t, dof) == pytest.approx(exact, rel=1e-5 if dof <= 500 else 0.05, abs=1e-3)


@pytest.mark.parametrize("dof", [2, 4, 8.5, 30, 400])
def test_small_p_values_are_exact_too(dof):
    assert upper_tail(12.0, dof) == pytest.approx(stats.t.sf(12.0, dof), rel=1e-6)


@pytest.mark.parametrize("dof", [2, 3, 4, 5, 10, 30, 100, 1e6])
def test_the_95_percent_quantile(dof):
    assert student_95(dof) == pytest.approx(stats.t.ppf(0.975, dof), rel=0.01)


@pytest.mark.parametrize("dof", [1, 2, 3, 4, 7, 8, 30])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.0, 12.0])
def test_both_tails(t, dof):
    assert student_tail(t, dof) == pytest.approx(2 * stats.t.sf(t, dof), abs=1e-12)


@pytest.mark.parametrize("dof", [4, 10, 100])
@pytest.mark.parametrize("share", [0.95, 0.999, 1 - 1e-6])
def test_quantiles_of_steps_are_near_and_never_much_too_small(share, dof):
    ratio = change_points._student(share, dof) / stats.t.ppf(share, dof)
    assert 0.99 < ratio < (1.02 if dof >= 10 else 1.16)


def test_a_statistic_without_error():
    assert upper_tail(float("inf"), 3) == 0.0
    assert upper_tail(0.0, 3) == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_adjusted_p_values_are_those_of_benjamini_and_hochberg(p_values):
    expected = stats.false_discovery_control(p_values) if p_values else []
    assert np.allclose(adjusted_p_values(p_values), expected)
