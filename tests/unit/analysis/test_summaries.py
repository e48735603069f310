"""The summary of a case: units, states of the machine, launches, lost messages."""

import math

import numpy as np
import pytest

from halftrip.analysis.summaries import case_times, launch_components, summarize_case
from halftrip.results.delivery import Delivery
from halftrip.stats.main_state import rtt_states
from halftrip.stats.states import State
from harness import runs

NEAR, FAR = 100.0, 250.0


def levels(*times, rtts, samples=None, **changes):
    """Blocks of thirty round trips, each twice one of `times`; `rtts` before the first block and
    after each."""
    if samples is None:
        samples = [2 * time for time in times for _ in range(30)]
    counts = [30] * len(times)
    return runs.measurement(exchanges=1, samples=samples, counts=counts, rtts=rtts, **changes)


def moved(**changes):
    """The cores were near for two blocks and far for the last; they moved during the third."""
    return levels(1000, 1000, 1500, 3000, rtts=[NEAR, NEAR, NEAR, FAR, FAR], **changes)


# Units.


def test_a_sample_is_divided_by_its_messages():
    one = runs.measurement(exchanges=10, samples=[2000, 4000])
    assert one.series.times.tolist() == [100.0, 200.0]
    stream = runs.measurement(exchanges=10, samples=[2000], pattern="stream", window=4)
    assert stream.series.times.tolist() == [50.0]


def test_a_summary_is_in_ns_and_bytes_per_second():
    measured = runs.measurement(size=1000, exchanges=1, samples=range(2000, 2200, 2), first=5000)
    summary = summarize_case([measured])
    assert summary.latency == pytest.approx(1049.5)
    assert summary.bandwidth == pytest.approx(1000 / 1049.5e-9)
    assert summary.max == 1099
    assert summary.p99 == pytest.approx(1098.01)
    assert summary.first == 2500
    assert summary.samples == 100
    assert summary.low < summary.latency < summary.high


def test_the_first_exchange_is_that_of_the_first_measurement():
    both = [runs.measurement(first=5000), runs.measurement(first=100, slice=1)]
    assert summarize_case(both).first == 2500


def test_samples_of_no_time_have_no_bandwidth():
    assert math.isnan(summarize_case([runs.measurement(samples=[0] * 30)]).bandwidth)
    lost = Delivery(sent=10, lost=5, late=0)
    lossy = runs.measurement("udp", samples=[0] * 30, delivery=lost, pattern="stream", window=4)
    assert math.isnan(summarize_case([lossy]).bandwidth)


def test_bandwidth_at_a_rate_is_all_that_arrived_over_all_the_time():
    """One window is late and the others make up for it: most are faster than the rate."""

    def windows(samples=(*[9_000] * 9, 19_000), lost=10, rate=1e9, **changes):
        return runs.measurement(
            "udp", 1000, "block", pattern="stream", window=10, exchanges=1, samples=samples,
            rate=rate, delivery=Delivery(sent=100, lost=lost, late=0), **changes,
        )  # fmt: skip

    again = windows([10_000] * 10, slice=1)
    assert summarize_case([windows()]).bandwidth == pytest.approx(0.9e9)
    assert summarize_case([windows(), again]).bandwidth == pytest.approx(0.9e9)
    assert summarize_case([windows(rate=None)]).bandwidth == pytest.approx(0.9e9)
    whole = windows(rate=None, lost=0)
    assert summarize_case([whole]).bandwidth == pytest.approx(1e9 / 0.9)
    assert summarize_case([windows()]).latency == pytest.approx(900)


# States of the machine.


def test_the_summary_is_of_the_state_with_the_most_samples():
    summary = summarize_case([moved()])
    assert summary.latency == 1000
    assert summary.samples == 60
    assert summary.max == 1000
    (split,) = case_times([moved()]).split
    assert [times.tolist() for times in split] == [[1000.0] * 60, [3000.0] * 30]


def test_the_main_state_is_that_of_all_slices():
    far = levels(3000, 3000, rtts=[FAR, FAR, FAR], slice=1)
    summary = summarize_case([moved(), far])
    assert summary.latency == 3000
    assert summary.samples == 90
    # A slice that was never in that state contributes nothing.
    near = levels(1000, rtts=[NEAR, NEAR])
    of_near, of_far = case_times([near, far]).steady
    assert of_near.size == 0
    assert of_far.size == 60
    assert summarize_case([near, far]).latency == 3000


def test_a_single_odd_probe_discards_nothing():
    for rtts in ([NEAR, NEAR, 140.0], [NEAR, 140.0, NEAR], [140.0, NEAR, NEAR]):
        assert summarize_case([levels(1000, 1000, 1000, rtts=[NEAR, *rtts])]).samples == 90


def test_a_machine_in_one_state_keeps_all_samples():
    one = levels(1000, 1500, rtts=[NEAR, NEAR, 110.0])
    assert rtt_states([one.series]) == [State(100.0, 110.0)]
    assert case_times([one]).steady[0].size == 60


def test_samples_of_other_states_are_no_part_of_the_interval():
    noisy = np.random.default_rng(1).normal(2000, 20, 60).astype(int).tolist()
    summary = summarize_case([moved(samples=[*noisy, *[3000] * 30, *[6000] * 30])])
    assert 990 < summary.low <= summary.latency <= summary.high < 1010


def test_without_round_trips_between_the_cores_all_samples_count():
    unknown = levels(1000, 1000, 1500, 3000, rtts=None)
    assert unknown.cache_line_rtts == []
    assert rtt_states([unknown.series]) == []
    assert summarize_case([unknown]).samples == 120


# Launches.


def test_a_launch_with_more_samples_has_no_more_votes():
    calm = [levels(1000, rtts=[NEAR, NEAR], launch=n) for n in range(3)]
    noisy = levels(*[3000] * 9, rtts=[FAR] * 10, launch=3)
    summary = summarize_case([*calm, noisy])
    assert summary.latency == 1000
    assert summary.samples == 90


def test_launches_count_equally_whatever_their_number_of_samples():
    launches = [
        runs.measurement(exchanges=1, samples=[2 * level] * count, launch=n, rtts=None)
        for n, (level, count) in enumerate([(1000, 500), (1100, 10), (1200, 10)])
    ]
    assert summarize_case(launches).latency == 1100


def test_one_launch_of_several_has_no_interval_over_launches():
    near = runs.measurement(launch=0)
    alone = summarize_case([near])
    assert alone.low < alone.latency < alone.high
    assert math.isnan(summarize_case([near, runs.measurement(launch=1, samples=[])]).low)


def test_the_variation_between_launches_and_within_them():
    generator = np.random.default_rng(5)
    measurements = []
    for launch in range(200):
        level = 10_000 * (1 + 0.05 * generator.standard_normal())
        for slice in range(4):
            samples = np.rint(level * (1 + 0.01 * generator.standard_normal()) * np.ones(9))
            measurements.append(
                runs.measurement(
                    samples=samples, exchanges=1, rtts=None, launch=launch, slice=slice
                )
            )
    found = launch_components(case_times(measurements))
    assert found.between == pytest.approx(0.05, rel=0.15)
    assert found.within == pytest.approx(0.01, rel=0.15)
    assert launch_components(case_times(measurements[:4])) is None
    # The two halves of a single slice stand for slices.
    assert launch_components(case_times(measurements[::4])).within == 0
