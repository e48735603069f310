"""What a table says of a case."""

import math

import msgspec
import numpy as np
import pytest

from halftrip.analysis.summaries import case_times, launch_components, one_way_times, summarize_case
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery
from halftrip.results.records import Measurement, WarmUp
from halftrip.stats.median import median_interval
from halftrip.stats.summary import summarize


def measurement(samples, exchanges=1, repetition=0, size=1000):
    return Measurement(
        case=Case(transport="shm", size=size, wait="spin"),
        repetition=repetition,
        at=0.0,
        first=5000,
        warm_up=WarmUp(10, 1000, True),
        exchanges=exchanges,
        stopped="converged",
        line=None,
        samples=list(samples),
    )


def test_one_way_is_half_of_each_exchange():
    times = one_way_times(measurement([200, 400], exchanges=10))
    assert times.tolist() == [10.0, 20.0]


def test_a_summary_is_in_ns_and_bytes_per_second():
    summary = summarize_case([measurement(range(2000, 2200, 2))])
    assert summary.latency == pytest.approx(1049.5)
    assert summary.bandwidth == pytest.approx(1000 / 1049.5e-9)
    assert summary.max == 1099
    assert summary.p99 == pytest.approx(1098.01)
    assert summary.first == 2500
    assert summary.samples == 100
    assert summary.low < summary.latency < summary.high


def test_repetitions_that_differ_widen_the_interval():
    generator = np.random.default_rng(1)
    calm = generator.uniform(100, 101, 50)
    later = generator.uniform(200, 201, 50)
    summary = summarize([[calm, later]], size=8, first=1.0)
    first, second = median_interval(calm), median_interval(later)
    assert (summary.low, summary.high) == (first.low, second.high)
    assert summary.samples == 100


def test_repetitions_count_alike_however_many_samples_each_took():
    generator = np.random.default_rng(1)
    short, long = generator.uniform(99, 101, 50), generator.uniform(298, 302, 5000)
    summary = summarize([[short, long]], size=8, first=1.0)
    assert summary.latency == pytest.approx(200, rel=0.01)
    assert summary.samples == 5050


def test_a_repetition_without_an_interval_leaves_none():
    summary = summarize([[np.arange(1.0, 100.0), np.array([1.0])]], size=8, first=1.0)
    assert math.isnan(summary.low)
    assert math.isnan(summary.high)


def test_fewer_than_a_hundred_samples_have_no_hundredth_part():
    summary = summarize([[np.arange(1.0, 100.0)]], size=8, first=1.0)
    assert math.isnan(summary.p99)
    assert summary.max == 99
    # Of all repetitions together.
    assert summarize([[np.arange(1.0, 51.0)] * 2], size=8, first=1.0).p99 == pytest.approx(50)


def test_at_a_rate_bandwidth_is_all_that_arrived_over_all_the_time():
    """One window is late, and the others make up for it: most are faster than the rate."""
    case = Case(transport="udp", pattern="stream", size=1000, wait="block", window=10, rate=1e9)
    made = measurement([9_000] * 9 + [19_000])
    paced = msgspec.structs.replace(
        made, case=case, delivery=Delivery(sent=100, lost=10, late=0), samples=made.samples
    )
    again = msgspec.structs.replace(paced, repetition=1, samples=[10_000] * 10)
    assert summarize_case([paced]).bandwidth == pytest.approx(0.9e9)
    assert summarize_case([paced, again]).bandwidth == pytest.approx(0.9e9)
    unpaced = msgspec.structs.replace(paced, case=msgspec.structs.replace(case, rate=None))
    assert summarize_case([unpaced]).bandwidth == pytest.approx(0.9e9)
    whole = msgspec.structs.replace(unpaced, delivery=Delivery(sent=100, lost=0, late=0))
    assert summarize_case([whole]).bandwidth == pytest.approx(1e9 / 0.9)
    assert summarize_case([paced]).latency == pytest.approx(900)


def test_launches_differ_by_so_much_and_what_is_in_them_by_so_much():
    generator = np.random.default_rng(5)
    measurements = []
    for launch in range(200):
        level = 10_000 * (1 + 0.05 * generator.standard_normal())
        for repetition in range(4):
            samples = level * (1 + 0.01 * generator.standard_normal()) * np.ones(9)
            made = measurement(np.rint(samples).astype(int).tolist())
            measurements.append(msgspec.structs.replace(made, launch=launch, repetition=repetition))
    found = launch_components(case_times(measurements))
    assert found.between == pytest.approx(0.05, rel=0.15)
    assert found.within == pytest.approx(0.01, rel=0.15)
    assert launch_components(case_times(measurements[:4])) is None
    # Of single repetitions, halves tell.
    assert launch_components(case_times(measurements[::4])).within == 0
