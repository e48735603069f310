"""The screen of a run that was imported, and what cannot be done with it."""

from itertools import pairwise

import pytest

from halftrip.analysis.matching import partners
from halftrip.api import resume
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.views import screen, side_by_side
from harness import runs
from harness.imports import imported_run, reference
from harness.screens import text_of

OSU = """# OSU MPI Latency Test v7.4
# Size          Latency (us)
8                       9.00
16                      1.51
32                      1.55
64                      1.58
"""


def shown_of(imported, width=200):
    return text_of(screen.first_screen(document(imported), "osu.jsonl"), width)


def test_it_says_where_the_figures_are_from_and_how_far_to_trust_them():
    shown = shown_of(imported_run(OSU))
    assert shown.splitlines()[0].endswith("osu, imported from source.txt")
    assert "osu: its own figures; " in shown
    assert "latency: the mean of its row, as the time of a message one way." in shown
    (trust,) = [line for line in shown.splitlines() if line.startswith("Trust: ")]
    # That figures are single comes last.
    assert trust.index("1 row: contradicted") < trust.index("3 rows: no interval")
    for word in ("--resume", "--again", "--tails", "--cost", "doctor"):
        assert word not in shown
    assert "More:  halftrip show osu.jsonl --details, --why" in shown


def test_it_cannot_be_resumed(tmp_path):
    path = runs.save(imported_run(OSU), tmp_path / "osu.jsonl")
    for again in (None, ["no"]):
        with pytest.raises(UsageError, match=r"what osu has measured cannot be resumed$"):
            resume(path, again=again)


def side_by_side_of(theirs, *measured, width=160):
    """The lines of both runs beside each other."""
    documents = [document(runs.run(*measured)), document(theirs)]
    shown = side_by_side.side_by_side(documents, ["mine.jsonl", "theirs.jsonl"])
    return text_of(shown, width).splitlines()


def beside(*measured):
    """The cells of the lines of both runs."""
    lines = side_by_side_of(imported_run(OSU), *measured, width=120)
    assert lines[1].startswith("B: theirs.jsonl, ")
    assert lines[1].endswith(", imported from osu")
    return [line.split() for line in lines if line.startswith("mpi ")]


def test_it_stands_beside_what_it_may_be():
    found = beside(runs.measurement("mpi", 16), runs.measurement("mpi", 128))
    sizes = [line[1] for line in found]
    assert sizes == ["16", "128", "8", "32", "64"]
    assert found[0][-3:] == ["1.51!", "±", "?"]
    assert found[2][2:4] == ["-", "-"]
    # It may be either of two, or is known to be another.
    for others in (
        [{"wait": "spin"}, {"wait": "block"}], [{"buffers": "same"}], [{"mode": "nonblocking"}],
    ):  # fmt: skip
        found = beside(*(runs.measurement("mpi", 16, **each) for each in others))
        assert len(found) == 4 + len(others)


def test_a_row_of_each_table_stands_beside_ours_and_a_line_says_why_others_stand_alone():
    lines = side_by_side_of(imported_run(reference(4)), runs.measurement("mpi", 64))
    beside = [line for line in lines if "round trip of 64 " in line]
    assert len(beside) == 2
    for network, line in zip(("Gigabit Ethernet", "Myrinet"), beside, strict=True):
        assert f"{network} " in line
        assert " - " not in line
    (said,) = [line for line in lines if line.startswith("B: 2 of its 122 rows stand beside ")]
    assert "not the others: " in said
    for reason in (" of pattern stream", "of mode nonblocking", "of another size"):
        assert reason in said
    several = [runs.measurement("mpi", 16, wait=wait) for wait in ("spin", "block")]
    for measured, reason in (
        ([runs.measurement("mpi", 16)], "not the others: 3 of another size"),
        ([runs.measurement("mpi", 16, buffers="same")], "1 of buffers separate"),
        (several, "1 that may be any of several rows"),
    ):
        lines = side_by_side_of(imported_run(OSU), *measured)
        assert any(reason in line for line in lines)


STREAM = """# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1024                  500.00
"""


@pytest.mark.parametrize(("places", "count"), [("same", 1), ("own", 2)])
def test_what_is_compared_is_what_stands_side_by_side(places, count):
    """osu_bw sends all messages of a window from one place."""
    kind = {"pattern": "stream", "mode": "nonblocking", "window": 64, "places": places}
    mine, theirs = runs.measurement("mpi", 1024, **kind), imported_run(STREAM)
    lines = [line for line in side_by_side_of(theirs, mine) if line.startswith("mpi ")]
    assert len(lines) == count
    said = any("1 of places same" in line for line in side_by_side_of(theirs, mine))
    assert said == (count == 2)
    rows = ([row.configuration for row in document(each).rows] for each in (runs.run(mine), theirs))
    assert len(partners(*rows, anyway=False)) == 2 - count


def test_a_text_of_many_tables_has_a_line_for_each():
    """Streams and ping-pongs of several networks have no size in common to be compared by."""
    shown = shown_of(imported_run(reference(4)), 110)
    lines = [line for line in shown.splitlines() if line.startswith(("Gigabit", "Myrinet"))]
    assert len(lines) == 18
    (line,) = [each for each in lines if each.startswith("Myrinet") and "round trip of 64" in each]
    assert "7.12" in line
    wanted = ("Gigabit Ethernet  exponential", "stream", "1 to 64M", "33.1! at 32K")
    assert any(all(words in line for words in wanted) for line in lines)
    assert "pingpong, stream" in shown.splitlines()[0]
    # Rows of a table stand together.
    found = document(imported_run(reference(4)))
    names = [dict(row.configuration.variant)["network"] for row in found.latency_rows]
    assert sum(a != b for a, b in pairwise(names)) < 10
