"""The sampler, fed with made times: it must end, and end well, on any path."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.control.watchdog import GRACE_SECONDS
from halftrip.measure.sampler import (
    CLOCK_SHARE,
    LONGEST_CALL_NS,
    MOST_SAMPLES,
    Batch,
    Sampler,
    Stopping,
)
from halftrip.stats.median import half_width

CLOCK_COST = 20.0
MOST_BATCHES = 10_000


def run(stopping, exchange, clock_cost=CLOCK_COST, **options):
    """Feeds a sampler until it is content. `exchange(i, n)` gives the times of n exchanges from the
    i-th on, ns. Returns the sampler and its batches."""
    sampler = Sampler(stopping, clock_cost, 1.0, **options)
    batches, done = [], 0
    for _ in range(MOST_BATCHES):
        batch = sampler.next()
        if batch is None:
            return sampler, batches
        batches.append(batch)
        done += batch.lead
        times = exchange(done, batch.exchanges * batch.samples)
        done += batch.exchanges * batch.samples
        per_sample = times.reshape(batch.samples, batch.exchanges).sum(axis=1)
        sampler.feed(np.rint(per_sample).astype(np.int64))
    pytest.fail("the sampler never ends")


def steady(ns):
    return lambda start, count: np.full(count, float(ns))


def noisy(ns, spread=0.1, seed=1):
    generator = np.random.default_rng(seed)
    return lambda start, count: ns * generator.lognormal(0, spread, count)


def settling(ns, extra, length):
    """A cold start that fades: the first `length` exchanges take up to `extra` times longer."""
    return lambda start, count: ns * (1 + extra * np.exp(-np.arange(start, start + count) / length))


@given(st.floats(1.0, 1e9), st.floats(1, 100))
@settings(max_examples=60)
def test_it_ends_on_any_steady_path_and_is_content(ns, clock_cost):
    # No more than a few thousand exchanges have to be made up, whatever ns.
    stopping = Stopping(ci=0.01, time=max(1e-9 * ns * 100, 1e-4))
    sampler, batches = run(stopping, steady(ns), clock_cost)
    assert sampler.stopped == "converged"
    assert sampler.warm_up.settled
    assert batches[0] == Batch(exchanges=1, samples=1, lead=0, cold=True)
    assert sampler.first == round(ns)
    assert not any(batch.cold for batch in batches[1:])
    # The clock takes at most its share of a sample; a sample of one exchange needs no more.
    assert sampler.samples.min() >= 0.99 * clock_cost / CLOCK_SHARE or sampler.exchanges > 1
    if ns >= clock_cost / CLOCK_SHARE:
        assert sampler.exchanges == 1


@given(st.floats(50, 1e6), st.floats(0.01, 0.8), st.integers(0, 10))
@settings(max_examples=30, deadline=None)
def test_what_converged_is_within_the_target(ns, spread, seed):
    stopping = Stopping(ci=0.02, time=1e-9 * ns * 5000)
    sampler, _ = run(stopping, noisy(ns, spread, seed))
    if sampler.stopped == "converged":
        assert half_width(sampler.samples) <= 0.02
    else:
        assert sampler.stopped == "time"
        assert sampler.samples.sum() >= 0.9 * stopping.time * 1e9


def test_without_a_target_only_time_ends_it():
    sampler, _ = run(Stopping(ci=None, time=0.01), steady(5000.0))
    assert sampler.stopped == "time"
    assert sampler.samples.sum() == pytest.approx(1e7, rel=0.01)


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1000, 12345])
@pytest.mark.parametrize("ns", [100.0, 5000.0])
def test_a_count_is_a_count(count, ns):
    sampler, _ = run(Stopping(iterations=count), noisy(ns))
    timed = sampler.samples.size * sampler.exchanges
    assert sampler.stopped == "count"
    # Rounded up to whole batches, so by less than one exchange in each.
    assert count <= timed < count + sampler.samples.size
    if ns == 5000.0:
        assert timed == count


def test_a_large_count_makes_no_more_samples_than_can_be_kept():
    sampler = Sampler(Stopping(iterations=10 * MOST_SAMPLES), CLOCK_COST, 1.0)
    while (batch := sampler.next()) is not None and not sampler.warm_up.settled:
        sampler.feed(np.full(batch.samples, 5000 * batch.exchanges, dtype=np.int64))
    assert sampler.exchanges == 10


def test_the_cold_start_is_kept_and_not_sampled():
    sampler, _ = run(Stopping(ci=0.01, time=0.05), settling(2500.0, extra=20, length=50))
    assert sampler.first == pytest.approx(21 * 2500, rel=0.01)
    assert sampler.warm_up.settled
    assert np.median(sampler.samples) == pytest.approx(2500, rel=0.02)


def test_warm_up_lasts_as_long_as_the_drift():
    short, _ = run(Stopping(time=0.3), settling(2500.0, extra=1, length=100))
    long, _ = run(Stopping(time=0.3), settling(2500.0, extra=1, length=5000))
    assert long.warm_up.exchanges > 5 * short.warm_up.exchanges
    assert long.warm_up.settled


def test_a_drift_without_end_is_said_to_be_one():
    def drifting(start, count):
        return 2500.0 * (1 + np.arange(start, start + count) / 300)

    sampler, _ = run(Stopping(ci=0.01, time=0.05), drifting)
    assert not sampler.warm_up.settled
    assert sampler.stopped == "time"


def test_a_slow_path_is_not_asked_for_much():
    # 0.2 s for one exchange, 0.3 s allowed.
    sampler, batches = run(Stopping(time=0.3), steady(2e8))
    assert sum(batch.lead + batch.exchanges * batch.samples for batch in batches) <= 12
    assert sampler.samples.size >= 1


def test_the_interval_is_looked_at_a_few_times_only():
    _, batches = run(Stopping(ci=None, time=0.3), steady(2500.0))
    assert len(batches) < 30


def test_a_call_is_over_before_a_stop_becomes_a_kill():
    _, batches = run(Stopping(ci=None, time=20), steady(20e6))
    longest = max(batch.samples * batch.exchanges * 20e6 for batch in batches)
    assert longest <= LONGEST_CALL_NS
    assert LONGEST_CALL_NS * 1e-9 <= GRACE_SECONDS / 2


@pytest.mark.parametrize("ns", [30.0, 300.0, 1900.0])
@pytest.mark.parametrize("length", [1, 5, 50, 500])
def test_the_clock_takes_its_share_of_a_sample_however_cold_the_start_was(ns, length):
    sampler, _ = run(Stopping(ci=0.01, time=0.3), settling(ns, extra=100, length=length))
    assert np.median(sampler.samples) >= CLOCK_COST / CLOCK_SHARE
    assert np.median(sampler.samples) / sampler.exchanges == pytest.approx(ns, rel=0.05)
    assert sampler.warm_up.settled


def test_a_cold_start_under_a_coarse_clock_ends_in_samples_that_it_can_tell():
    exchange = settling(300.0, extra=1000, length=5)
    sampler = Sampler(Stopping(ci=0.01, time=0.05), 20.0, 1000.0)
    batches, done = 0, 0
    while (batch := sampler.next()) is not None:
        times = exchange(done, batch.exchanges * batch.samples)
        done += batch.exchanges * batch.samples
        per_sample = times.reshape(batch.samples, batch.exchanges).sum(axis=1)
        sampler.feed((per_sample // 1000 * 1000).astype(np.int64))
        batches += 1
        assert batches < 1000
    assert np.median(sampler.samples) >= 0.9 * 1000 / CLOCK_SHARE


def test_a_cold_start_does_not_make_more_samples_than_can_be_kept(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampler, _ = run(Stopping(ci=None, time=0.05), settling(2500.0, extra=20, length=50))
    assert sampler.samples.size <= 1010


def test_a_path_that_has_slowed_down_gets_shorter_calls():
    sampler = Sampler(Stopping(ci=None, time=10), CLOCK_COST, 1.0)
    while (batch := sampler.next()) is not None and sampler.samples.size == 0:
        times = np.full(batch.samples, 2500)
        if sampler.warm_up.settled:
            times[-10:] = 2_500_000
        sampler.feed(times)
    assert batch.samples * 2_500_000 <= LONGEST_CALL_NS


def test_a_coarse_clock_makes_longer_batches():
    fine = Sampler(Stopping(), 20.0, 1.0)
    coarse = Sampler(Stopping(), 20.0, 1000.0)
    for sampler, _ in itertools.product((fine, coarse), range(30)):
        batch = sampler.next()
        if batch is not None:
            sampler.feed(np.full(batch.samples, 200 * batch.exchanges, dtype=np.int64))
    assert coarse.exchanges * 200 >= 100_000
    assert fine.exchanges * 200 >= 2_000


def test_more_is_not_taken_when_it_is_over():
    sampler, _ = run(Stopping(iterations=3), steady(5000.0))
    with pytest.raises(RuntimeError, match="over"):
        sampler.feed(np.array([1]))


@pytest.mark.parametrize("expected_ns", [None, 1.0, 90.0, 1e6])
def test_what_was_expected_of_an_exchange_only_says_where_calibration_begins(expected_ns):
    """However wrong: a first row is no longer, and the batch comes out the same."""
    sampler = Sampler(Stopping(ci=None, time=0.01), 20.0, 1.0, expected_ns=expected_ns)
    batches = []
    while (batch := sampler.next()) is not None:
        batches.append(batch.exchanges * batch.samples)
        sampler.feed(np.full(batch.samples, 100 * batch.exchanges, dtype=np.int64))
    assert sampler.exchanges == 100
    assert batches[0] == 1
    # Before warm-up, no batch is longer than a hundred of the clock's readings need.
    assert batches[1] <= 3 * 2000


def lossy(stopping, lost, ns=20_000.0, waited=10_000_000, batches=5000):
    """Feeds a sampler from a path that loses each exchange with the probability `lost`, whereupon
    it waits so many ns in vain. Returns the sampler, its batches, and the time that all took."""
    dice = np.random.default_rng(1)
    sampler = Sampler(stopping, CLOCK_COST, 1.0, single=True)
    asked, spent = [], 0.0
    for _ in range(batches):
        batch = sampler.next()
        if batch is None:
            return sampler, asked, spent
        asked.append(batch)
        answered = int((dice.random(batch.samples) >= lost).sum())
        vain = (batch.samples - answered) * waited
        times = np.rint(ns * dice.lognormal(0, 0.1, answered)).astype(np.int64)
        spent += times.sum() + vain
        sampler.feed(times, vain)
    pytest.fail("the sampler never ends")


@pytest.mark.parametrize("lost", [0.0, 0.001, 0.1, 0.5, 0.9])
def test_time_that_was_waited_in_vain_counts(lost):
    sampler, asked, spent = lossy(Stopping(ci=None, time=0.3), lost)
    assert sampler.stopped == "time"
    assert sampler.samples.size > 0
    assert {batch.exchanges for batch in asked} == {1}
    assert spent < 2e9


@pytest.mark.parametrize("lost", [0.0, 0.3, 0.9])
def test_a_count_is_one_of_answers(lost):
    sampler, _, _ = lossy(Stopping(iterations=200), lost)
    assert sampler.stopped == "count"
    assert sampler.samples.size == 200


def test_a_batch_that_is_all_lost_is_asked_for_again():
    sampler = Sampler(Stopping(), CLOCK_COST, 1.0, single=True)
    none = np.empty(0, dtype=np.int64)
    for _ in range(3):
        assert sampler.next() == Batch(exchanges=1, samples=1, lead=0, cold=True)
        sampler.feed(none, 10**9)
    sampler.feed(np.array([5]))
    assert sampler.first == 5


def test_an_exchange_that_must_be_single_stays_so_however_short():
    sampler = Sampler(Stopping(time=0.001), 1000.0, 1000.0, single=True)
    while (batch := sampler.next()) is not None:
        assert batch.exchanges == 1
        sampler.feed(np.full(batch.samples, 50, dtype=np.int64))


@given(
    st.floats(1.0, 1e7),
    st.integers(2, 300),
    st.one_of(st.none(), st.integers(1, 2000)),
    st.floats(1, 100),
)
@settings(max_examples=60, deadline=None)
def test_no_batch_has_more_exchanges_than_it_may(ns, most, iterations, clock_cost):
    stopping = Stopping(ci=None, time=1e-9 * ns * most * 20, iterations=iterations)
    sampler, batches = run(stopping, steady(ns), clock_cost, most_exchanges=most)
    assert all(batch.lead + batch.exchanges * batch.samples <= most for batch in batches)
    kept = sum(batch.exchanges * batch.samples for batch in batches if batch.keep)
    assert sampler.samples.size * sampler.exchanges == kept
    if iterations is not None:
        assert kept >= iterations


def test_the_interval_is_worked_out_now_and_then_however_short_the_batches(monkeypatch):
    looks = []

    def look(samples):
        looks.append(samples.size)
        return half_width(samples)

    monkeypatch.setattr("halftrip.measure.sampler.half_width", look)
    _, batches = run(Stopping(ci=1e-9, time=0.01), noisy(1000), most_exchanges=11)
    assert len(batches) > 100
    assert len(looks) < 30


@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize("stopping", [Stopping(ci=None, time=3600), Stopping(iterations=5000)])
def test_of_single_exchanges_no_more_are_kept_than_can_be(monkeypatch, stopping, lost):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampler, asked, _ = lossy(stopping, lost)
    assert sampler.stopped == "full"
    assert sampler.samples.size == 1000
    assert {batch.exchanges for batch in asked} == {1}


def test_a_count_that_can_just_be_kept_is_a_count(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampler, _, _ = lossy(Stopping(iterations=1000), 0.1)
    assert (sampler.stopped, sampler.samples.size) == ("count", 1000)


def test_a_path_that_is_slow_enough_has_all_the_time(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampler, _, _ = lossy(Stopping(ci=None, time=0.015), 0.0)
    assert sampler.stopped == "time"
    assert 0.014 < sampler.samples.sum() * 1e-9 < 0.017


def test_a_case_that_ends_because_time_is_up_is_looked_at_once_more():
    """However much there was when the interval was last worked out."""
    ended = []
    for seed in range(40):
        stopping = Stopping(ci=0.02, time=0.001)
        sampler, _ = run(stopping, noisy(2000, 0.16, seed))
        ended.append(sampler.stopped)
        assert (sampler.stopped == "time") == (half_width(sampler.samples) > 0.02)
    assert {"time", "converged"} <= set(ended)


def test_what_is_forgotten_takes_back_what_was_waited_for_it():
    sampler = Sampler(Stopping(ci=None, time=0.1), CLOCK_COST, 1.0, single=True)
    while not (batch := sampler.next()).keep:
        sampler.feed(np.full(batch.samples, 100_000, dtype=np.int64))
    # Nearly all the time goes into waiting.
    sampler.feed(np.full(10, 100_000, dtype=np.int64), waited=98_000_000)
    sampler.forget(0)
    assert sampler.samples.size == 0
    while (batch := sampler.next()) is not None:
        sampler.feed(np.full(batch.samples, 100_000, dtype=np.int64))
    assert sampler.stopped == "time"
    assert sampler.samples.sum() >= 0.09e9


@pytest.mark.parametrize("most", [2, 3, 7])
def test_a_count_beyond_what_is_usually_kept_makes_no_longer_batches(monkeypatch, most):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 50)
    sampler, batches = run(Stopping(iterations=900), steady(300), most_exchanges=most)
    assert all(batch.lead + batch.exchanges * batch.samples <= most for batch in batches)
    assert sampler.samples.size * sampler.exchanges >= 900
