"""Trends, steps and slow beginnings: known ones are found, and noise has none."""

import numpy as np
import pytest
import ruptures
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.stats.drift import change_points, level_change, partition, slice_trend, trend
from halftrip.stats.settle import settled, settled_from
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
    # Spikes do not move it.
    samples = np.linspace(1000, 1000 * (1 + share), 1000)
    samples[-10:] = 1e9
    assert trend(samples).slope_share == pytest.approx(share / (1 + share / 2), rel=0.1)


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


def test_a_temporary_level_has_two_changes_and_small_ones_are_left_out():
    samples = 100 + autoregression(np.random.default_rng(3), 9000, 0.6)
    samples[3000:5000] *= 2.5
    away, back = change_points(samples)
    assert (away.index, back.index) == pytest.approx((3000, 5000), abs=5)
    assert away.after == pytest.approx(250, rel=0.02) == back.before
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


NS = 20_000


def ramp(generator, n, time_constant, start=0.0):
    """Times of 20 us, 30 % longer at first; `time_constant` and `start` are ms."""
    moments = start + 0.02 * np.arange(n)
    slower = 1 + 0.3 * np.exp(-moments / time_constant)
    return NS * slower * np.exp(0.02 * generator.standard_normal(n))


# Within a slice.


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kind", ["independent", "lognormal", "spikes", "correlated"])
def test_healthy_times_have_settled(kind, n):
    generator = np.random.default_rng([n, len(kind)])
    found = [settled(100 + KINDS[kind](generator, n), 0.0) for _ in range(300)]
    assert np.mean(found) >= 0.95


@pytest.mark.parametrize("time_constant", [0.5, 1, 2, 5])
def test_a_ramp_within_a_block_has_not_settled(time_constant):
    generator = np.random.default_rng(1)
    found = [settled(ramp(generator, 100, time_constant), 0.01) for _ in range(100)]
    assert np.mean(found) <= 0.05
    late = [settled(ramp(generator, 100, time_constant, 40.0), 0.01) for _ in range(100)]
    assert np.mean(late) >= 0.98


def test_a_difference_within_the_tolerance_is_settled():
    times = np.linspace(100.0, 101.0, 1000)
    assert settled(times, 0.01)
    assert not settled(times, 0.001)


# Over slices.


@pytest.mark.parametrize("k", [4, 6, 10, 20])
def test_healthy_slices_all_count(k):
    generator = np.random.default_rng(k)
    cut = [settled_from(100 + generator.standard_normal(k)) > 0 for _ in range(2000)]
    assert np.mean(cut) <= 0.0125


@pytest.mark.parametrize("time_constant", [20, 50, 100])
@pytest.mark.parametrize(("length", "apart"), [(30, 240), (30, 30), (3, 24), (3, 3)])
def test_a_slow_ramp_is_left_out(time_constant, length, apart):
    """Slices of that length, a slice each so many ms; at the most half of them."""
    generator = np.random.default_rng([time_constant, length, apart])
    for _ in range(20):
        medians = [
            float(np.median(ramp(generator, round(length / 0.02), time_constant, n * apart)))
            for n in range(10)
        ]
        start = settled_from(medians)
        left = [0.3 * np.exp(-n * apart / time_constant) for n in range(10)]
        # What still takes 2 % longer, if half of the slices do not.
        assert start >= min(4, sum(share > 0.02 for share in left))
        assert start <= 5


def test_a_single_slow_slice_at_the_beginning_is_left_out_but_no_step_of_a_clock():
    generator = np.random.default_rng(3)
    medians = 100 + 0.1 * generator.standard_normal(10)
    medians[0] += 15
    assert settled_from(medians) == 1
    assert settled_from(medians[::-1]) == 0
    # One that is faster is no warm-up.
    assert settled_from(200 - medians) == 0
    assert settled_from(medians[:3]) == 0
    assert settled_from([101.0, *[100.0] * 9]) == 0
    assert settled_from([101.0, 101.0, *[100.0] * 8]) == 0
    assert settled_from([110.0, *[100.0, 101.0] * 5]) == 1
