"""--style osu: its layout, what reads it, and that its text imports as the same run."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from harness.imports import in_style
from harness.runs import measurement, run
from harness.samples import one_way, read, sample

# From these numbers on, a figure has digits of its own in two decimals.
_SIZES = st.lists(st.integers(1, 1 << 24), min_size=1, max_size=5, unique=True)
_TIMES = st.floats(20.0, 1e6)


def _made(pattern, size, half_ns, **changes):
    """A measurement with samples of single exchanges, or of ten."""
    window = changes.get("window", 1)
    trips = 2 if pattern == "pingpong" else 1
    values = {"pattern": pattern, "iterations": 1, "window": window}
    values |= changes
    ns = half_ns * trips * window * values["iterations"]
    return measurement(
        "mpi", size, samples=[max(1, round(ns * f)) for f in (0.9, 1.0, 1.3)], **values
    )


@given(
    st.sampled_from(["pingpong", "stream", "bidirectional"]),
    st.sampled_from([1, 10]),
    st.sampled_from([2, 64, 100]),
    st.booleans(),
    st.data(),
)
def test_its_text_imports_as_the_same_run(folder, pattern, iterations, window, verify, data):
    sizes = sorted(data.draw(_SIZES))
    changes = {"iterations": iterations, "verify": verify}
    if pattern != "pingpong":
        changes["window"] = window
    made = run(*(_made(pattern, size, data.draw(_TIMES), **changes) for size in sizes))
    text = in_style(made, "osu")
    figures = [line.split()[1] for line in text.splitlines() if not line.startswith("#")]
    assume(all(float(figure) > 0 for figure in figures))
    again = read(text, folder, None)
    points, of_before = (
        [(c.pattern, c.size, c.window) for c in (each.configuration for each in of.measurements)]
        for of in (again, made)
    )
    assert points == of_before
    for before, after in zip(made.measurements, again.measurements, strict=True):
        messages = iterations * before.configuration.messages_per_iteration
        ns = float(before.samples.mean()) / messages
        # Half a unit of the last digit, and half a nanosecond of all messages together.
        step = after.reported.step
        if pattern != "pingpong":
            # Near the step, the time is not proportional to the figure.
            step *= max(1.0, ns / one_way(after), one_way(after) / ns)
        assert abs(one_way(after) - ns) <= 0.51 * step + 1.0 + 1e-9 * ns
    assert in_style(again, "osu") == text


@pytest.mark.parametrize("name", ["latency", "latency-validated", "bw", "mbw-mr"])
def test_what_osu_printed_is_printed_again(folder, name):
    text = sample("osu", name)
    assert in_style(read(text, folder), "osu") == text


def test_the_layout_of_a_latency_with_tails_and_of_means_alone():
    lines = in_style(run(_made("pingpong", 8, 380.0)), "osu").splitlines()
    assert lines[:2] == ["# OSU MPI Latency Test v7.4", "# Datatype: MPI_CHAR."]
    assert lines[-2:] == [
        "# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)",
        "8                       0.41              0.38              0.47              0.49",
    ]
    alone = in_style(run(_made("pingpong", 8, 380.0, iterations=10)), "osu").splitlines()
    assert alone[-2:] == [f"{'# Size':<10s}{'Avg Latency(us)':>20s}", f"{8:<10d}{0.41:20.2f}"]
    # What ReFrame looks for.
    validated = in_style(run(_made("pingpong", 8, 380.0, verify=True)), "osu")
    assert re.search(r"^8.*Pass", validated, re.MULTILINE)
    assert re.search(r"^8\s+(\S+)", validated, re.MULTILINE)[1] == "0.41"


def test_a_window_that_is_not_the_usual_one_is_said():
    assert "[ window size: 16 ]" in in_style(run(_made("stream", 8, 100.0, window=16)), "osu")
    assert "window size" not in in_style(run(_made("stream", 8, 100.0, window=64)), "osu")


def test_a_run_without_its_patterns():
    with pytest.raises(UsageError, match="the run has no ping-pong, stream"):
        in_style(run(_made("pingping", 8, 100.0)), "osu")
