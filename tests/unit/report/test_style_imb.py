"""--style imb: its layout, and that its text imports as the same run."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from harness.imports import in_style
from harness.runs import measurement, run
from harness.samples import one_way, read, sample

_PATTERNS = {"pingpong": 1, "pingping": 1, "stream": 64, "bidirectional": 64}
_SIZES = st.lists(st.integers(0, 1 << 24), min_size=1, max_size=4, unique=True)
_TIMES = st.floats(20.0, 1e6)


def _made(pattern, size, half_ns, **changes):
    values = {"pattern": pattern, "iterations": 10, "window": _PATTERNS[pattern]} | changes
    ns = half_ns * values["iterations"] * values["window"] * (2 if pattern == "pingpong" else 1)
    return measurement(
        "mpi", size, samples=[max(1, round(ns * f)) for f in (0.9, 1.0, 1.3)], **values
    )


def _points(of):
    return sorted(
        (each.configuration.pattern, each.configuration.window, each.configuration.size)
        for each in of.measurements
    )


@given(st.sets(st.sampled_from(list(_PATTERNS)), min_size=1), st.data())
def test_its_text_imports_as_the_same_run(folder, patterns, data):
    made = run(
        *(
            _made(pattern, size, data.draw(_TIMES), iterations=data.draw(st.integers(1, 20)))
            for pattern in sorted(patterns)
            for size in sorted(data.draw(_SIZES))
        )
    )
    text = in_style(made, "imb")
    again = read(text, folder)
    assert _points(again) == _points(made)
    before = {(e.configuration.pattern, e.configuration.size): e for e in made.measurements}
    for after in again.measurements:
        of = before[after.configuration.pattern, after.configuration.size]
        assert after.iterations == of.samples.size * of.iterations
        messages = of.iterations * of.configuration.messages_per_iteration
        ns = float(of.samples.mean()) / messages
        step = after.reported.step
        assume(step < 0.5 * ns)
        # Half a unit of the last digit, more where a rate has so few of them that it is not linear.
        slack = 1.01 if of.configuration.is_rate else 0.51
        assert abs(one_way(after) - ns) <= slack * step + 1.0
    assert in_style(again, "imb") == text


def test_what_imb_printed_is_printed_again(folder):
    text = sample("imb", "four-benchmarks")
    assert in_style(read(text, folder), "imb") == text


def test_the_layout_of_pingpong():
    lines = in_style(run(_made("pingpong", 8, 330.0)), "imb").splitlines()
    at = lines.index("# Benchmarking PingPong ")
    assert lines[at - 1 : at + 5] == [
        "#---------------------------------------------------",
        "# Benchmarking PingPong ",
        "# #processes = 2 ",
        "#---------------------------------------------------",
        "       #bytes #repetitions      t[usec]   Mbytes/sec",
        "            8           30         0.35        22.73",
    ]
    assert lines[-2] == "# All processes entering MPI_Finalize"


def test_the_layout_of_biband_is_the_sum_of_both_directions():
    lines = in_style(run(_made("bidirectional", 1000, 100.0)), "imb").splitlines()
    at = lines.index("# Benchmarking Biband ")
    assert lines[at + 3] == "       #bytes #repetitions   Mbytes/sec      Msg/sec"
    # 1.0667 times 100 ns, the mean of the samples.
    assert lines[at + 4] == "         1000           30     18750.00     18750000"


def test_two_settings_of_one_pattern_are_two_texts(folder):
    made = run(_made("pingpong", 8, 100.0), _made("pingpong", 8, 100.0, memory="cuda"))
    text = in_style(made, "imb")
    assert text.count("# Benchmarking PingPong ") == text.count("Intel(R) MPI Benchmarks") == 2


def test_windows_that_imb_does_not_have():
    with pytest.raises(UsageError, match="of 64 messages"):
        in_style(run(_made("stream", 8, 100.0, window=32)), "imb")


def test_figures_that_fill_their_columns_stay_apart(folder):
    made = run(_made("bidirectional", 10_666_667, 20.0))
    row = in_style(made, "imb").splitlines()[-5]
    assert row.split()[:2] == ["10666667", "30"]
    assert _points(read(in_style(made, "imb"), folder)) == _points(made)
