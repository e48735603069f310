"""--style osu and imb: their layouts, and that their texts import as the same run."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrip.errors import UsageError
from harness.imports import in_style
from harness.runs import measurement, run
from harness.samples import one_way, read, sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def _made(pattern, size, half_ns, iterations=10, **changes):
    window = 64 if pattern in ("stream", "bidirectional") else 1
    values = {"pattern": pattern, "iterations": iterations, "window": window} | changes
    ns = half_ns * iterations * values["window"] * (2 if pattern == "pingpong" else 1)
    samples = [max(1, round(ns * factor)) for factor in (0.9, 1.0, 1.3)]
    return measurement("mpi", size, samples=samples, **values)


def _points(of):
    return [
        (each.configuration.pattern, each.configuration.size, each.configuration.window)
        for each in of.measurements
    ]


@pytest.mark.parametrize("style", ["osu", "imb"])
@settings(max_examples=30)
@given(data=st.data())
def test_its_text_imports_as_the_same_run(folder, style, data):
    patterns = ["pingpong", "stream", "bidirectional"] + ["pingping"] * (style == "imb")
    pattern, iterations = data.draw(st.sampled_from(patterns)), data.draw(st.sampled_from([1, 10]))
    changes = {"iterations": iterations}
    if style == "osu":
        changes["verify"] = data.draw(st.booleans())
        if pattern != "pingpong":
            changes["window"] = data.draw(st.sampled_from([2, 64, 100]))
    sizes = data.draw(st.lists(st.integers(1, 1 << 24), min_size=1, max_size=5, unique=True))
    times = st.floats(20.0, 1e6)
    made = run(*(_made(pattern, size, data.draw(times), **changes) for size in sorted(sizes)))
    text = in_style(made, style)
    rows = [line.split() for line in text.splitlines() if re.match(r" *\d", line)]
    assume(all(float(row[-2 if style == "imb" else 1]) > 0 for row in rows))
    again = read(text, folder)
    assert _points(again) == _points(made)
    for before, after in zip(made.measurements, again.measurements, strict=True):
        if style == "imb":
            assert after.iterations == before.samples.size * iterations
        messages = iterations * before.configuration.messages_per_iteration
        ns, step = float(before.samples.mean()) / messages, after.reported.step
        assume(step < 0.5 * ns)
        # Half a unit of the last digit, more where a rate has so few of them that it is not linear.
        slack = 1.01 if before.configuration.is_rate else 0.51
        assert abs(one_way(after) - ns) <= slack * step + 1.0 + 1e-9 * ns
    assert in_style(again, style) == text


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("imb", "four-benchmarks"),
        *(("osu", n) for n in ("latency", "latency-validated", "bw", "mbw-mr")),
    ],
)
def test_what_the_tool_printed_is_printed_again(folder, style, name):
    text = sample(style, name)
    assert in_style(read(text, folder), style) == text


def test_the_layout_of_imb():
    lines = in_style(run(_made("pingpong", 8, 330.0)), "imb").splitlines()
    at = lines.index("# Benchmarking PingPong ")
    assert lines[at + 3 : at + 5] == [
        "       #bytes #repetitions      t[usec]   Mbytes/sec",
        "            8           30         0.35        22.73",
    ]
    assert lines[-2] == "# All processes entering MPI_Finalize"
    lines = in_style(run(_made("bidirectional", 1000, 100.0)), "imb").splitlines()
    at = lines.index("# Benchmarking Biband ")
    # The sum of both directions: 1.0667 times 100 ns, the mean of the samples.
    assert lines[at + 4] == "         1000           30     18750.00     18750000"
    two = run(_made("pingpong", 8, 100.0), _made("pingpong", 8, 100.0, memory="cuda"))
    assert in_style(two, "imb").count("Intel(R) MPI Benchmarks") == 2
    # Figures that fill their columns stay apart.
    row = in_style(run(_made("bidirectional", 10_666_667, 20.0)), "imb").splitlines()[-5]
    assert row.split()[:2] == ["10666667", "30"]


def test_the_layout_of_osu():
    lines = in_style(run(_made("pingpong", 8, 380.0, 1)), "osu").splitlines()
    assert lines[:2] == ["# OSU MPI Latency Test v7.4", "# Datatype: MPI_CHAR."]
    assert lines[-2:] == [
        "# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)",
        "8                       0.41              0.38              0.47              0.49",
    ]
    alone = in_style(run(_made("pingpong", 8, 380.0)), "osu").splitlines()
    assert alone[-2:] == [f"{'# Size':<10s}{'Avg Latency(us)':>20s}", f"{8:<10d}{0.41:20.2f}"]
    # What ReFrame looks for.
    validated = in_style(run(_made("pingpong", 8, 380.0, verify=True)), "osu")
    assert re.search(r"^8\s+(\S+).*Pass", validated, re.MULTILINE)[1] == "0.41"
    # A window that is not the usual one is said.
    assert "[ window size: 16 ]" in in_style(run(_made("stream", 8, 100.0, window=16)), "osu")
    assert "window size" not in in_style(run(_made("stream", 8, 100.0)), "osu")


def test_what_the_tools_do_not_have():
    with pytest.raises(UsageError, match="of 64 messages"):
        in_style(run(_made("stream", 8, 100.0, window=32)), "imb")
    with pytest.raises(UsageError, match="the run has no ping-pong, stream"):
        in_style(run(_made("pingping", 8, 100.0)), "osu")
