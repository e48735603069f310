"""Whether times go with a quantity: what is planted is found, and chance is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.association import association

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
