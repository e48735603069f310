"""What becomes of tools that print a figure for each interval, or for each value of each run."""

import json

import pytest

from halftrip.report.document import document
from harness.imports import imported_run, sample


def test_iperf3():
    """The whole test, and each interval: what was received in all."""
    said = json.loads(sample("iperf3", "two-streams.json"))
    end, intervals = said["end"], said["intervals"]
    intervals.append(intervals[0] | {"sum": intervals[0]["sum"] | {"bits_per_second": 2e10}})

    def rates(changed, over):
        return [
            (each.configuration.pattern, dict(each.configuration.variant), each.reported.bandwidth)
            for each in imported_run(json.dumps(changed)).measurements
            if dict(each.configuration.variant)["over"] == over
        ]

    variant = {"direction": "to server", "over": "whole test", "streams": "2"}
    received = end["sum_received"]["bits_per_second"] / 8
    ((pattern, found, bandwidth),) = rates(said, "whole test")
    assert (pattern, found, bandwidth) == ("stream", variant, pytest.approx(received))
    sums = [each["sum"]["bits_per_second"] / 8 for each in intervals]
    assert [each[2] for each in rates(said, "intervals")] == pytest.approx(sums)
    said["start"]["test_start"]["reverse"] = 1
    assert rates(said, "whole test")[0][1]["direction"] == "to client"
    # With --bidir, the mean of both directions.
    back = 3 * 8 * received
    end["sum_received_bidir_reverse"] = end["sum_received"] | {"bits_per_second": back}
    for each in intervals:
        each["sum_bidir_reverse"] = each["sum"]
    ((pattern, found, bandwidth),) = rates(said, "whole test")
    assert (pattern, found["direction"]) == ("bidirectional", "both")
    assert bandwidth == pytest.approx(2 * received)
    # A sum that does not name the receiver counts what was sent.
    del end["sum_received"], end["sum_received_bidir_reverse"]
    end["sum"] = {"bits_per_second": 8e9, "lost_percent": 25}
    said["start"]["test_start"]["protocol"] = "UDP"
    assert rates(said, "whole test")[0][2] == pytest.approx(0.75e9)


def test_pyperf():
    """Each benchmark is a curve; runs are launches, and values slices."""
    text = sample("pyperf", "two-benchmarks.json")
    run = imported_run(text)
    said = {
        (each["metadata"]["name"], launch, number): value
        for each in json.loads(text)["benchmarks"]
        for launch, launched in enumerate(each["runs"])
        for number, value in enumerate(launched["values"])
    }
    found = {
        (each.configuration.variant[0][1], each.launch, each.slice): each
        for each in run.measurements
    }
    assert found.keys() == said.keys()
    for place, value in said.items():
        assert float(found[place].reported.figures["value"]) == value
        assert (found[place].iterations, found[place].configuration.known_size) == (1024, None)
        assert found[place].samples[0] / 1024 / 2 == pytest.approx(1e9 * value, abs=1e-3)
    assert {source.version for source in run.sources} == {"2.10.0"}
    assert run.sources[0].hosts == ["node1"]


def test_an_interval_is_no_narrower_than_the_last_digit():
    """Of three launches that agree in all digits."""
    run = imported_run(3 * sample("osu", "latency-validated"))
    for row in document(run).rows:
        step = row.reported[0].step
        assert step == 10
        low, high = row.summary.low, row.summary.high
        assert (row.summary.latency - low, high - row.summary.latency) == (step / 2, step / 2)
