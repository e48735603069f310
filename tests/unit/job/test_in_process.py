"""A run of a simulated path within this process: samples, blocks, launches, and when it stops."""

from itertools import pairwise

import msgspec
import pytest

from halftrip.analysis.summaries import summarize_configuration
from halftrip.job.launchers.in_process import simulate
from halftrip.plan.plan import Plan
from halftrip.simulation.path_model import Modes, Noise, PathModel
from harness import runs

STILL = PathModel(latency=10e-6, bandwidth=10e9, noise=Noise())


def configuration(size=8, **keys):
    return runs.configuration("simulated", size, **keys)


def test_a_path_without_noise_takes_the_time_of_its_model():
    for size in (0, 8, 1 << 20):
        summary = summarize_configuration(
            simulate(STILL, [configuration(size)], Plan()).measurements
        )
        # Times are whole ns, a round trip's.
        assert summary.latency == pytest.approx(STILL.one_way(size) * 1e9, abs=0.5)
        # No narrower than the rounding of the clock.
        assert summary.latency - 0.5 <= summary.low <= summary.high <= summary.latency + 0.5


def test_blocks_follow_each_other_with_a_round_trip_in_between():
    model = msgspec.structs.replace(
        STILL,
        noise=Noise(kind="lognormal", spread=0.3),
        modes=Modes(factor=2.0, share=0.5, dwell=20e-3, moves_core_to_core=True),
    )
    (measurement,) = simulate(model, [configuration()], Plan(ci=None, slices=1)).measurements
    assert len(measurement.blocks) > 1
    assert sum(block.times.size for block in measurement.blocks) == measurement.samples.size
    rtts = [block.core_to_core_rtt for block in measurement.blocks]
    assert [before.after for before in rtts[:-1]] == [after.before for after in rtts[1:]]
    assert measurement.core_to_core_rtts == [rtts[0].before, *(rtt.after for rtt in rtts)]
    # Each block began when the one before had ended.
    for block, after in pairwise(measurement.blocks):
        assert after.start == pytest.approx(block.start + block.elapsed, abs=1e6)
        assert after.start >= block.start + block.elapsed - block.times.size


def slices_of(model, plan, the_configuration=None):
    return simulate(model, [the_configuration or configuration()], plan).measurements


def test_a_configuration_that_is_narrow_enough_gets_no_more_slices():
    """After six at least: an interval by order statistics needs as many."""
    assert len(slices_of(STILL, Plan(ci=0.02))) == 6
    noisy = msgspec.structs.replace(STILL, noise=Noise(kind="lognormal", spread=0.3))
    measured = slices_of(noisy, Plan(ci=0.02))
    assert 6 <= len(measured) <= 10
    summary = summarize_configuration(measured)
    assert summary.high - summary.low <= 2 * 0.02 * summary.latency
