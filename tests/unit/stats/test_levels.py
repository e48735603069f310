"""Levels and states of the machine, from core-to-core round trips."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halftrip.stats.levels import goes_with, held, level_of, levels
from halftrip.stats.states import State, block_states, requested_state, states

NEAR, FAR = 92.0, 278.0


def readings(generator, *parts, spread=0.02):
    """Readings about each of several values, so many of each, in that order."""
    return np.concatenate(
        [value * np.exp(spread * generator.normal(size=count)) for value, count in parts]
    )


def switching(generator, values, count, chance=0.05, spread=0.02):
    """Readings about values that change with some chance from one to the next."""
    place = np.cumsum(generator.random(count) < chance) % len(values)
    return np.array(values)[place] * np.exp(spread * generator.normal(size=count))


@pytest.mark.parametrize("values", [(92, 278), (460, 520), (90, 180, 300), (120, 390, 780)])
def test_levels_that_come_back_are_found_however_many_there_are(values):
    found = levels([switching(np.random.default_rng(3), values, 600, spread=0.01)])
    assert [level.middle for level in found] == pytest.approx(values, rel=0.02)
    assert sum(level.share for level in found) == pytest.approx(1.0)
    assert all(one.high <= other.low for one, other in itertools.pairwise(found))


def wandering(generator, count, memory):
    """Readings from 65 to 180 that pass through all that lies between."""
    lag1 = np.exp(-1 / memory)
    level, found = generator.normal(), []
    for noise in generator.normal(size=count) * np.sqrt(1 - lag1**2):
        level = lag1 * level + noise
        found.append(108 * np.exp(0.25 * level))
    return found


@pytest.mark.parametrize("memory", [0.5, 10, 100])
@pytest.mark.parametrize("count", [30, 400])
def test_what_wanders_continuously_is_hardly_ever_split(count, memory):
    seeds = range(40)
    several = sum(
        len(levels([wandering(np.random.default_rng(seed), count, memory)])) > 1 for seed in seeds
    )
    assert several <= 2


def test_where_levels_are_told_apart():
    """What differs from place to place and never changes is one level."""
    generator = np.random.default_rng(1)
    places = [readings(generator, (NEAR, 50)), readings(generator, (FAR, 50))]
    assert len(levels(places)) == 1
    # Where one of them changes, the other one is at one of its levels.
    places[0] = readings(generator, (NEAR, 50), (FAR, 20))
    assert len(levels(places)) == 2
    # A change that does not come back has to be clear.
    generator = np.random.default_rng(1)
    assert len(levels([readings(generator, (NEAR, 60), (FAR, 60))])) == 2
    assert len(levels([readings(generator, (460, 60), (520, 60))])) == 1
    back = readings(generator, (460, 40), (520, 30), (460, 20), (520, 30), spread=0.01)
    assert len(levels([back])) == 2
    # A few disturbed readings are none.
    generator = np.random.default_rng(1)
    calm = readings(generator, (NEAR, 200))
    calm[::50] = 900.0
    (level,) = levels([calm])
    assert not level.has(900.0)
    assert level.middle == pytest.approx(NEAR, rel=0.01)


@given(st.lists(st.lists(st.floats(), max_size=40), max_size=3))
# The product of two of these is 0.
@example([[1.0] * 5 + [3e-117] + [2e-293] * 3 + [2e-309] * 3])
def test_any_readings_have_levels_in_order(series):
    found = levels(series)
    values = [v for each in series for v in each if 0 < v < np.inf]
    assert bool(found) == bool(values)
    assert all(one.high <= other.low for one, other in itertools.pairwise(found))
    assert all(level.low <= level.middle <= level.high for level in found)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e6))
def test_levels_do_not_depend_on_the_unit(seed, unit):
    values = switching(np.random.default_rng(seed), (NEAR, FAR), 60, chance=0.2)
    one, other = levels([values]), levels([unit * values])
    assert [unit * level.middle for level in one] == pytest.approx([o.middle for o in other])


def test_the_level_that_held_in_a_slice():
    known = levels([readings(np.random.default_rng(1), (NEAR, 50), (FAR, 50), (NEAR, 50))])
    assert [level_of(known, each) for each in (NEAR, FAR, 160.0)] == [0, 1, None]
    assert held(known, [NEAR, NEAR, NEAR]) == (0, False)
    assert held(known, [NEAR, FAR, NEAR]) == (None, True)
    # A disturbed reading says nothing, most of them leave nothing known.
    assert held(known, [FAR, 160.0, FAR]) == (1, False)
    assert held(known, [FAR, 160.0, 160.0]) == (None, False)
    assert held(known, []) == (None, False)


def dealt(generator, far, launches=10, slices=2, spread=0.0, noise=0.02):
    """Slices at either level in turn by chance; those at the second take `far` times as long."""
    numbers, of, medians = [], [], []
    for launch in range(launches):
        factor = np.exp(spread * generator.normal())
        for _ in range(slices):
            number = int(generator.integers(2))
            numbers.append((NEAR, FAR)[number])
            of.append(launch)
            level = 100.0 * (far if number else 1.0)
            medians.append(level * factor * np.exp(noise * generator.normal()))
    return numbers, of, medians


@pytest.mark.parametrize(("launches", "slices"), [(10, 2), (1, 20), (3, 6)])
def test_rows_that_go_with_the_level_are_told_from_those_that_do_not(launches, slices):
    def share(far, spread):
        found = [
            goes_with(*dealt(np.random.default_rng(seed), far, launches, slices, spread))
            for seed in range(40)
        ]
        return sum(found) / len(found)

    assert share(2.0, 0.05) >= 0.95
    assert share(1.0, 0.0) == 0.0
    assert share(1.0, 0.4 if launches > 1 else 0.0) <= 0.1
    # Significant, but no more than an interval that is ok.
    assert share(1.015, 0.0) <= 0.2


def test_without_several_levels_nothing_goes_with_them():
    assert not goes_with([], [], [])
    assert not goes_with([NEAR, NEAR, None], [0, 0, 0], [1.0, 2.0, 3.0])
    assert not goes_with([NEAR, FAR], [0, 0], [1.0, 2.0])
    # Times of 0 have no logarithm.
    assert not goes_with([NEAR, NEAR, FAR, FAR], [0, 0, 0, 0], [0.0, 0.0, 1.0, 1.0])


probes = st.lists(st.floats(20, 2000), min_size=1, max_size=120)


@given(probes)
def test_states_are_in_order_and_do_not_overlap(them):
    known = states(them)
    assert known
    for state in known:
        assert state.low <= state.high
        assert state.low in them
        assert state.high in them
    for one, other in itertools.pairwise(known):
        assert other.low > 1.25 * one.high
    for probe in them:
        assert sum(state.has(probe) for state in known) <= 1


@pytest.mark.parametrize(
    ("probes", "found"),
    [
        ([], []),
        ([100.0], [(100.0, 100.0)]),
        ([100.0, 124.0, 150.0], [(100.0, 150.0)]),
        ([100.0, 126.0], [(100.0, 100.0), (126.0, 126.0)]),
        # Rare ones are a disturbance.
        ([100.0] * 3 + [300.0], [(100.0, 100.0)]),
        ([100.0] * 3 + [300.0] * 2, [(100.0, 100.0), (300.0, 300.0)]),
        ([100.0] * 39 + [300.0] * 2, [(100.0, 100.0)]),
        ([100.0] * 38 + [300.0] * 2, [(100.0, 100.0), (300.0, 300.0)]),
    ],
)
def test_close_probes_make_one_state_and_rare_ones_none(probes, found):
    assert states(probes) == [State(*each) for each in found]


def test_a_block_in_which_the_state_changed_has_none():
    times = [100.0, 104.0, 200.0, 192.0, 150.0, 150.0]
    assert block_states(states([100.0, 200.0]), times) == [0, None, 1, 1, None]


def test_the_requested_state_is_the_first_or_last_of_clear_ones():
    them = [100.0, 102.0] * 10 + [200.0, 210.0] * 5
    assert requested_state(them, "near") == State(100.0, 102.0)
    assert requested_state(them, "far") == State(200.0, 210.0)


@settings(max_examples=50)
@given(st.lists(st.floats(100, 120), min_size=1, max_size=60))
def test_where_the_line_moves_continuously_near_is_the_lowest_quarter(them):
    near, far = requested_state(them, "near"), requested_state(them, "far")
    assert near.low == min(them)
    assert far.high == max(them)
    assert near.high == np.quantile(them, 0.25)
    assert far.low == np.quantile(them, 0.75)
    assert near.high <= far.low
