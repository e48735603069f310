"""How times go with a quantity, such as the core-to-core round trip: planted, and by chance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.adjustment import adjusted, rank_correlation
from halftrip.stats.association import association


def slices(generator, k, exponent, noise, spread=0.15):
    """Round trips about 140 ns and times about 1000, which go with their power `exponent`."""
    x = spread * generator.standard_normal(k)
    return 140 * np.exp(x), 1000 * np.exp(exponent * x + noise * generator.standard_normal(k))


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [6, 10, 30])
def test_the_time_at_a_line_is_covered(exponent, k):
    generator = np.random.default_rng([k, int(10 * exponent)])
    for line in (140.0, 160.0):
        true = 1000 * (line / 140) ** exponent
        found = [adjusted(*slices(generator, k, exponent, 0.01), line) for _ in range(200)]
        hits = [each.low <= true <= each.high for each in found if each is not None]
        assert len(hits) > 180
        assert np.mean(hits) >= 0.92


def test_where_it_cannot_be_told():
    lines, times = slices(np.random.default_rng(3), 10, 0.8, 0.003)
    assert adjusted(lines[:5], times[:5], 140.0) is None
    assert adjusted([math.nan] * 10, times, 140.0) is None
    assert adjusted([math.nan] * 5 + list(lines[5:]), times, 140.0) is None
    assert adjusted(lines, times, math.nan) is None
    assert adjusted(lines, [0.0, *times[1:]], 140.0) is None
    # The probes of one line differ by as much.
    assert adjusted(np.linspace(140, 145, 10), times, 140.0) is None
    # A rank correlation needs ten different points.
    assert rank_correlation(lines[:9], times[:9]) is None
    for same in (math.nan, 140.0):
        assert rank_correlation([same] * 20, list(range(20))) is None


def test_times_that_go_with_the_line_are_told_from_chance():
    generator = np.random.default_rng(4)
    false = [rank_correlation(*slices(generator, 30, 0.0, 0.01)).significant for _ in range(500)]
    assert np.mean(false) <= 0.025
    true = rank_correlation(*slices(generator, 30, 1.0, 0.01))
    assert true.significant
    assert true.value > 0.9
    assert true.points == 30


LEVEL = 0.05
finite = st.floats(-1e6, 1e6)
points = st.lists(st.tuples(finite, st.integers(0, 3), finite), min_size=1, max_size=24)


@given(points)
def test_a_share_is_most_of_the_variance_and_does_not_depend_on_units(known):
    values, launches, times = zip(*known, strict=True)
    found = association(values, launches, times, LEVEL)
    if found is not None:
        assert 0.5 <= found.share <= 1 + 1e-9
        assert len(known) >= 6
    moved = association([2 * v for v in values], launches, [4 * t for t in times], LEVEL)
    assert (moved is None) == (found is None)


@pytest.mark.parametrize("count", [6, 10, 30])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("draw", ["normal", "pareto"])
def test_chance_is_found_in_no_more_runs_than_the_level(count, several, draw):
    random = np.random.default_rng(1)
    runs = 150
    found = 0
    for _ in range(runs):
        times = random.normal(size=count) if draw == "normal" else random.pareto(1.2, count)
        values = random.pareto(1.2, count)
        launches = np.arange(count) // 3 if several else np.zeros(count, dtype=int)
        found += association(values, launches, times, LEVEL) is not None
    assert found <= LEVEL * runs + 3 * (LEVEL * runs) ** 0.5


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_planted_is_found_between_launches_and_within_them(sign):
    random = np.random.default_rng(2)
    values = random.random(12)
    launches = np.arange(12) // 2
    own = np.repeat(10 * random.random(6), 2)
    within = association(values, launches, own + sign * values, LEVEL)
    between = association(sign * own, launches, own + 0.1 * values, LEVEL)
    assert (within is not None, between is not None) == (sign > 0, sign > 0)
    if sign > 0:
        assert (within.between, between.between) == (False, True)
    assert association([1.0] * 12, launches, own, LEVEL) is None
    assert association(values[:5], launches[:5], values[:5], LEVEL) is None
