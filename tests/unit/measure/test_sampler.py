"""The sampler with made-up times: on any path it ends, with enough samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.control.watchdog import GRACE_SECONDS
from halftrip.measure.batch import CLOCK_SHARE, Batch, Stopping, untimed_iterations
from halftrip.measure.sampler import LONGEST_CALL_NS
from halftrip.results.records import WarmUp
from halftrip.stats.median import half_width
from harness.sampling import CLOCK_COST, Sampling, noisy, sample, settling, steady


@given(st.floats(1.0, 1e9), st.floats(1, 100))
@settings(max_examples=30)
def test_a_steady_path_converges(ns, clock_cost):
    # No more than a few thousand iterations have to be made up, whatever ns.
    stopping = Stopping(ci=0.01, time=max(1e-9 * ns * 100, 1e-4))
    sampling = sample(stopping, steady(ns), clock_cost)
    sampler, batches = sampling.sampler, sampling.batches
    assert sampler.stopped == "converged"
    assert sampler.warm_up.settled
    assert batches[0] == Batch(iterations=1, samples=1, untimed=0, cold=True)
    assert sampler.first == round(ns)
    assert not any(batch.cold for batch in batches[1:])
    # The clock takes at most its share of a sample; a sample of one iteration needs no more.
    assert sampling.samples.min() >= 0.99 * clock_cost / CLOCK_SHARE or sampler.iterations > 1
    if ns >= clock_cost / CLOCK_SHARE:
        assert sampler.iterations == 1


@given(st.floats(50, 1e6), st.floats(0.01, 0.8), st.integers(0, 10))
@settings(max_examples=30)
def test_a_slice_that_converged_has_half_the_requested_interval(ns, spread, seed):
    stopping = Stopping(ci=0.02, time=1e-9 * ns * 5000)
    sampling = sample(stopping, noisy(ns, spread, seed))
    if sampling.sampler.stopped == "converged":
        assert half_width(sampling.samples) <= 0.01
    else:
        assert sampling.sampler.stopped == "time"
        assert sampling.samples.sum() >= 0.9 * stopping.time * 1e9


def test_an_endless_drift_has_not_settled_and_long_iterations_have():
    def drifting(start, count):
        return 2500.0 * (1 + np.arange(start, start + count) / 300)

    sampler = sample(Stopping(ci=0.01, time=0.05), drifting).sampler
    assert not sampler.warm_up.settled
    assert sampler.stopped == "time"
    # Of iterations longer than a call may be, each block of warm-up is a single sample.
    sampling = sample(Stopping(ci=None, time=60), steady(0.4e9))
    assert sampling.sampler.warm_up.settled
    assert sampling.sampler.warm_up.iterations < 10
    # 0.2 s for one iteration, 0.3 s allowed.
    sampling = sample(Stopping(time=0.3), steady(2e8))
    assert sum(batch.total_iterations for batch in sampling.batches) <= 12
    assert sampling.samples.size >= 1


def test_calls_are_shorter_than_half_the_grace_period_and_shorter_after_a_path_has_slowed_down():
    batches = sample(Stopping(ci=None, time=20), steady(20e6)).batches
    longest = max(batch.samples * batch.iterations * 20e6 for batch in batches)
    # Blocks grow, so that there are few.
    assert len(batches) < 300
    assert longest <= LONGEST_CALL_NS
    assert LONGEST_CALL_NS * 1e-9 <= GRACE_SECONDS / 2
    sampling = Sampling(Stopping(ci=None, time=10))
    while (batch := sampling.next()) is not None and not sampling.kept:
        times = np.full(batch.samples, 2500)
        if sampling.sampler.warm_up.settled:
            times[-10:] = 2_500_000
        sampling.give(batch, times)
    assert batch.samples * 2_500_000 <= LONGEST_CALL_NS


@pytest.mark.parametrize("ns", [30.0, 1900.0])
@pytest.mark.parametrize("length", [1, 50, 500])
def test_after_any_cold_start_samples_are_long_enough_for_the_clock(ns, length):
    # The longest cold start takes 0.1 s.
    sampling = sample(Stopping(ci=0.01, time=0.6), settling(ns, extra=100, length=length))
    assert np.median(sampling.samples) >= CLOCK_COST / CLOCK_SHARE
    assert np.median(sampling.samples) / sampling.sampler.iterations == pytest.approx(ns, rel=0.05)
    assert sampling.sampler.warm_up.settled


def test_after_a_cold_start_samples_are_long_enough_for_a_coarse_clock():
    sampling = sample(
        Stopping(ci=0.01, time=0.05),
        settling(300.0, extra=1000, length=5),
        read=lambda times: times // 1000 * 1000,
        clock_resolution=1000.0,
    )
    assert len(sampling.batches) < 1000
    assert np.median(sampling.samples) >= 0.9 * 1000 / CLOCK_SHARE


@pytest.mark.parametrize("expected_ns", [None, 1.0, 90.0, 1e6])
def test_the_expected_time_only_sets_where_calibration_begins(expected_ns):
    """However wrong it is, the first batch is no longer, and samples hold as many iterations."""
    sampling = sample(Stopping(ci=None, time=0.01), steady(100.0), expected_ns=expected_ns)
    assert sampling.sampler.iterations == 100
    batches = [batch.iterations * batch.samples for batch in sampling.batches]
    assert batches[0] == 1
    # Before warm-up, no sample is longer than a hundred readings of the clock need.
    assert batches[1] <= 3 * 2000


def test_the_interval_is_computed_once_more_when_time_is_up():
    """However little was added since it was last computed."""
    ended = []
    for seed in range(20):
        sampling = sample(Stopping(ci=0.04, time=0.001), noisy(2000, 0.16, seed))
        ended.append(sampling.sampler.stopped)
        assert (ended[-1] == "time") == (half_width(sampling.samples) > 0.02)
    assert {"time", "converged"} <= set(ended)


# Several slices.


def slices_of(sampling, exchange, count, iterations=None):
    """The batches of so many further slices, and what each kept."""
    found = []
    for _ in range(count):
        sampling.begin(iterations).sample(exchange)
        found.append((sampling.batches, sampling.samples))
    return found


@pytest.mark.parametrize("ns", [30.0, 1900.0, 2500.0, 1e6])
def test_only_the_first_slice_has_a_first_iteration_and_calibrates(ns):
    sampling = sample(Stopping(ci=None, time=0.03, slices=10), steady(ns))
    first, held = sampling.sampler.first, sampling.sampler.iterations
    for batches, samples in slices_of(sampling, steady(ns), 3):
        assert {batch.iterations for batch in batches} == {held}
        assert not any(batch.cold for batch in batches)
        # It begins with iterations that are not timed, more than a later block has.
        assert all(batch.keep for batch in batches)
        assert batches[0].untimed == untimed_iterations(ns, begins=True)
        assert {batch.untimed for batch in batches[1:]} <= {untimed_iterations(ns)}
        assert sampling.sampler.warm_up == WarmUp(iterations=0, ns=0, settled=None)
        assert sampling.sampler.stopped == "time"
        assert samples.sum() == pytest.approx(0.03e9, rel=0.05)
    assert sampling.sampler.first == first


def test_a_later_slice_warms_up_for_as_long_as_its_own_drift():
    """After others have used the machine, the path may be cold again."""
    stopping = Stopping(time=0.3, slices=10)
    sampling = sample(stopping, settling(2500.0, extra=1, length=100))
    warmed = []
    for length in (100, 5000):
        sampling.begin().sample(settling(2500.0, extra=1, length=length))
        warmed.append(sampling.sampler.warm_up)
        assert np.median(sampling.samples) == pytest.approx(
            2500 * sampling.sampler.iterations, rel=0.02
        )
    # What fades within the untimed iterations before the first block needs no more.
    assert warmed[0] == WarmUp(iterations=0, ns=0, settled=None)
    # What takes longer makes the first block the beginning of a warm-up.
    assert warmed[1].settled
    assert warmed[1].iterations > 5000


def test_samples_of_a_path_that_got_faster_hold_more_iterations_and_never_fewer():
    """So that none is too short for the clock, in whichever slice."""
    sampling = sample(Stopping(ci=None, time=0.03, slices=10), steady(5000.0))
    held = [sampling.sampler.iterations]
    for ns in (300.0, 5000.0, 30.0, 5000.0):
        sampling.begin().sample(steady(ns))
        held.append(sampling.sampler.iterations)
        assert np.median(sampling.samples) >= CLOCK_COST / CLOCK_SHARE
    assert held == sorted(held)
    assert held[0] == 1 < held[1] == held[2] < held[3] == held[4]


@pytest.mark.parametrize("ns", [100.0, 5000.0])
@pytest.mark.parametrize("dealt", [[3, 3, 2], [100, 100, 99], [1, 1, 1], [7], [12345]])
def test_each_slice_has_the_iterations_that_it_is_given(ns, dealt):
    sampling = sample(Stopping(slices=len(dealt)), noisy(ns), iterations=dealt[0])
    found = [(sampling.samples.size, sampling.sampler.iterations)]
    assert sampling.sampler.stopped == "count"
    for count in dealt[1:]:
        ((_, samples),) = slices_of(sampling, noisy(ns), 1, count)
        found.append((samples.size, sampling.sampler.iterations))
        assert sampling.sampler.stopped == "count"
    for count, (samples, iterations) in zip(dealt, found, strict=True):
        assert count <= samples * iterations < count + samples
        if ns == 5000.0:
            assert iterations == 1


def test_no_slice_keeps_more_than_its_part_of_the_most_samples(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.MOST_SAMPLES", 1000)
    sampling = sample(Stopping(ci=None, time=0.05, slices=10), steady(2500.0))
    assert sampling.samples.size <= 101
    for _, samples in slices_of(sampling, steady(2500.0), 2):
        assert samples.size <= 101
        assert samples.sum() == pytest.approx(0.05e9, rel=0.05)


def test_a_slice_that_is_ended_by_others_keeps_what_it_has():
    sampling = Sampling(Stopping(ci=None, time=0.1))
    while not (batch := sampling.next()).keep:
        sampling.give(batch, np.full(batch.samples, 5000 * batch.iterations))
    sampling.give(batch, np.full(batch.samples, 5000))
    sampling.sampler.end()
    assert sampling.sampler.stopped == "time"
    assert sampling.next() is None
    # And one that has nothing says so.
    sampling.begin()
    sampling.sampler.end()
    assert sampling.sampler.stopped is None
    assert sampling.next() is None


# A fixed warm-up.


@pytest.mark.parametrize("ns", [50.0, 5000.0, 2e6])
@pytest.mark.parametrize("count", [0, 7, 5000])
def test_a_fixed_warm_up_has_exactly_its_iterations(count, ns):
    sampling = sample(Stopping(time=0.01, slices=2, warmup=count), noisy(ns))
    # In the first slice calibration comes before it.
    calibration = sampling.sampler.warm_up.iterations - count
    assert 1 <= calibration <= 3 * 2 * CLOCK_COST / CLOCK_SHARE
    sampling.begin().sample(noisy(ns))
    warm = [batch for batch in sampling.batches if not batch.keep and not batch.cold]
    assert sum(batch.iterations * batch.samples for batch in warm) == count
    assert sampling.sampler.warm_up.iterations == count
    assert sampling.sampler.warm_up.settled is None
    assert sampling.sampler.stopped in ("converged", "time")


def test_a_fixed_warm_up_takes_calls_of_bearable_length():
    sampling = sample(Stopping(time=0.01, warmup=5000), steady(2e6))
    assert max(batch.samples for batch in sampling.batches) <= LONGEST_CALL_NS / 2e6
    limited = sample(Stopping(time=0.01, warmup=100), steady(5000.0), most_iterations=8)
    assert max(batch.total_iterations for batch in limited.batches) <= 8


@pytest.mark.parametrize(
    ("ns", "most", "untimed"),
    [
        (50.0, None, 400), (7000.0, None, 3), (6000.0, None, 4), (300e3, None, 3), (400e3, None, 2),
        (2e6, None, 1),
        # Where each message needs its own buffer.
        (50.0, 40, 1),
    ],
)  # fmt: skip
def test_kept_batches_begin_when_the_path_is_warm(ns, most, untimed):
    stopping = Stopping(ci=None, time=1e-9 * ns * 1000)
    batches = sample(stopping, steady(ns), most_iterations=most).batches
    assert {batch.untimed for batch in batches if batch.keep} == {untimed}
