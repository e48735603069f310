"""When warm-up has settled: the last part of a block agrees with its first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.measure.settling import settled
from harness.runs import times


def steady(ns, spread=0.0, seed=1, count=30):
    """Samples around `ns`."""
    return np.rint(ns * np.random.default_rng(seed).lognormal(0, spread, count)).astype(np.int64)


@pytest.mark.parametrize("count", range(3))
def test_too_few_samples_have_not_settled(count):
    assert not settled(times(*[1000] * count), 0.01)


@pytest.mark.parametrize("count", [3, 4, 5, 30])
def test_equal_samples_have_settled(count):
    assert settled(times(*[1000] * count), 0.01)


@pytest.mark.parametrize(("ns", "agree"), [(1010, True), (1011, False), (990, True), (989, False)])
@pytest.mark.parametrize("count", [10, 100])
def test_the_first_third_and_the_last_agree_within_the_tolerance(ns, agree, count):
    first, rest = steady(ns, count=count), steady(1000, count=2 * count)
    assert settled(np.concatenate([first, rest]), 0.01) == agree
    # What is between them does not matter.
    between = steady(5000, count=count)
    assert settled(np.concatenate([first, between, rest[:count]]), 0.01) == agree


def test_thirds_agree_where_chance_explains_the_difference():
    noisy = steady(1000, 0.5, count=90)
    medians = [np.median(third) for third in np.split(noisy, 3)]
    assert abs(medians[0] - medians[2]) > 0.03 * medians[2]
    assert settled(noisy, 0.01)


@given(st.floats(0.0, 0.2), st.integers(0, 100))
def test_a_cold_start_that_is_clear_of_the_noise_has_not_settled(spread, seed):
    slow = steady(3000, spread, seed, 100)
    rest = steady(1000, spread, seed + 1, 200)
    assert not settled(np.concatenate([slow, rest]), 0.01)


@given(st.floats(100, 1e9), st.integers(9, 300))
def test_a_path_that_drifts_on_has_not_settled(ns, count):
    drifting = np.rint(ns * np.linspace(2.0, 1.0, count)).astype(np.int64)
    assert not settled(drifting, 0.01)


def test_a_few_slow_samples_do_not_matter():
    spiky = steady(1000, 0.01, count=90)
    spiky[::9] = 100_000
    assert settled(spiky, 0.01)
