"""Two modes, and the step of a clock: known ones are found, and noise looks like neither."""

import numpy as np
import pytest
from diptest import dipstat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.stats import modes
from halftrip.stats.granularity import granularity, most_granularities
from halftrip.stats.modes import has_dip, two_modes, two_modes_of_each
from harness.noise import KINDS, two_kinds

distinct = nps.arrays(
    np.float64, st.integers(4, 200), elements=st.integers(0, 10**6).map(float), unique=True
).map(np.sort)


@settings(max_examples=50)
@given(distinct, st.floats(0.001, 0.3))
def test_whether_a_dip_is_as_large_is_told_as_diptest_tells_it(ordered, least):
    dip = dipstat(ordered, allow_zero=False)
    assert abs(dip - least) < 1e-9 or has_dip(ordered, least) == (dip >= least)
    assert has_dip(ordered, dip - 1e-9)
    assert not has_dip(ordered, dip + 1e-9)


@settings(max_examples=50)
@given(
    st.integers(20, 300), st.floats(0, 0.3), st.floats(0, 12), st.floats(1e-4, 0.05),
    st.sampled_from([0, 1, 5]), st.integers(0, 1000),
)  # fmt: skip
def test_what_is_excluded_beforehand_has_no_two_modes(n, share, apart, noise, step, seed):
    samples = 1000 * (1 + noise * two_kinds(np.random.default_rng(seed), n, share, apart))
    if step:
        samples = step * np.round(samples / step)
    found = two_modes(samples)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(modes, "_are_near", lambda ordered, *_: np.zeros(len(ordered), bool))
        patched.setattr(modes, "has_dip", lambda points, least: dipstat(points) >= least)
        assert two_modes(samples) == found


@settings(max_examples=30)
@given(st.integers(1, 120), st.floats(0, 12), st.sampled_from([0, 1, 40]), st.integers(0, 1000))
def test_series_together_have_the_modes_that_each_has_alone(n, apart, step, seed):
    generator = np.random.default_rng(seed)
    series = [1000 + 20 * two_kinds(generator, n, share, apart) for share in (0.0, 0.02, 0.1, 0.5)]
    found = np.array([step * np.round(each / step) if step else each for each in series])
    for samples in (found, found.astype(np.int64)):
        assert two_modes_of_each(samples) == [two_modes(each) for each in samples]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "count"), [(30, 40), (200, 20), (5000, 5)])
def test_a_single_mode_is_rarely_taken_for_two(kind, n, count):
    """In 3 percent of the series at most."""
    generator = np.random.default_rng(n)
    found = [two_modes(10.0 + KINDS[kind](generator, n)) for _ in range(count)]
    assert sum(modes is not None for modes in found) <= 0.03 * count


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_the_places_and_shares_of_two_modes(share):
    samples = 100 + two_kinds(np.random.default_rng(4), 5000, share, 20)
    modes = two_modes(samples)
    assert (modes.low, modes.high) == pytest.approx((100, 120), abs=0.5)
    assert modes.high_share == pytest.approx(share, abs=0.02)
    assert modes.low_share + modes.high_share == 1


def test_two_modes_of_a_coarse_clock_are_found():
    samples = np.round((100 + two_kinds(np.random.default_rng(4), 2000, 0.4, 30)) / 4) * 4
    modes = two_modes(samples)
    assert (modes.low, modes.high) == pytest.approx((100, 130), abs=4)


def test_modes_closer_than_the_limit_and_late_samples_are_left_out():
    samples = 1000 + two_kinds(np.random.default_rng(6), 100_000, 0.5, 20)
    assert two_modes(samples) is None
    assert two_modes(samples, least=0.01) is not None
    # Three percent.
    assert two_modes(100 + two_kinds(np.random.default_rng(7), 100_000, 0.03, 50)) is None


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
    """Though a few samples are off the lattice."""
    samples = np.round(stepped(step))
    assert granularity(samples) == pytest.approx(step, rel=0.03)
    samples[::50] += 0.37 * step
    assert granularity(samples) == pytest.approx(step, rel=0.03)


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
    assert granularity(ordered) <= most_granularities(ordered[np.newaxis])[0]


def test_the_bound_holds_of_more_values_than_are_searched():
    generator = np.random.default_rng(5)
    for n in (600, 3000):
        ordered = np.sort(generator.pareto(1.0, n))
        assert granularity(ordered) <= most_granularities(ordered[np.newaxis])[0]
