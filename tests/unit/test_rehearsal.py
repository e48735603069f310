"""A rehearsed run: it is a run like any other, of a path whose truth is known."""

import msgspec
import numpy as np
import pytest

from halftrip.analysis.summaries import one_way_times, summarize_case
from halftrip.job.launchers.in_process import rehearse
from halftrip.measure.sampler import MOST_SAMPLES
from halftrip.plan.plan import Plan
from halftrip.results.case import Case
from halftrip.results.run_file import load
from halftrip.simulation.path_model import Modes, Noise, Ticking, Truth

STILL = Truth(latency=10e-6, bandwidth=10e9, noise=Noise())


def case(size=8, **keys):
    return Case(transport="simulated", size=size, wait="spin", **keys)


def test_a_still_path_takes_what_its_truth_says():
    for size in (0, 8, 1 << 20):
        summary = summarize_case(rehearse(STILL, [case(size)], Plan()).measurements)
        # Times are whole ns, a round trip's.
        assert summary.latency == pytest.approx(STILL.one_way(size) * 1e9, abs=0.5)
        assert summary.low == summary.latency == summary.high


def test_every_case_has_its_place_in_order():
    cases = [case(8), case(64)]
    run = rehearse(STILL, cases, Plan(launches=2, repetitions=3))
    places = [(m.launch, m.repetition, m.case) for m in run.measurements]
    assert places == [
        (launch, repetition, case) for launch in (0, 1) for repetition in range(3) for case in cases
    ]


def test_the_blocks_and_their_lines_belong_to_the_samples():
    truth = msgspec.structs.replace(
        STILL,
        noise=Noise(kind="lognormal", spread=0.3),
        modes=Modes(factor=2.0, share=0.5, dwell=20e-3, moves_line=True),
    )
    (measurement,) = rehearse(truth, [case()], Plan(ci=None)).measurements
    assert sum(measurement.blocks) == len(measurement.samples)
    assert len(measurement.blocks) == len(measurement.lines) > 1
    assert measurement.line.after == measurement.lines[-1]


def test_it_stops_as_the_plan_says():
    noisy = msgspec.structs.replace(STILL, noise=Noise(kind="lognormal", spread=0.3))
    (by_time,) = rehearse(noisy, [case()], Plan(ci=None, time=0.1)).measurements
    assert by_time.stopped == "time"
    assert sum(by_time.samples) == pytest.approx(0.1e9, rel=0.05)
    (by_count,) = rehearse(noisy, [case()], Plan(iterations=777)).measurements
    assert (by_count.stopped, len(by_count.samples)) == ("count", 777)
    (by_width,) = rehearse(noisy, [case()], Plan(ci=0.02)).measurements
    assert by_width.stopped == "converged"
    assert len(by_width.samples) < MOST_SAMPLES
    summary = summarize_case([by_width])
    assert summary.high - summary.low <= 2 * 0.02 * summary.latency


def test_the_first_exchange_of_every_case_is_cold():
    truth = msgspec.structs.replace(STILL, first=1e-3)
    run = rehearse(truth, [case(8), case(64)], Plan(repetitions=2))
    for measurement in run.measurements:
        one = 2 * truth.one_way(measurement.case.size)
        assert measurement.first == round((one + 1e-3) * 1e9)
        assert max(measurement.samples) < 1e6


def test_a_launch_is_one_path_and_another_launch_another():
    truth = msgspec.structs.replace(STILL, launch=0.1)
    run = rehearse(truth, [case()], Plan(launches=3, repetitions=2))
    medians = [float(np.median(m.samples)) for m in run.measurements]
    assert medians[0::2] == medians[1::2]
    assert len(set(medians)) == 3


def test_a_clock_that_says_how_coarse_it_is_is_given_long_samples():
    ticking = msgspec.structs.replace(STILL, clock=Ticking(step=1e-6, claimed=1e-6))
    (told,) = rehearse(ticking, [case()], Plan()).measurements
    # A step is then no more than 1 % of a sample.
    assert told.exchanges * 2 * STILL.one_way(8) >= 100e-6
    silent = msgspec.structs.replace(STILL, clock=Ticking(step=1e-6))
    (measurement,) = rehearse(silent, [case()], Plan()).measurements
    assert measurement.exchanges == 1
    assert {sample % 1000 for sample in measurement.samples} == {0}


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_clock_that_reads_nothing_leaves_time_to_warm_up(seed):
    """Samples are then made long by what little is known; the next few say how long they are."""
    clock = Ticking(step=10e-6)
    path = Truth(latency=1e-6, noise=Noise(kind="lognormal", spread=0.02), clock=clock, seed=seed)
    (measurement,) = rehearse(path, [case()], Plan()).measurements
    assert measurement.warm_up.settled
    assert measurement.warm_up.ns < 0.5 * 0.3e9


def test_what_gets_lost_is_counted_and_is_no_sample():
    truth = msgspec.structs.replace(STILL, loss=0.05)
    (measurement,) = rehearse(truth, [case()], Plan(ci=None, timeout=1e-3)).measurements
    delivery = measurement.delivery
    assert delivery.sent == len(measurement.samples) + delivery.lost
    # Five standard errors.
    assert abs(delivery.lost / delivery.sent - 0.05) < 5 * (0.05 * 0.95 / delivery.sent) ** 0.5
    assert set(one_way_times(measurement)) == {round(2 * STILL.one_way(8) * 1e9) / 2}


def test_a_window_is_as_long_as_its_messages_and_an_answer():
    stream = case(1 << 20, pattern="stream", window=16)
    (measurement,) = rehearse(STILL, [stream], Plan()).measurements
    expected = 16 * (1 << 20) / 10e9 + 2 * 10e-6
    assert np.median(measurement.samples) == pytest.approx(expected * 1e9, abs=1)


def test_the_same_truth_gives_the_same_run():
    noisy = msgspec.structs.replace(STILL, noise=Noise(kind="ar1", spread=0.1, correlation=0.6))
    one, other = (rehearse(noisy, [case()], Plan()).measurements for _ in range(2))
    assert one == other
    another = rehearse(msgspec.structs.replace(noisy, seed=2), [case()], Plan()).measurements
    assert another[0].samples != one[0].samples


def test_it_can_be_written_and_read(tmp_path):
    run = rehearse(STILL, [case()], Plan(simulated=STILL, iterations=100))
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file:
        for record in (run.head, *run.measurements, run.end):
            file.write(msgspec.json.encode(record) + b"\n")
    again = load(path)
    assert again.measurements == run.measurements
    assert again.interrupted is None
    assert not again.problems
