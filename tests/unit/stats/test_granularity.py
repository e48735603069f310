"""The step of a clock, from samples: a known step is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.granularity import granularity, most_granularity


def stepped(step, n=2000, spread=3.0, seed=1):
    """Times between two readings of a clock of this step, about 20 steps long, ns."""
    generator = np.random.default_rng(seed)
    starts = generator.uniform(0, 1e6, n)
    ends = starts + step * (20 + spread * generator.standard_normal(n))
    ticks = np.floor(ends / step) - np.floor(starts / step)
    return ticks * step


@given(st.integers(1, 10**6), st.floats(0.3, 20.0), st.integers(0, 100))
def test_a_whole_step_is_found(step, spread, seed):
    assert granularity(stepped(step, spread=spread, seed=seed)) == step


@pytest.mark.parametrize("step", [41.6667, 100.3, 15.625])
def test_a_fractional_step_is_found_in_whole_times(step):
    assert granularity(np.round(stepped(step))) == pytest.approx(step, rel=0.03)


def test_a_few_samples_off_the_lattice_do_not_hide_it():
    samples = stepped(100)
    samples[::50] += 37
    assert granularity(samples) == pytest.approx(100, rel=0.03)


def test_the_step_of_a_fine_clock_is_small():
    generator = np.random.default_rng(3)
    assert granularity(1000 + generator.normal(0, 10, 1000)) < 0.5
    assert granularity(np.round(1000 + generator.normal(0, 10, 1000))) == 1


@pytest.mark.parametrize(
    ("samples", "step"), [([], 0), ([1000] * 50, 1000), ([1000] * 500 + [3000], 2000)]
)
def test_the_step_of_equal_samples_and_of_one_spike(samples, step):
    assert granularity(np.array(samples, dtype=float)) == step


@given(st.lists(st.integers(0, 100), min_size=1, max_size=50), st.integers(1, 1000))
def test_the_step_follows_the_scale_and_is_within_the_range(values, scale):
    samples = np.array(values)
    step = granularity(samples)
    assert granularity(samples * scale) == pytest.approx(step * scale)
    assert 0 <= step <= samples.max()


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=80), st.integers(1, 9), st.booleans())
def test_no_step_is_larger_than_the_bound_that_is_known_without_a_search(values, scale, lattice):
    ordered = np.sort(np.array(values) * (scale if lattice else 1)) / scale
    assert granularity(ordered) <= most_granularity(ordered)


def test_the_bound_holds_of_more_values_than_are_searched():
    generator = np.random.default_rng(5)
    for n in (600, 3000):
        ordered = np.sort(generator.pareto(1.0, n))
        assert granularity(ordered) <= most_granularity(ordered)
