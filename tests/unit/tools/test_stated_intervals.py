"""Intervals of a figure that other tools print beside it."""

import pytest

from harness.imports import measured, sample

CONFIDENCE = "Throughput Confidence Width (%),Confidence Level Percent"
ASKED = "+/-2.500% @ 99% conf."
REACHED = "!!! WARNING\n!!! Confidence intervals: Throughput      : 10.000%"


@pytest.mark.parametrize(
    ("tool", "name", "changes", "ends"),
    [
        ("sockperf", "ping-pong", [("23.015)", "23.015, 99.0% ci=[6.417, 7.003])")], (6417, 7003)),
        ("sockperf", "ping-pong", [], None),
        # Of a throughput, the whole width of the interval: 40,000 round trips a second.
        (
            "netperf",
            "selected-csv",
            [("Mean Latency Microseconds", CONFIDENCE), ("35854.15,27.84", "40000.00,2.500,99")],
            (12500 / 1.0125, 12500 / 0.9875),
        ),
        (
            "netperf",
            "selected-csv",
            [("Mean Latency Microseconds", CONFIDENCE), ("27.84", "-1.000,99")],
            None,
        ),
        # The classic text says what was asked for, and what was reached where that is less.
        ("netperf", "tcp-stream", [(": demo", f": {ASKED}")], (1275.83 / 1.025, 1275.83 / 0.975)),
        (
            "netperf",
            "tcp-stream",
            [(": demo", f": {ASKED}\n{REACHED}")],
            (1275.83 / 1.05, 1275.83 / 0.95),
        ),
        ("netperf", "tcp-stream", [(": demo", f": {ASKED}\n!!! WARNING")], None),
        # The time is that of another figure.
        (
            "netperf",
            "selected-csv",
            [("Throughput,", f"Throughput,{CONFIDENCE},"), ("35854.15,", "35854.15,2.500,99,")],
            None,
        ),
    ],
)
def test_an_interval_is_that_of_the_time_if_it_is_stated(tool, name, changes, ends):
    (found,) = measured(sample(tool, name, *changes), tool)
    stated = found.reported.interval
    if ends is None:
        assert stated is None
    else:
        assert (stated.low, stated.high) == pytest.approx(ends)
        assert (stated.level, stated.of) == (0.99, "mean")
