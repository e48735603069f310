"""What halftrip adds to a bare loop, from what both took in turn."""

import math

import pytest

from halftrip.analysis.loop_ratios import Row, Turn, loop_ratio
from halftrip.report.loops import content, render
from harness.screens import text_of

ROW = Row("pipe", "pingpong", 8)


def turns(*halftrip, bare=1000.0):
    return [Turn(bare, each, bare) for each in halftrip]


@pytest.mark.parametrize(
    ("measured", "word"),
    [
        (turns(990, 1000, 1010, 1010, 1020, 1030), "same"),
        (turns(1060, 1100, 1100, 1100, 1150, 1150), "slower"),
        (turns(1040, 1100, 1100, 1100, 1150, 1150), "unknown"),
        (turns(700, 800, 800, 800, 900, 940), "faster"),
        (turns(700, 990, 1000, 1010, 1020, 1030), "unknown"),
        (turns(1000, 1000), "unknown"),
    ],
)
def test_what_halftrip_adds_is_told_where_the_interval_allows_it(measured, word):
    assert loop_ratio(ROW, measured).word == word


def test_a_turn_in_which_the_bare_loop_changed_does_not_count():
    moved = [Turn(1000, 3000, 3000), Turn(3000, 1000, 1000)]
    found = loop_ratio(ROW, [*turns(*[1020] * 6), *moved])
    assert (found.ratio, found.low, found.high) == pytest.approx((1.02, 1.02, 1.02))
    assert (found.steady, found.turns, found.bare, found.halftrip) == (6, 8, 1000, 1020)
    assert loop_ratio(ROW, moved * 5).word == "unknown"


def test_what_drifts_is_compared_with_the_loops_on_either_side():
    drifting = [
        Turn(1000 * 1.1**n, 1000 * 1.1 ** (n + 0.5), 1000 * 1.1 ** (n + 1)) for n in range(6)
    ]
    assert loop_ratio(ROW, drifting).ratio == pytest.approx(1.0)


def test_the_table_and_the_json_have_every_ratio_and_what_is_left_out():
    found = [
        loop_ratio(ROW, turns(*[2000] * 6), [Turn(1000, 3000, 1000)]),
        loop_ratio(Row("tcp", "stream", 4096), [Turn(1, 1, 9)]),
    ]
    screen = text_of(render(found, {"mpi": "no mpiexec"}, 100), 100)
    row = next(line.split() for line in screen.splitlines() if line.startswith("pipe"))
    assert " ".join(row) == "pipe pingpong 8 1.00 2.00 2.00 [2.00, 2.00] 3.00 adds 100 %"
    assert "not told" in screen
    assert "mpi: left out: no mpiexec" in screen
    first, second = content(found, {"mpi": "no mpiexec"})["loops"]
    assert (first["bare_ns"], first["halftrip_ns"], first["ratio"]) == (1000, 2000, 2)
    assert (first["verdict"], second["verdict"], second["ratio"]) == ("slower", "unknown", None)
    assert math.isnan(found[1].ratio)
