"""The sampler where replies are lost, batches are rejected, or the size of batches is limited."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.measure.batch import Batch, Sampled, Stopping
from halftrip.measure.sampler import LONGEST_CALL_NS
from halftrip.stats.median import half_width
from harness.sampling import Sampling, noisy, sample, steady


def lossy(stopping, lost, ns=20_000.0, timeout=10_000_000, iterations=None):
    """A sampling, on a path that loses each iteration with the probability `lost` and then waits
    for `timeout` ns, and the time that all batches took, ns."""
    dice = np.random.default_rng(1)
    spent = 0.0

    def take(batch):
        nonlocal spent
        answered = int((dice.random(batch.samples) >= lost).sum())
        timed_out = (batch.samples - answered) * timeout
        times = np.rint(ns * dice.lognormal(0, 0.1, answered))
        spent += times.sum() + timed_out
        return times, timed_out

    sampling = Sampling(stopping, single=True, iterations=iterations).run(take)
    return sampling, spent


@pytest.mark.parametrize("lost", [0.0, 0.1, 0.3, 0.9])
def test_time_that_timed_out_counts_and_a_count_is_of_answered_iterations(lost):
    sampling, spent = lossy(Stopping(ci=None, time=0.3), lost)
    assert sampling.sampler.stopped == "time"
    assert sampling.samples.size > 0
    assert {batch.iterations for batch in sampling.batches} == {1}
    assert spent < 2e9
    sampling, _ = lossy(Stopping(), lost, iterations=200)
    assert (sampling.sampler.stopped, sampling.samples.size) == ("count", 200)


def test_a_batch_that_is_all_lost_is_requested_again():
    sampling = Sampling(Stopping(), single=True)
    for _ in range(3):
        batch = sampling.next()
        assert batch == Batch(iterations=1, samples=1, untimed=0, cold=True)
        sampling.give(batch, [], 10**9)
    sampling.give(sampling.next(), [5])
    assert sampling.sampler.first == 5


@pytest.mark.parametrize(
    ("stopping", "options", "stopped"),
    [
        (Stopping(), {"most_iterations": 3, "iterations": 200}, "count"),
        (Stopping(ci=None), {"single": True}, "full"),
    ],
)
def test_samples_that_a_coarse_clock_reads_as_zero_are_samples(
    monkeypatch, stopping, options, stopped
):
    """Where a sample may not hold enough iterations for the clock."""
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampling = sample(stopping, steady(300), read=np.zeros_like, clock_resolution=1e6, **options)
    assert sampling.sampler.stopped == stopped
    assert set(sampling.samples.tolist()) == {0}


@given(
    st.floats(1.0, 1e7),
    st.integers(2, 300),
    st.one_of(st.none(), st.integers(1, 2000)),
    st.floats(1, 100),
)
@settings(max_examples=30)
def test_no_batch_has_more_iterations_than_it_may(ns, most, iterations, clock_cost):
    stopping = Stopping(ci=None, time=1e-9 * ns * most * 20)
    sampling = sample(stopping, steady(ns), clock_cost, most_iterations=most, iterations=iterations)
    assert all(batch.total_iterations <= most for batch in sampling.batches)
    kept = sum(batch.iterations * batch.samples for batch in sampling.batches if batch.keep)
    assert sampling.samples.size * sampling.sampler.iterations == kept
    if iterations is not None:
        assert kept >= iterations


@pytest.mark.parametrize("lost", [0.0, 0.3])
@pytest.mark.parametrize("iterations", [None, 5000])
def test_single_iterations_end_when_the_most_samples_are_kept(monkeypatch, iterations, lost):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampling, _ = lossy(Stopping(ci=None, time=3600), lost, iterations=iterations)
    assert sampling.sampler.stopped == "full"
    assert sampling.samples.size == 1000
    assert {batch.iterations for batch in sampling.batches} == {1}


# Rejected batches.


def warmed(stopping, ns=100_000, **options):
    """A sampling whose next batch is the first to be kept."""
    sampling = Sampling(stopping, **options)
    while not (batch := sampling.next()).keep:
        sampling.give(batch, np.full(batch.samples, ns * batch.iterations))
    return sampling, batch


def test_a_rejected_batch_takes_back_the_time_that_it_timed_out():
    sampling, batch = warmed(Stopping(ci=None, time=0.1), single=True)
    # Nearly all the time goes into waiting.
    sampling.give(batch, np.full(10, 100_000), timed_out=98_000_000)
    rejected = sampling.kept.pop()
    times = np.full(10, 100_000)
    latest = Sampled(times)
    sampling.kept.append(latest)
    sampling.sampler.keep(latest, sampling.kept, [rejected])
    sampling.run(lambda batch: (np.full(batch.samples, 100_000), 0))
    assert sampling.sampler.stopped == "time"
    assert sampling.samples.sum() >= 0.09e9


def test_a_rejected_batch_does_not_count_and_is_requested_again():
    sampling, batch = warmed(Stopping(), ns=5000, iterations=50)
    for _ in range(3):
        latest = Sampled(np.full(batch.samples, 5000))
        sampling.sampler.keep(latest, [], [latest])
        assert sampling.next() == batch
    sampling.run(lambda batch: (np.full(batch.samples, 5000), 0))
    assert (sampling.sampler.stopped, sampling.samples.size) == ("count", 50)


@pytest.mark.parametrize("kept", [0, 1])
def test_after_too_much_was_rejected_the_sampler_gives_up(kept):
    """20 times the time allowed. It stops with a reason only if something was kept."""
    sampling, batch = warmed(Stopping(ci=None, time=0.1))
    for _ in range(kept):
        sampling.give(batch, np.full(10, 100_000))
    block = Sampled(np.full(1000, 100_000))
    for count in range(20):
        assert not sampling.sampler.gave_up
        assert sampling.next().keep
        sampling.sampler.keep(block, sampling.kept, [block])
        assert sampling.sampler.gave_up == (count == 19)
    assert sampling.next() is None
    assert sampling.sampler.stopped == ("time" if kept else None)


def test_the_interval_is_computed_anew_after_earlier_batches_were_rejected(monkeypatch):
    """The last one was computed from samples that no longer count."""
    looks = []

    def look(samples):
        looks.append(samples.size)
        return half_width(samples)

    monkeypatch.setattr("halftrip.measure.kept_blocks.half_width", look)
    # With so much spread that 300 samples are not enough.
    times = noisy(100_000, 1.0)
    sampling, batch = warmed(Stopping(ci=0.001, time=0.1))
    sampling.give(batch, times(0, 300))
    assert looks == [300]
    early, latest = sampling.kept.pop(), Sampled(np.full(150, 100_000))
    sampling.kept.append(latest)
    sampling.sampler.keep(latest, sampling.kept, [early])
    # A tenth of the time allowed is enough to look, though there was more at the last look.
    assert looks == [300, 150]
    assert sampling.sampler.stopped == "converged"


def test_a_fixed_warm_up_is_of_answered_iterations():
    sampling, _ = lossy(Stopping(time=0.3, warmup=50), 0.5)
    # Calibration has three samples at most.
    assert 50 <= sampling.sampler.warm_up.iterations <= 53


@pytest.mark.parametrize("fixed", [None, 10_000])
@pytest.mark.parametrize(("fast", "every"), [(2, 3), (60, 120)])
def test_where_times_are_of_two_levels_no_call_is_much_longer_than_it_may(fixed, fast, every):
    """Some iterations of so many take 5 ms: the median is that of the others; and where many of one
    kind follow each other, a batch may have the fast ones only."""
    sampling = Sampling(Stopping(ci=None, time=0.2), single=True, iterations=fixed)
    # It begins with slow ones.
    longest, done = [], fast

    def take(batch):
        nonlocal done
        times = np.where((done + np.arange(batch.samples)) % every < fast, 100, 5_000_000)
        done += batch.samples
        longest.append(times.sum())
        return times, 0

    sampling.run(take)
    assert max(longest) < 2 * LONGEST_CALL_NS
