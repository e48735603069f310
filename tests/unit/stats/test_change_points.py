"""Changes of level in short series of medians: found where they are, and not where there are
none. benchmarks/truth.py counts both for longer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.change_points import (
    FEWEST_RUNS,
    SHORTEST_LEVEL,
    Levels,
    LevelStep,
    changed_series,
    standard_error,
)
from harness.noise import autoregression

UNKNOWN = math.nan


def steps(values, errors=None):
    return Levels(values, [UNKNOWN] * len(values) if errors is None else errors).steps(0.05)


def noisy(seed, count=30, at=None):
    """A series whose level rises by ten per cent at a place, if one is given."""
    series = 0.03 * np.random.default_rng(seed).standard_normal(count)
    if at is not None:
        series[at:] += math.log(1.1)
    return series


@pytest.mark.parametrize("place", [0, 4, 15, 29])
@pytest.mark.parametrize("outliers", [1, 2])
def test_one_or_two_runs_that_stand_out_are_no_level(place, outliers):
    series = noisy(1)
    series[place : place + outliers] += 0.5
    assert steps(series) == []


def test_a_run_with_a_large_error_counts_less_and_one_with_a_small_error_no_more():
    series = np.concatenate((noisy(3, 15), [0.1, 0.11, 0.09]))
    certain = np.full(18, 0.01)
    assert steps(series, certain)
    assert not steps(series, np.concatenate((certain[:15], [0.3] * 3)))
    # Of three slices, it is small by chance.
    errors = np.where(np.arange(30) % 7, 0.03, 1e-6)
    assert steps(noisy(4), errors) == steps(noisy(4))


@given(
    st.lists(st.floats(-20, 20), min_size=FEWEST_RUNS, max_size=30),
    st.lists(st.floats(0, 5) | st.just(UNKNOWN), min_size=30, max_size=30),
    st.floats(1e-6, 0.5),
)
def test_levels_of_any_series_are_long_enough_and_steps_lie_within_their_intervals(
    values, errors, level
):
    levels = Levels(values, errors[: len(values)])
    found = levels.steps(level)
    bounds = [0, *(step.first for step in found), len(values)]
    assert all(length >= SHORTEST_LEVEL for length in np.diff(bounds))
    assert all(0 < step.low <= step.first <= step.high < len(values) for step in found)
    assert levels.detectable(level) > 0.0


def test_few_series_without_a_step_show_one():
    assert sum(bool(steps(noisy(seed))) for seed in range(100)) <= 6
    wander = [0.03 * autoregression(np.random.default_rng(seed), 30, 0.3) for seed in range(100)]
    assert sum(bool(steps(each)) for each in wander) <= 9


@pytest.mark.parametrize("place", [10, 15])
def test_a_step_of_ten_per_cent_is_found_where_it_is(place):
    """And is in its interval."""
    near = within = 0
    for seed in range(100):
        found = steps(noisy(seed, at=place))
        near += len(found) == 1 and abs(found[0].first - place) <= 1
        within += any(step.low <= place <= step.high for step in found)
    assert near >= 90
    assert within >= 92


def test_of_several_series_the_chance_of_any_step_is_that_of_one():
    histories = [[Levels(noisy(100 * n + k), [UNKNOWN] * 30) for k in range(10)] for n in range(40)]
    assert sum(any(changed_series(each, 0.05)) for each in histories) <= 6


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0.0] * 5 + [0.1] * 7, [LevelStep(5, 5, 5)]),
        ([0.0] * 6 + [0.2] * 5 + [0.0] * 6, [LevelStep(6, 6, 6), LevelStep(11, 11, 11)]),
        ([1.5] * 50, []),
        # Less than any machine repeats by.
        ([0.0] * 15 + [0.001] * 15, []),
    ],
)
def test_exact_steps_are_found_exactly(values, found):
    assert steps(values) == found


def test_series_that_have_changed_leave_the_others_as_they_are():
    changed = [Levels(noisy(k, at=15), [UNKNOWN] * 30) for k in range(5)]
    same = [Levels([1.0] * 30, [UNKNOWN] * 30)] * 5
    found = changed_series(changed + same, 0.05)
    assert [bool(each) for each in found] == [True] * 5 + [False] * 5
    assert changed_series([], 0.05) == []


def test_standard_errors_are_those_of_logarithms():
    error = standard_error(100.0, 100 / 1.02, 102.0)
    assert error == pytest.approx(math.log(1.02) / 1.96, rel=1e-3)
    for bounds in ((math.nan, math.nan), (0.0, 101.0), (99.0, math.inf), (101.0, 102.0)):
        assert math.isnan(standard_error(100.0, *bounds))
