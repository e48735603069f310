"""The screen of a run that was imported, and what cannot be done with it."""

from itertools import pairwise

import pytest

from halftrip.api import resume
from halftrip.errors import UsageError
from halftrip.report import screen, side_by_side
from halftrip.report.document import document
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


@pytest.fixture
def shown():
    return text_of(screen.render(document(imported_run(OSU)), 200, "osu.jsonl"), 200)


def test_it_says_where_the_figures_are_from(shown):
    assert shown.splitlines()[0].endswith("osu, imported from source.txt")
    assert "osu: its own figures; " in shown
    assert "latency: the mean of its row, as the time of a message one way." in shown


def test_each_cause_is_said_and_that_figures_are_single_comes_last(shown):
    (trust,) = [line for line in shown.splitlines() if line.startswith("Trust: ")]
    assert trust.index("1 row: contradicted") < trust.index("3 rows: no interval")


def test_nothing_is_offered_that_only_runs_of_ours_have(shown):
    for word in ("--resume", "--again", "--tails", "--cost", "doctor"):
        assert word not in shown
    assert "More:  halftrip show osu.jsonl --details, --why" in shown


def test_it_cannot_be_resumed(tmp_path):
    path = runs.save(imported_run(OSU), tmp_path / "osu.jsonl")
    with pytest.raises(UsageError, match=r"what osu has measured cannot be resumed$"):
        resume(path)
    with pytest.raises(UsageError, match=r"what osu has measured cannot be resumed$"):
        resume(path, again=["no"])


def beside(*measured):
    """The cells of the lines of both runs."""
    documents = [document(runs.run(*measured)), document(imported_run(OSU))]
    shown = side_by_side.render(documents, ["mine.jsonl", "osu.jsonl"], 120)
    lines = text_of(shown, 120).splitlines()
    assert lines[1].startswith("B: osu.jsonl, ")
    assert lines[1].endswith(", imported from osu")
    return [line.split() for line in lines if line.startswith("mpi ")]


def test_it_stands_beside_what_it_may_be():
    found = beside(runs.measurement("mpi", 16), runs.measurement("mpi", 128))
    sizes = [line[1] for line in found]
    assert sizes == ["16", "128", "8", "32", "64"]
    assert found[0][-3:] == ["1.51!", "±", "?"]
    assert found[2][2:4] == ["-", "-"]


@pytest.mark.parametrize("others", [
    # It may be either of two, or is known to be another.
    [{"wait": "spin"}, {"wait": "block"}],
    [{"buffers": "same"}],
    [{"mode": "nonblocking"}],
])  # fmt: skip
def test_it_stands_alone_where_it_may_be_several_or_none(others):
    found = beside(*(runs.measurement("mpi", 16, **each) for each in others))
    assert len(found) == 4 + len(others)


def side_by_side_of(theirs, *measured, width=160):
    """The lines of both runs beside each other."""
    documents = [document(runs.run(*measured)), document(theirs)]
    shown = side_by_side.render(documents, ["mine.jsonl", "theirs.jsonl"], width)
    return text_of(shown, width).splitlines()


def test_a_row_of_each_table_of_a_text_stands_beside_ours_under_the_names_of_the_text():
    lines = side_by_side_of(imported_run(reference(4)), runs.measurement("mpi", 64))
    beside = [line for line in lines if "round trip of 64 " in line]
    assert len(beside) == 2
    for network, line in zip(("Gigabit Ethernet", "Myrinet"), beside, strict=True):
        assert f"{network} " in line
        assert " - " not in line


def test_a_line_says_why_others_stand_alone():
    lines = side_by_side_of(imported_run(reference(4)), runs.measurement("mpi", 64))
    (said,) = [line for line in lines if line.startswith("B: 2 of its 122 rows stand beside ")]
    assert "not the others: " in said
    for reason in (" of pattern stream", "of mode nonblocking", "of another size"):
        assert reason in said
    sized = side_by_side_of(imported_run(OSU), runs.measurement("mpi", 16))
    assert any(line.endswith("not the others: 3 of another size") for line in sized)
    buffers = side_by_side_of(imported_run(OSU), runs.measurement("mpi", 16, buffers="same"))
    assert any("1 of buffers separate" in line for line in buffers)
    several = [runs.measurement("mpi", 16, wait=wait) for wait in ("spin", "block")]
    assert any(
        "1 that may be any of several rows" in line
        for line in side_by_side_of(imported_run(OSU), *several)
    )


def test_nothing_is_said_of_runs_that_were_not_imported_or_all_were():
    both = [document(imported_run(OSU)), document(imported_run(OSU))]
    shown = text_of(side_by_side.render(both, ["a.jsonl", "b.jsonl"], 120), 120)
    assert "stand beside" not in shown


def test_a_text_of_many_tables_has_a_line_for_each():
    """Streams and ping-pongs of several networks have no size in common to be compared by."""
    shown = text_of(screen.render(document(imported_run(reference(4))), 110, "a.jsonl"), 110)
    lines = [line for line in shown.splitlines() if line.startswith(("Gigabit", "Myrinet"))]
    assert len(lines) == 18
    (line,) = [each for each in lines if each.startswith("Myrinet") and "round trip of 64" in each]
    assert "7.12" in line
    (line,) = [
        each for each in lines if "Gigabit Ethernet  exponential" in each and "stream" in each
    ]
    assert "1 to 64M" in line
    assert "33.1! at 32K" in line
    assert "pingpong, stream" in shown.splitlines()[0]


def test_rows_of_a_table_stand_together():
    found = document(imported_run(reference(4)))
    names = [dict(row.configuration.variant)["network"] for row in found.latency_rows]
    changes = sum(a != b for a, b in pairwise(names))
    assert changes < 10
