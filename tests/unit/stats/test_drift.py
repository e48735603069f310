"""Trends and steps: known ones are found, and noise has none."""

import numpy as np
import pytest
import ruptures
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.stats.drift import change_points, level_change, partition, slice_trend, trend
from harness.noise import KINDS, autoregression

samples = nps.arrays(np.int64, st.integers(1, 400), elements=st.integers(1, 10**6))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "count"), [(100, 60), (3000, 5)])
def test_noise_has_no_trend_and_no_steps(kind, n, count):
    """In up to 5 and 3 percent of the series chance may look like one."""
    generator = np.random.default_rng(n)
    series = [20.0 + KINDS[kind](generator, n) for _ in range(count)]
    assert sum(trend(one).significant for one in series) <= 0.05 * count
    assert sum(bool(change_points(one)) for one in series) <= 0.03 * count


@pytest.mark.parametrize("share", [0.2, -0.1])
def test_the_slope_of_a_trend(share):
    n = 5000
    noise = autoregression(np.random.default_rng(1), n, 0.6)
    found = trend(1000 * (1 + share * np.linspace(-0.5, 0.5, n)) + 10 * noise)
    assert found.significant
    assert found.slope_share == pytest.approx(share, rel=0.1)


def test_spikes_do_not_move_a_trend():
    samples = np.linspace(1000, 1100, 1000)
    samples[-10:] = 1e9
    assert trend(samples).slope_share == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("values", [[], [1], [5] * 9, [5] * 1000])
def test_constant_samples_have_neither_trend_nor_step(values):
    series = np.array(values, dtype=float)
    assert trend(series) == (0.0, False)
    assert change_points(series) == []


@pytest.mark.parametrize("n", [400, 4000, 100_000])
def test_the_place_of_a_step(n):
    samples = 100 + autoregression(np.random.default_rng(2), n, 0.6)
    place = n // 3
    samples[place:] += 10
    (change,) = change_points(samples)
    assert abs(change.index - place) <= 3
    assert (change.before, change.after) == pytest.approx((100, 110), abs=0.5)


def test_a_temporary_level_has_two_changes():
    samples = 100 + autoregression(np.random.default_rng(3), 9000, 0.6)
    samples[3000:5000] *= 2.5
    away, back = change_points(samples)
    assert (away.index, back.index) == pytest.approx((3000, 5000), abs=5)
    assert away.after == pytest.approx(250, rel=0.02) == back.before


def test_changes_below_the_limit_are_left_out():
    samples = 1000 + autoregression(np.random.default_rng(2), 10_000, 0.6)
    samples[5000:] += 5
    assert len(change_points(samples)) == 1
    assert change_points(samples, least=0.01) == []


@given(
    nps.arrays(np.float64, st.integers(10, 120), elements=st.integers(-50, 50).map(float)),
    st.floats(10, 1000),
)
def test_the_partition_costs_no_more_than_that_of_ruptures(points, price):
    theirs = ruptures.KernelCPD(kernel="linear", min_size=5).fit(points[:, None]).predict(pen=price)

    def cost(ends):
        parts = np.split(points, ends)
        return sum(float(((p - p.mean()) ** 2).sum()) for p in parts) + price * len(ends)

    ours = partition(points, price)
    assert cost(ours) <= cost(theirs[:-1]) + 1e-6 * (1 + cost(ours))
    assert all(part.size >= 5 for part in np.split(points, ours))


# Over slices.


@pytest.mark.parametrize("k", [6, 10, 20])
def test_slices_that_only_vary_have_no_trend_and_no_change(k):
    generator = np.random.default_rng(k)
    drawn = [100 + 10 * generator.standard_normal(k) for _ in range(400)]
    assert np.mean([slice_trend(medians).significant for medians in drawn]) <= 0.02
    assert np.mean([level_change(medians, 0.05) is not None for medians in drawn]) <= 0.05


def test_a_step_in_the_middle_of_the_slices_is_a_change():
    medians = [100.0, 101, 99, 100, 110, 111, 109, 110, 112, 110]
    found = level_change(medians, 0.05)
    assert (found.index, found.before, found.after) == (4, 100.0, 110.0)
    assert level_change(medians[::-1], 0.05).index == 6
    assert level_change(medians, 0.2) is None
    # Two slices of ten may be the slowest by chance.
    assert level_change([*medians[:4], *medians[:4], 110, 111], 0.05) is None
    assert level_change(medians[2:6], 0.05) is None
