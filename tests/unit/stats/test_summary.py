"""What counts of the slices of a configuration, and their summary."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.series import (
    by_state,
    configuration_times,
    rtt_states,
    summarize_configuration,
)
from halftrip.stats.states import State
from halftrip.stats.summary import summarize, variance_components

values = st.floats(1, 1e6)


def launches(generator, k, n, between, within):
    levels = 100 + between * generator.standard_normal(k)
    return [level + within * generator.standard_normal(n) for level in levels]


@pytest.mark.parametrize(("between", "within"), [(3.0, 1.0), (1.0, 3.0)])
def test_components_are_recovered(between, within):
    found = variance_components(launches(np.random.default_rng(1), 3000, 9, between, within))
    assert found == pytest.approx((between, within), rel=0.1)
    # Of unbalanced launches, too.
    generator = np.random.default_rng(2)
    groups = [launches(generator, 1, 2 + i % 9, between, within)[0] for i in range(4000)]
    assert variance_components(groups) == pytest.approx((between, within), rel=0.1)


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


class Series(NamedTuple):
    launch: int
    one_way_blocks: list[np.ndarray]
    core_to_core_rtts: tuple[float, ...]

    @property
    def one_way_times(self):
        return np.concatenate(self.one_way_blocks) if self.one_way_blocks else np.empty(0)


def level(value, launch=0, rtts=(), n=40, seed=1):
    """A slice of two blocks about this time."""
    times = np.random.default_rng([seed, int(value)]).normal(value, 0.001 * value, n)
    return Series(launch, np.array_split(times, 2), rtts)


def test_leading_slices_of_each_launch_that_was_warming_up_do_not_count():
    slices = [level(value) for value in (130, 109, *range(100, 108))]
    found = configuration_times(slices)
    assert list(found.counted) == [False, *[True] * 9]
    assert len(found.slices) == 10
    assert len(found.steady) == 9
    summary = summarize_configuration(found)
    assert summary.samples == 9 * 40
    assert 103 < summary.latency < 105
    cold, warm = [150, *[100, 101, 102] * 3], [100, 101, 102] * 3 + [150]
    launches = [level(value, 0) for value in cold] + [level(value, 1) for value in warm]
    found = configuration_times(launches)
    assert [n for n, counts in enumerate(found.counted) if not counts] == [0]
    assert {launch: len(slices) for launch, slices in found.by_launch.items()} == {0: 9, 1: 10}


def test_slices_without_samples_are_left_out_and_a_single_launch_of_several_has_no_interval():
    slices, other = [level(value) for value in range(100, 110)], Series(1, [], ())
    assert not math.isnan(summarize_configuration(configuration_times(slices)).low)
    found = configuration_times([*slices, Series(0, [np.empty(0)], ()), other])
    assert (len(found.slices), found.launches_begun) == (10, 2)
    assert math.isnan(summarize_configuration(found).low)
    assert summarize_configuration(configuration_times([other])).samples == 0


def test_slices_have_a_round_trip_and_blocks_a_state():
    moved = level(100, rtts=(100.0, 101.0, 250.0))
    far = level(200, rtts=(250.0, 251.0, 252.0))
    unknown = level(300)
    *rtts, none = (each.rtt for each in configuration_times([moved, far, unknown]).slices)
    assert rtts == [101.0, 251.0]
    assert math.isnan(none)
    states = rtt_states([moved, far, unknown])
    assert states == [State(100.0, 101.0), State(250.0, 252.0)]
    near_times, far_times = by_state([moved, far, unknown], states)
    assert near_times.tolist() == moved.one_way_blocks[0].tolist()
    assert far_times.tolist() == far.one_way_times.tolist()


def test_times_are_known_to_the_unit_they_were_recorded_in():
    slices = [Series(0, [np.full(30, 84.0)], ()) for _ in range(6)]
    summary = summarize_configuration(configuration_times(slices, unit=0.5))
    assert (summary.low, summary.high) == (83.75, 84.25)


def slices(launch, count, level=100.0):
    """So many slices of a launch."""
    generator = np.random.default_rng(launch)
    return [
        Series(launch, [generator.normal(level, 1.0, 50)], [150.0, 150.0]) for _ in range(count)
    ]


def test_a_launch_that_was_cut_short_does_not_count_and_slow_ones_do():
    """Whose slices are fewer in the same time, or whose first ones were still warming up."""
    times = configuration_times([*slices(0, 3), *slices(1, 10)])
    assert times.launches_begun == 1
    summary = summarize_configuration(times)
    assert summary.low < summary.latency < summary.high
    times = configuration_times(
        [*slices(0, 10), *slices(1, 4, 120.0), *slices(2, 5, 110.0), *slices(3, 9), *slices(4, 2)]
    )
    assert times.launches_begun == 4
    assert sorted(times.by_launch) == [0, 1, 2, 3]
    warming_up = [*slices(1, 2, 150.0), *slices(1, 4)]
    times = configuration_times([*slices(0, 6), *warming_up, *slices(2, 6)])
    assert sorted(times.by_launch) == [0, 1, 2]
