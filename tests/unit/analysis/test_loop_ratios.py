"""What halftrip adds to a bare loop, from what both took in turn."""

import pytest

from halftrip.analysis.loop_ratios import LoopRow, LoopTimes, loop_ratio
from halftrip.views.doctor import loops
from harness.screens import text_of

ROW = LoopRow("pipe", "pingpong", 8)


def turns(*halftrip, bare=1000.0):
    return [LoopTimes(bare, each) for each in halftrip]


@pytest.mark.parametrize(
    ("measured", "word"),
    [
        (turns(990, 1000, 1010, 1010, 1020, 1030), "same"),
        (turns(1060, 1100, 1100, 1100, 1150, 1150), "slower"),
        (turns(1000, 1100, 1100, 1100, 1150, 1150), "unknown"),
        (turns(700, 800, 800, 800, 900, 940), "faster"),
        (turns(700, 900, 900, 900, 1020, 1030), "same"),
        (turns(500, 990, 1000, 1010, 1020, 1200), "unknown"),
        (turns(1060, 1200), "unknown"),
    ],
)
def test_what_halftrip_adds_is_told_where_the_interval_allows_it(measured, word):
    assert loop_ratio(ROW, measured).word == word


def test_a_machine_that_changes_between_turns_does_not_change_the_ratio():
    found = loop_ratio(ROW, [LoopTimes(1000 * 3**n, 1020 * 3**n) for n in range(6)])
    assert found.ratio == pytest.approx((1.02, 1.02, 1.02))


def test_the_table_and_the_json_have_every_ratio_and_what_is_left_out():
    found = [
        loop_ratio(ROW, [*turns(*[2000] * 6), *[LoopTimes(1000, 2000, (1000, 3000))] * 2]),
        loop_ratio(LoopRow("tcp", "stream", 4096), turns(100, 900)),
    ]
    screen = text_of(loops(found, {"mpi": "no mpiexec"}), 100)
    row = next(line.split() for line in screen.splitlines() if line.startswith("pipe"))
    ratios = "2.00 [2.00, 2.00] 3.000 [3.000, 3.000]"
    assert " ".join(row) == f"pipe pingpong 8 1.00 2.00 {ratios} adds 100 %"
    assert "not known" in screen
    assert "mpi: left out: no mpiexec" in screen
    first, second = loops(found, {"mpi": "no mpiexec"}).content()["loops"]
    assert (first["bare_ns"], first["halftrip_ns"], first["ratio"]) == (1000, 2000, 2)
    assert (first["verdict"], second["verdict"]) == ("slower", "unknown")
    assert (first["p99_ratio"], second["p99_ratio"]) == (3, None)
