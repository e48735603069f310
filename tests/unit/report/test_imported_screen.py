"""The screen of a run that was imported, and what cannot be done with it."""

import pytest

from halftrip.api import resume
from halftrip.errors import UsageError
from halftrip.report import screen, side_by_side
from halftrip.report.document import document
from harness import runs
from harness.imports import imported_run
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
