"""Whether times have settled: a slow beginning is seen, and healthy times are left alone."""

import numpy as np
import pytest

from halftrip.stats.settle import settled, settled_from
from harness.noise import KINDS

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


def test_a_single_slow_slice_at_the_beginning_is_left_out():
    generator = np.random.default_rng(3)
    medians = 100 + 0.1 * generator.standard_normal(10)
    medians[0] += 15
    assert settled_from(medians) == 1
    assert settled_from(medians[::-1]) == 0
    # One that is faster is no warm-up.
    assert settled_from(200 - medians) == 0
    assert settled_from(medians[:3]) == 0


def test_steps_of_a_coarse_clock_are_no_beginning():
    assert settled_from([101.0, *[100.0] * 9]) == 0
    assert settled_from([101.0, 101.0, *[100.0] * 8]) == 0
    assert settled_from([110.0, *[100.0, 101.0] * 5]) == 1
