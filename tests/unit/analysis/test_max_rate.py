"""The max-rate model from times that the model itself makes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.max_rate import PairsPoint, max_rate
from halftrip.stats.estimate import Estimate

SIZES = (64, 4096, 65536, 1 << 20)
PAIRS = (1, 2, 4, 8)


def points(start, per_pair, together, noise=0.0, seed=1):
    """Times, ns, of `start` ns and rates in bytes per second."""
    generator = np.random.default_rng(seed)
    found = []
    for pairs in PAIRS:
        for size in SIZES:
            time = start + 1e9 * pairs * size / min(together, pairs * per_pair)
            time *= 1 + noise * generator.normal()
            half = 1.96 * noise * time
            found.append(PairsPoint(pairs, size, Estimate(time, time - half, time + half)))
    return found


@given(st.floats(100.0, 1e5), st.floats(1e8, 1e11), st.sampled_from([1.5, 3.0, 6.0]))
def test_all_three_come_out_where_both_rates_limit(start, per_pair, turn):
    found = max_rate(points(start, per_pair, turn * per_pair))
    assert found.start.value == pytest.approx(start, rel=1e-4)
    assert found.per_pair.value == pytest.approx(per_pair, rel=1e-4)
    assert found.together.value == pytest.approx(turn * per_pair, rel=1e-4)
    assert found.alone_up_to == max(pairs for pairs in PAIRS if pairs < turn)
    assert found.misfit == pytest.approx(1.0, abs=1e-4)


@given(st.floats(100.0, 1e5), st.floats(1e8, 1e11))
def test_a_limit_that_is_never_met_is_not_made_up(start, rate):
    never = max_rate(points(start, rate, 100 * rate))
    assert (never.together, never.alone_up_to) == (None, 8)
    assert never.per_pair.value == pytest.approx(rate, rel=1e-4)
    always = max_rate(points(start, 100 * rate, rate))
    assert (always.per_pair, always.alone_up_to) == (None, 0)
    assert always.together.value == pytest.approx(rate, rel=1e-4)


def test_the_intervals_cover_the_truth():
    truths = (2000.0, 1e9, 3e9)
    covered, runs = [0, 0, 0], 200
    for seed in range(runs):
        found = max_rate(points(*truths, noise=0.02, seed=seed))
        for place, each in enumerate((found.start, found.per_pair, found.together)):
            covered[place] += each is not None and each.low <= truths[place] <= each.high
    assert min(covered) >= 0.93 * runs


def test_times_that_get_shorter_with_the_size_are_no_model():
    made = [
        PairsPoint(pairs, size, Estimate(1e6 / size, 0.9e6 / size, 1.1e6 / size))
        for pairs in PAIRS
        for size in SIZES
    ]
    with pytest.raises(ValueError, match="no split"):
        max_rate(made)


def test_an_interval_that_reaches_0_is_open_above():
    made = [
        PairsPoint(pairs, size, Estimate(1e5 + size, 1e4, 2e5 + size))
        for pairs in (1, 2)
        for size in (8, 64, 512)
    ]
    found = max_rate(made)
    assert math.isinf(found.per_pair.high)
