"""Figures in the cells of tables, and figures that do not exist."""

import math

from halftrip.report.cells import NOTHING, number, percent, whole, wrapped
from halftrip.report.table import render
from harness import runs
from harness.screens import cells, printed


def test_figures_have_significant_digits_and_grouped_thousands():
    assert (number(1234567.0), number(0.01234), number(2048, 3, 1024)) == (
        "1,234,567",
        "0.0123",
        "2.00",
    )
    assert percent(0.12345) == "12.3"
    assert whole(12345) == "12,345"
    # One that does not exist is nothing.
    assert [number(None), number(math.nan)] == [NOTHING, NOTHING]
    assert [percent(None), percent(math.nan), whole(None)] == [NOTHING, NOTHING, NOTHING]


def test_a_stream_that_took_no_time_has_no_rates():
    lines = printed(render, runs.run(runs.stream(samples=[0] * 40)))
    assert cells(lines, "95 %") == ["± ?"]
    for column in ("bandwidth  ", "95 % interval", "messages  "):
        assert column not in lines[2]


def test_a_figure_and_its_unit_stay_on_one_line():
    for width in range(24, 60):
        lines = wrapped("", "others had 16 % of core 0 for 12.5 ms, ± 41 % of rank 3", width, 0)
        assert " ".join(lines) == "others had 16 % of core 0 for 12.5 ms, ± 41 % of rank 3"
        assert not any(line.startswith(("%", "ms")) or line.endswith("core") for line in lines)
