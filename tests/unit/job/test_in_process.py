"""A run of a simulated path within this process: samples, blocks, launches, and when it stops."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest

from halftrip.analysis.summaries import summarize_case
from halftrip.job.launchers.in_process import simulate
from halftrip.measure.sampler import MOST_SAMPLES
from halftrip.plan.plan import Plan
from halftrip.results.run_file import load
from halftrip.simulation.path_model import ClockModel, Modes, Noise, PathModel
from harness import runs

STILL = PathModel(latency=10e-6, bandwidth=10e9, noise=Noise())


def case(size=8, **keys):
    return runs.case("simulated", size, **keys)


def test_a_path_without_noise_takes_the_time_of_its_model():
    for size in (0, 8, 1 << 20):
        summary = summarize_case(simulate(STILL, [case(size)], Plan()).measurements)
        # Times are whole ns, a round trip's.
        assert summary.latency == pytest.approx(STILL.one_way(size) * 1e9, abs=0.5)
        assert summary.low == summary.latency == summary.high


def test_cases_are_measured_in_order():
    cases = [case(8), case(64)]
    run = simulate(STILL, cases, Plan(launches=2, slices=3))
    places = [(m.launch, m.slice, m.case) for m in run.measurements]
    assert places == [
        (launch, number, case) for launch in (0, 1) for number in range(3) for case in cases
    ]


def test_blocks_follow_each_other_with_a_round_trip_in_between():
    model = msgspec.structs.replace(
        STILL,
        noise=Noise(kind="lognormal", spread=0.3),
        modes=Modes(factor=2.0, share=0.5, dwell=20e-3, moves_line=True),
    )
    (measurement,) = simulate(model, [case()], Plan(ci=None)).measurements
    assert len(measurement.blocks) > 1
    assert sum(block.times.size for block in measurement.blocks) == measurement.samples.size
    rtts = [block.cache_line_rtt for block in measurement.blocks]
    assert [before.after for before in rtts[:-1]] == [after.before for after in rtts[1:]]
    assert measurement.cache_line_rtts == [rtts[0].before, *(rtt.after for rtt in rtts)]
    # Each block began when the one before had ended.
    for block, after in pairwise(measurement.blocks):
        assert after.start == pytest.approx(block.start + block.elapsed, abs=1e6)
        assert after.start >= block.start + block.elapsed - block.times.size


def test_a_case_stops_by_time_count_or_width():
    noisy = msgspec.structs.replace(STILL, noise=Noise(kind="lognormal", spread=0.3))
    (by_time,) = simulate(noisy, [case()], Plan(ci=None, time=0.1)).measurements
    assert by_time.stopped == "time"
    assert by_time.samples.sum() == pytest.approx(0.1e9, rel=0.05)
    (by_count,) = simulate(noisy, [case()], Plan(iterations=777)).measurements
    assert (by_count.stopped, by_count.samples.size) == ("count", 777)
    (by_width,) = simulate(noisy, [case()], Plan(ci=0.02)).measurements
    assert by_width.stopped == "converged"
    assert by_width.samples.size < MOST_SAMPLES
    summary = summarize_case([by_width])
    assert summary.high - summary.low <= 2 * 0.02 * summary.latency


def test_the_first_exchange_of_every_case_is_cold():
    model = msgspec.structs.replace(STILL, first=1e-3)
    run = simulate(model, [case(8), case(64)], Plan(slices=2))
    for measurement in run.measurements:
        one = 2 * model.one_way(measurement.case.size)
        assert measurement.first == round((one + 1e-3) * 1e9)
        assert measurement.samples.max() < 1e6


def test_each_launch_is_a_path_of_its_own():
    model = msgspec.structs.replace(STILL, launch=0.1)
    run = simulate(model, [case()], Plan(launches=3, slices=2))
    medians = [float(np.median(m.samples)) for m in run.measurements]
    assert medians[0::2] == medians[1::2]
    assert len(set(medians)) == 3


def test_samples_are_long_where_the_clock_claims_to_be_coarse():
    coarse = msgspec.structs.replace(STILL, clock=ClockModel(step=1e-6, claimed=1e-6))
    (claimed,) = simulate(coarse, [case()], Plan()).measurements
    # A step is then no more than 1 % of a sample.
    assert claimed.exchanges * 2 * STILL.one_way(8) >= 100e-6
    unclaimed = msgspec.structs.replace(STILL, clock=ClockModel(step=1e-6))
    (measurement,) = simulate(unclaimed, [case()], Plan()).measurements
    assert measurement.exchanges == 1
    assert {sample % 1000 for sample in measurement.samples} == {0}


@pytest.mark.parametrize("seed", range(1, 9))
def test_warm_up_settles_where_the_clock_cannot_read_an_exchange(seed):
    """The first samples are then made long by a guess; the next few show how long they are."""
    clock = ClockModel(step=10e-6)
    path = PathModel(
        latency=1e-6, noise=Noise(kind="lognormal", spread=0.02), clock=clock, seed=seed
    )
    (measurement,) = simulate(path, [case()], Plan()).measurements
    assert measurement.warm_up.settled
    assert measurement.warm_up.ns < 0.5 * 0.3e9


def test_lost_exchanges_are_counted_and_no_samples():
    model = msgspec.structs.replace(STILL, loss=0.05)
    (measurement,) = simulate(model, [case()], Plan(ci=None, timeout=1e-3)).measurements
    delivery = measurement.delivery
    assert delivery.sent == measurement.samples.size + delivery.lost
    # Five standard errors.
    assert abs(delivery.lost / delivery.sent - 0.05) < 5 * (0.05 * 0.95 / delivery.sent) ** 0.5
    assert set(measurement.series.times) == {round(2 * STILL.one_way(8) * 1e9) / 2}


def test_a_window_takes_its_messages_and_an_acknowledgement():
    stream = case(1 << 20, pattern="stream", window=16)
    (measurement,) = simulate(STILL, [stream], Plan()).measurements
    expected = 16 * (1 << 20) / 10e9 + 2 * 10e-6
    assert np.median(measurement.samples) == pytest.approx(expected * 1e9, abs=1)


def test_a_run_depends_on_the_seed_alone():
    noisy = msgspec.structs.replace(STILL, noise=Noise(kind="ar1", spread=0.1, correlation=0.6))
    one, other = (simulate(noisy, [case()], Plan()).measurements for _ in range(2))
    assert one == other
    another = simulate(msgspec.structs.replace(noisy, seed=2), [case()], Plan()).measurements
    assert not np.array_equal(another[0].samples, one[0].samples)


def test_a_simulated_run_can_be_written_and_read(tmp_path):
    run = simulate(STILL, [case()], Plan(simulated=STILL, iterations=100))
    again = load(runs.save(run, tmp_path / "run.jsonl"))
    assert again.measurements == run.measurements
    assert again.interrupted is None
    assert not again.problems


def test_other_transports_are_refused():
    with pytest.raises(ValueError, match="tcp takes real time"):
        simulate(STILL, [runs.case("tcp")], Plan())
