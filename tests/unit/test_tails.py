"""Tails: what is fed is what is answered, within the error promised, in bounded memory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.stats.quantile import quantile_interval
from halftrip.stats.tails import RELATIVE_ERROR, Tail

times = nps.arrays(np.int64, st.integers(1, 300), elements=st.integers(0, 10**12))
shares = st.floats(0.0, 1.0)


def fed(*blocks, **options):
    tail = Tail(**options)
    for block in blocks:
        tail.feed(block)
    return tail


@given(times, shares)
def test_few_samples_are_answered_exactly(values, q):
    tail = fed(values)
    assert tail.quantile(q) == np.quantile(values, q)
    assert (tail.count, tail.max) == (values.size, values.max())
    if 0 < q < 1:
        assert tail.interval(q) == quantile_interval(values, q)


@given(times, times, shares)
def test_many_samples_are_answered_within_the_error(first, second, q):
    tail = fed(first, second, most_raw=0)
    both = np.concatenate((first, second))
    truth = float(np.quantile(both, q, method="lower"))
    assert tail.quantile(q) == pytest.approx(truth, rel=RELATIVE_ERROR * 1.0001)
    assert (tail.count, tail.max) == (both.size, both.max())


@given(times, times, shares, st.integers(0, 1000))
def test_a_merged_tail_is_that_of_both(first, second, q, most_raw):
    merged = fed(first, most_raw=most_raw).merge(fed(second, most_raw=most_raw))
    both = np.concatenate((first, second))
    truth = np.quantile(both, q, method="lower"), np.quantile(both, q, method="higher")
    assert truth[0] * (1 - 0.0051) <= merged.quantile(q) <= truth[1] * (1 + 0.0051)
    assert (merged.count, merged.max) == (both.size, both.max())


def test_merging_leaves_both_as_they_were_and_goes_on():
    one, other = fed(np.arange(50), most_raw=20), fed(np.arange(10), most_raw=20)
    merged = one.merge(other)
    merged.feed(np.full(1000, 7))
    assert (one.count, other.count, merged.count) == (50, 10, 1060)
    assert other.quantile(0.5) == 4.5
    assert merged.quantile(0.5) == pytest.approx(7, rel=RELATIVE_ERROR)


def test_tails_of_different_errors_are_not_merged():
    with pytest.raises(ValueError, match="different errors"):
        Tail(error=0.01).merge(Tail(error=0.02))


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(wrong):
    with pytest.raises(ValueError, match="a time is"):
        Tail().feed(np.array([1.0, wrong, 2.0]))


def test_the_interval_of_a_histogram_is_near_that_of_the_samples():
    values = np.random.default_rng(1).lognormal(8, 1, 50_000)
    for q in (0.5, 0.99, 0.999):
        exact, binned = quantile_interval(values, q), fed(values, most_raw=0).interval(q)
        assert exact is not None
        assert binned is not None
        assert binned.low == pytest.approx(exact.low, rel=0.1)
        assert binned.high == pytest.approx(exact.high, rel=0.1)


def test_a_burst_widens_the_interval_of_a_histogram():
    generator = np.random.default_rng(2)
    values = generator.normal(1000, 10, 100_000)
    late = generator.random(100_000) < 0.02
    spread, burst = values + 500 * late, values + 500 * np.sort(late)
    even, uneven = (fed(v, most_raw=0).interval(0.99) for v in (spread, burst))
    assert even is not None
    assert uneven is None or uneven.low < even.low - 100


def test_memory_stays_bounded_however_long_it_runs():
    tail = Tail(most_raw=1000)
    generator = np.random.default_rng(3)
    sizes = []
    for _ in range(200):
        tail.feed(generator.lognormal(8, 2, 5000))
        sizes.append(tail.nbytes)
    assert tail.count == 1_000_000
    assert max(sizes) < 4e6
    assert sizes[-1] < 1.5 * sizes[20]


def test_nothing_fed_is_nothing_known():
    tail = fed(np.empty(0))
    assert math.isnan(tail.quantile(0.5))
    assert tail.interval(0.5) is None
    assert tail.beyond_max() == 1


def test_three_in_n_may_be_beyond_the_slowest():
    assert fed(np.arange(1000)).beyond_max() == pytest.approx(3 / 1000, rel=0.01)
