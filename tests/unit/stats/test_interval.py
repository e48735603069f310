"""The interval over slices, or over launches. What is computed of many slices at once is that of
each by itself, to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import signal, stats

from halftrip.stats.interval import SliceMedian, between_medians, interval, of_samples
from halftrip.stats.median import median, median_interval
from halftrip.stats.quantile import long_run_variance, long_run_variances
from halftrip.stats.slices import medians, slice_medians, slice_times
from harness.noise import KINDS
from harness.runs import measurement

_TRIALS = 2000

values = st.floats(1, 1e6)
slices = st.builds(SliceMedian, values, st.just(math.nan) | st.floats(0, 1e5), st.floats(0, 1e4))


@settings(max_examples=50)
@given(st.lists(slices, max_size=40))
def test_the_interval_holds_the_median_and_half_a_step_on_either_side(of_configuration):
    found = interval(of_configuration)
    if len(of_configuration) < 2:
        assert found is None
        return
    latency = np.median([each.median for each in of_configuration])
    step = np.median([each.step for each in of_configuration])
    # Rounding apart: of a mean, by Student's t.
    slack = 1e-9 * max(each.median for each in of_configuration)
    assert found.low - slack <= max(0.0, latency - step / 2)
    assert found.high + slack >= latency + step / 2
    assert found.low >= 0


@pytest.mark.parametrize("k", [*range(6, 60), 1029, 1030, 5000])
def test_six_or_more_lie_between_order_statistics_that_reach_more_and_less(k):
    found = between_medians(np.arange(float(k)))
    outside = int(found.low)
    assert found.high == pytest.approx(k - 1 - found.low)
    assert 2 * stats.binom.cdf(outside, k, 0.5) <= 0.05 < 2 * stats.binom.cdf(outside + 1, k, 0.5)
    # In an order in which neighbours are less alike than by chance.
    apart = [n // 2 if n % 2 else k - 1 - n // 2 for n in range(k)]
    times = interval([SliceMedian(1e9 + n) for n in apart])
    assert times == pytest.approx((1e9 + found.low, 1e9 + found.high), abs=1e-3)


@pytest.mark.parametrize("k", [8, 10, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_slices_that_are_like_their_neighbours_are_known_less_well(k, correlation):
    """Of independent medians hardly less; of correlated ones it covers more than they would have
    by themselves, which is 88 % of those of 0.3, and 78 to 81 % of those of 0.5."""
    generator = np.random.default_rng(k)
    steps = generator.standard_normal((_TRIALS, k + 50)) * math.sqrt(1 - correlation**2)
    series = signal.lfilter([1.0], [1.0, -correlation], steps)[:, 50:]
    covered = 0
    for each in np.exp(0.01 * series):
        found = interval([SliceMedian(median) for median in each.tolist()])
        covered += found.low <= 1.0 <= found.high
    least = {0.0: 0.94, 0.3: 0.90, 0.5: 0.84}[correlation]
    assert least - 4 * math.sqrt(0.95 * 0.05 / _TRIALS) <= covered / _TRIALS <= 0.98


@pytest.mark.parametrize("k", [6, 7, 8, 10, 13, 20, 40])
@pytest.mark.parametrize("draw", ["normal", "exponential", "standard_cauchy"])
def test_the_interval_of_six_or_more_covers_as_often_as_it_says(k, draw):
    generator = np.random.default_rng(k)
    true = math.log(2) if draw == "exponential" else 0.0
    covered = 0
    for _ in range(_TRIALS):
        found = between_medians(np.sort(getattr(generator, draw)(size=k)))
        covered += found.low <= true <= found.high
    # 94 to 96 %, and four standard errors of so few trials.
    slack = 4 * math.sqrt(0.95 * 0.05 / _TRIALS)
    assert 0.94 - slack <= covered / _TRIALS <= 0.96 + slack


@pytest.mark.parametrize("k", range(2, 6))
def test_two_to_five_use_students_t(k):
    medians = [3.0, 5.0, 4.0, 7.0, 1.0][:k]
    logs = np.log(medians)
    low, high = np.exp(stats.t.interval(0.95, k - 1, np.mean(logs), stats.sem(logs)))
    assert interval([SliceMedian(m) for m in medians]) == pytest.approx((low, high))
    assert interval([SliceMedian(m) for m in [0.0, *medians[1:]]]) is None


def test_slices_that_agree_by_chance_are_not_known_better_than_within():
    alike = [SliceMedian(100.0, 4.0)] * 16
    # Half of 4 / sqrt(16) on either side.
    assert interval(alike) == (99.5, 100.5)
    assert interval([SliceMedian(100.0, math.nan)] * 16) == (100.0, 100.0)
    some = [*[SliceMedian(100.0, 4.0)] * 8, *[SliceMedian(100.0)] * 8]
    assert interval(some) == (99.5, 100.5)


@pytest.mark.parametrize(("middle", "step"), [(80.0, 42.0), (20_000.0, 180.0)])
def test_an_interval_of_coarse_times_is_never_narrower_than_the_step(middle, step):
    """Nor is its coverage less than promised: rounded down to the clock before and after."""
    generator = np.random.default_rng(2)
    hits = 0
    for _ in range(100):
        of_configuration = []
        for _ in range(6):
            exact = middle * np.exp(0.001 * generator.standard_normal(300))
            begin = step * generator.random() + np.concatenate(([0.0], np.cumsum(exact)))
            times = np.diff(np.floor(begin / step) * step)
            of_configuration.append(of_samples(times))
        found = interval(of_configuration)
        assert found.high - found.low >= 0.99 * step
        hits += found.low <= middle <= found.high
    assert hits >= 95


def test_a_slice_has_the_median_its_interval_and_its_step():
    times = np.random.default_rng(3).normal(1000, 10, 999)
    found = of_samples(times)
    assert found.median == np.median(times)
    within = median_interval(times)
    assert found.half_width == max(within.high - found.median, found.median - within.low)
    assert 0 <= found.step < 1
    assert of_samples(np.round(times / 7) * 7).step == pytest.approx(7)
    # Of samples that are all equal none is told.
    assert of_samples(np.full(30, 84.0)).step == 0
    assert of_samples(np.full(30, 84.0), unit=0.5).step == 0.5
    single = of_samples(np.array([84.0]))
    assert (single.median, single.step) == (84.0, 0.0)
    assert math.isnan(single.half_width)


# Whole times over some number of messages: many ties, some, and none.
slices_of_a_size = st.tuples(st.integers(1, 6), st.integers(1, 60)).flatmap(
    lambda shape: st.one_of(
        nps.arrays(np.int64, shape, elements=st.integers(0, most)) for most in (3, 50, 10**9)
    )
)


@given(slices_of_a_size, st.integers(1, 40), st.booleans())
def test_medians_of_many_slices_are_those_of_each(times, messages, within):
    each = times / messages
    expected = [of_samples(row, within=within) for row in each]
    np.testing.assert_array_equal(slice_medians(each, within), expected)


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0, 1e6), min_size=1, max_size=9), max_size=30))
def test_the_medians_of_many_series_are_those_of_each(series):
    assert [*medians(series)] == [median(each) for each in series]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 7, 40, 333])
def test_long_run_variances_are_those_of_each_row(kind, n):
    generator = np.random.default_rng(n)
    series = np.array([KINDS[kind](generator, n) for _ in range(5)] + [np.ones(n)])
    assert long_run_variances(series) == [long_run_variance(row) for row in series]


def test_slices_of_other_lengths_and_without_samples_keep_their_places():
    measured = [
        measurement(samples=np.random.default_rng(n).integers(900, 1100, n), rtts=(100.0 + n, 101))
        for n in (40, 0, 500, 40, 8, 40, 40)
    ]
    for within in (True, False):
        found = slice_times(measured, within)
        assert found[1] is None
        for each, times in zip(measured, found, strict=True):
            if times is not None:
                np.testing.assert_array_equal(times.times, each.one_way_times)
                expected = of_samples(each.one_way_times, within=within)
                np.testing.assert_array_equal(times.median, expected)
                assert times.rtt == (each.core_to_core_rtts[0] + 101) / 2
