"""The summary of a configuration: units, states of the machine, launches, lost messages."""

import math

import numpy as np
import pytest

from halftrip.analysis.summaries import (
    configuration_times,
    launch_components,
    summarize_configuration,
)
from halftrip.results.counts import Delivery
from harness import runs

# Units.


def test_a_sample_is_divided_by_its_messages():
    one = runs.measurement(iterations=10, samples=[2000, 4000])
    assert one.one_way_times.tolist() == [100.0, 200.0]
    stream = runs.measurement(iterations=10, samples=[2000], pattern="stream", window=4)
    assert stream.one_way_times.tolist() == [50.0]


def test_a_summary_is_in_ns_and_bytes_per_second():
    slices = [
        runs.measurement(
            size=1000, iterations=1, samples=range(2000 + n, 2400 + n), first=5000 + n, slice=n
        )
        for n in range(10)
    ]
    summary = summarize_configuration(slices)
    assert summary.latency == pytest.approx(1102)
    assert summary.bandwidth == pytest.approx(1000 / 1102e-9)
    assert summary.max == 1204
    assert summary.p99.value == pytest.approx(1199, abs=2)
    assert summary.first == 2500
    assert summary.samples == 4000
    assert summary.low < summary.latency < summary.high


def test_samples_of_several_iterations_have_no_tail():
    slices = [runs.measurement(iterations=10 if n else 1, slice=n) for n in range(10)]
    summary = summarize_configuration(slices)
    assert math.isnan(summary.p90.value)
    assert math.isnan(summary.max)


def test_samples_of_no_time_have_no_bandwidth():
    assert math.isnan(summarize_configuration([runs.measurement(samples=[0] * 30)]).bandwidth)
    lost = Delivery(sent=10, lost=5, reordered=0)
    lossy = runs.measurement("udp", samples=[0] * 30, delivery=lost, pattern="stream", window=4)
    assert math.isnan(summarize_configuration([lossy]).bandwidth)


def test_bandwidth_at_a_rate_is_all_that_arrived_over_all_the_time():
    """One window is late and the others make up for it: most are faster than the rate."""

    def windows(samples=(*[9_000] * 9, 19_000), lost=10, rate=1e9, **changes):
        return runs.measurement(
            "udp", 1000, "block", pattern="stream", window=10, iterations=1, samples=samples,
            rate=rate, delivery=Delivery(sent=100, lost=lost, reordered=0), **changes,
        )  # fmt: skip

    again = windows([10_000] * 10, slice=1)
    assert summarize_configuration([windows()]).bandwidth == pytest.approx(0.9e9)
    assert summarize_configuration([windows(), again]).bandwidth == pytest.approx(0.9e9)
    assert summarize_configuration([windows(rate=None)]).bandwidth == pytest.approx(0.9e9)
    whole = windows(rate=None, lost=0)
    assert summarize_configuration([whole]).bandwidth == pytest.approx(1e9 / 0.9)
    assert summarize_configuration([windows()]).latency == pytest.approx(900)


# Launches.


def test_launches_count_equally_whatever_their_number_of_samples():
    launches = [
        runs.measurement(iterations=1, samples=[2 * level] * count, launch=n, rtts=None)
        for n, (level, count) in enumerate([(1000, 500), (1100, 10), (1200, 10)])
    ]
    assert summarize_configuration(launches).latency == 1100


def test_the_variation_between_launches_and_within_them():
    generator = np.random.default_rng(5)
    measurements = []
    for launch in range(200):
        level = 10_000 * (1 + 0.05 * generator.standard_normal())
        for number in range(4):
            samples = np.rint(level * (1 + 0.01 * generator.standard_normal()) * np.ones(9))
            measurements.append(
                runs.measurement(
                    samples=samples, iterations=1, rtts=None, launch=launch, slice=number
                )
            )
    found = launch_components(configuration_times(measurements))
    assert found.between == pytest.approx(0.05, rel=0.15)
    assert found.within == pytest.approx(0.01, rel=0.15)
    assert launch_components(configuration_times(measurements[:4])) is None
    # The two halves of a single slice stand for slices.
    assert launch_components(configuration_times(measurements[::4])).within == 0
