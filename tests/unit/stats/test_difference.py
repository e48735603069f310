"""Whether two sets of times differ: rate of false alarms, and the ratio that is found; Student's t
against known values, and p-values of many tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halftrip.stats import change_points
from halftrip.stats.difference import Difference, differ, differ_paired
from halftrip.stats.distributions import adjusted_p_values, student_95, student_tail, upper_tail

times = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12)
unequal = st.lists(st.integers(1, 10**6), min_size=8, max_size=24, unique=True)


@given(unequal, st.integers(4, 20))
def test_it_is_significant_where_the_mann_whitney_test_is(values, split):
    a, b = values[: min(split, len(values) - 4)], values[min(split, len(values) - 4) :]
    p = stats.mannwhitneyu(a, b, method="exact").pvalue
    assert differ(a, b).significant == (p <= 0.05)


@given(times, times)
def test_swapping_the_sides_inverts_the_ratio(a, b):
    there, back = differ(a, b), differ(b, a)
    assert there.significant == back.significant
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.low <= there.ratio * (1 + 1e-12)
    assert there.ratio <= there.high * (1 + 1e-12)
    if math.isfinite(there.high) and there.high < 1e100:
        assert there.high * back.low == pytest.approx(1)


@pytest.mark.parametrize(("n", "m"), [(1, 4), (2, 2), (3, 3), (8, 8), (60, 60)])
def test_equal_launches_rarely_differ_significantly(n, m):
    generator, count = np.random.default_rng(n * m), 150
    alarms = sum(
        differ(*(np.exp(0.1 * generator.standard_normal(k)).tolist() for k in (n, m))).significant
        for _ in range(count)
    )
    assert alarms / count <= 0.075


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (5, 5), (3, 5), (10, 10)])
def test_a_factor_of_two_is_found(n, m):
    generator = np.random.default_rng(n + m)
    a, b = (np.exp(0.001 * generator.standard_normal(k)).tolist() for k in (n, m))
    found = differ(a, [2 * value for value in b])
    assert found.significant
    assert found.ratio == pytest.approx(2, rel=0.01)


def test_of_one_launch_of_each_or_of_one_pair_nothing_can_be_told():
    nothing = Difference(2.0, 0.0, math.inf, False)
    assert differ([1.0], [2.0]) == differ_paired([2.0]) == nothing
    assert math.isnan(differ([], [1.0]).ratio)
    assert not differ_paired([]).is_known


# Pairs that were measured together.


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_what_pairs_have_in_common_does_not_matter(n):
    generator = np.random.default_rng(n)
    drift = np.exp(generator.normal(0, 0.5, n))
    noise = np.exp(generator.normal(0, 0.001, n))
    base, new = 100 * drift, 103 * drift * noise
    found = differ_paired((new / base).tolist())
    assert found.significant
    assert found.ratio == pytest.approx(1.03, rel=0.002)
    if n > 3:
        assert not differ(base.tolist(), new.tolist()).significant


@pytest.mark.parametrize("n", [2, 3, 10])
def test_pairs_of_the_same_rarely_differ(n):
    generator = np.random.default_rng(n)
    ratios = np.exp(generator.normal(0, 0.1, (200, n)))
    found = [differ_paired(each.tolist()) for each in ratios]
    assert sum(each.significant for each in found) <= 0.075 * 200
    expected = [stats.ttest_1samp(np.log(each), 0.0).pvalue for each in ratios]
    assert [each.p_value for each in found] == pytest.approx(expected, rel=1e-4, abs=1e-6)


# What else an interval allows for.


@given(
    st.floats(0.5, 2.0),
    st.floats(0.001, 0.2),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0.25, 4.0),
)
def test_a_further_error_widens_the_interval_and_raises_the_p_value(
    ratio, error, below, above, factor
):
    middle = math.log(ratio)
    width = 1.96 * error
    known = Difference(ratio, math.exp(middle - width), math.exp(middle + width), True, error)
    wider = known.widened(below, above)
    assert wider.ratio == pytest.approx(ratio)
    assert wider.low <= known.low * (1 + 1e-9)
    assert wider.high >= known.high * (1 - 1e-9)
    assert wider.p_value >= known.p_value - 1e-12
    # What may explain a change is within the interval.
    explained = known.allowing_for(factor)
    assert explained.low <= ratio * factor * (1 + 1e-9)
    assert ratio * factor <= explained.high * (1 + 1e-9)
    assert explained.p_value >= known.p_value - 1e-12


@given(st.floats(-50, 50), st.floats(1, 2000))
def test_it_is_students(t, dof):
    exact = stats.t.sf(t, dof)
    assert upper_tail(t, dof) == pytest.approx(exact, rel=1e-5 if dof <= 500 else 0.05, abs=1e-3)
    # Of a statistic without error, too.
    assert upper_tail(math.inf, dof) == 0.0


@pytest.mark.parametrize("dof", [1, 2, 3, 4, 5, 7, 8, 8.5, 10, 30, 100, 400, 1e6])
def test_small_p_values_both_tails_and_the_95_percent_quantile(dof):
    assert upper_tail(12.0, dof) == pytest.approx(stats.t.sf(12.0, dof), rel=1e-6)
    if dof > 1:
        assert student_95(dof) == pytest.approx(stats.t.ppf(0.975, dof), rel=0.01)
    # Both tails have a formula of whole numbers.
    for t in (0.0, 0.3, 2.0, 12.0) if isinstance(dof, int) else ():
        assert student_tail(t, dof) == pytest.approx(2 * stats.t.sf(t, dof), abs=1e-12)


@pytest.mark.parametrize("dof", [4, 10, 100])
@pytest.mark.parametrize("share", [0.95, 0.999, 1 - 1e-6])
def test_quantiles_of_steps_are_near_and_never_much_too_small(share, dof):
    ratio = change_points._student(share, dof) / stats.t.ppf(share, dof)
    assert 0.99 < ratio < (1.02 if dof >= 10 else 1.16)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_adjusted_p_values_are_those_of_benjamini_and_hochberg(p_values):
    expected = stats.false_discovery_control(p_values) if p_values else []
    assert np.allclose(adjusted_p_values(p_values), expected)
