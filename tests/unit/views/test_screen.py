"""The first screen of runs that have no overview: a table of one path, and pairs; and several runs
side by side."""

import json

import pytest

from halftrip.errors import UsageError
from halftrip.render import csv, latex, markdown
from halftrip.render import json as json_format
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from halftrip.results.counts import Delivery
from halftrip.results.records import Aggregate
from halftrip.views import side_by_side
from halftrip.views.screen import first_screen
from harness import runs
from harness.screens import cells, text_of


def slices(*args, half_ns=100.0, **changes):
    levels = [half_ns * (1 + 0.002 * (n % 5 - 2)) for n in range(10)]
    return runs.slices(*args, levels=levels, **changes)


def screen(*measured, width=80, **changes):
    content = document(runs.run(*measured, **changes), flags=False)
    return text_of(first_screen(content), width)


def test_a_run_of_several_launches_says_how_many():
    several = [runs.measurement("tcp", 8, "block", launch=n) for n in range(7)]
    assert " · 7 launches" in screen(*several, width=200).splitlines()[0]
    assert "launches" not in screen(*slices("tcp", 8, "block"), width=200).splitlines()[0]


def test_one_path_is_a_table_of_its_sizes():
    shown = screen(*(m for size in (8, 64, 512) for m in slices("tcp", size, "block")))
    lines = shown.splitlines()
    assert "tcp, wait block, pattern pingpong" in lines
    assert cells(lines, "size") == ["8", "64", "512"]
    assert cells(lines, "verdict") == ["ok"] * 3
    assert all(cell.startswith("± 0.") for cell in cells(lines, "95 %"))
    assert "Trust: 3 of 3 rows ok." in lines
    lossy = runs.measurement("udp", 64, delivery=Delivery(sent=400, lost=10, reordered=0))
    assert "lost: udp pingpong 64: 10 of 400 datagrams (2.5 %)" in screen(lossy)
    # What is the default is not told, what is not is.
    assert "buffers" not in shown
    same = [runs.measurement("tcp", wait="block", buffers="same", slice=n) for n in range(8)]
    assert "buffers same" in screen(*same)


def pair(first, second, half_ns, size=8):
    return slices("tcp", size, "block", half_ns=half_ns, pair=(first, second))


ALL = {(a, b): 1000.0 for a in range(4) for b in range(a + 1, 4)}


def test_pairs_are_a_matrix_and_the_slowest_is_named():
    times = ALL | {(1, 3): 3000.0}
    measured = [m for (a, b), ns in times.items() for m in pair(a, b, ns)]
    lines = screen(*measured).splitlines()
    assert "tcp pingpong 8 B: one-way latency, us" in lines
    heading = next(n for n, line in enumerate(lines) if line.split() == ["rank", "1", "2", "3"])
    assert [float(word) for word in lines[heading + 2].split()] == [1, 1, 3]
    assert any(
        line.startswith("slowest: ranks 1-3 (node1): 3.00; median of 6 pairs: 1") for line in lines
    )
    measured = [m for (a, b), ns in ALL.items() for m in pair(a, b, ns * (1 + 1e-4 * (a + b)))]
    rounds = tuple(
        Aggregate(
            configuration=measured[0].configuration, slice=0, pairs=[(0, n), (n + 1, n + 2)],
            spans=[1_000_000 * n], messages=[1000.0],
        )
        for n in range(1, 8)
    )  # fmt: skip
    shown = screen(*measured, aggregates=rounds)
    assert "within its interval" in shown
    assert "aggregate: tcp pingpong 8, 7 rounds of pairs: 1.14 to 8.00 MB/s, median 2.00" in shown


def test_few_or_too_many_pairs_are_a_list_with_the_slowest_first():
    two = [*pair(0, 2, 1000.0), *pair(1, 3, 2000.0)]
    assert cells(screen(*two).splitlines(), "ranks") == ["1-3", "0-2"]
    # All pairs of 30 ranks: a matrix has no room.
    many = [
        runs.measurement("tcp", 8, "block", 1000.0 + 30 * b + a, pair=(a, b), slice=0)
        for a in range(30)
        for b in range(a + 1, 30)
    ]
    lines = screen(*many).splitlines()
    assert cells(lines, "ranks") == [f"{a}-29" for a in range(28, 18, -1)]
    assert max(map(len, lines)) <= 80


def test_a_selection_keeps_what_was_chosen():
    run = runs.run(
        *slices("shm", 8, "spin"), *slices("tcp", 8, "spin"), *slices("tcp", 4096, "spin"),
        *pair(0, 2, 10.0),
    )  # fmt: skip
    whole = document(run, flags=False)
    only = selected(whole, Selection(transports=("tcp",), sizes=((1, 100),), pairs=((0, 1),)))
    assert [row.configuration.title for row in only.rows] == ["tcp pingpong 8"]
    # It is judged as part of the whole run.
    assert only.rows[0] in whole.rows
    assert selected(whole, Selection()) is whole
    assert len(selected(whole, Selection(pairs=((2, 0),))).rows) == 1
    with pytest.raises(UsageError, match=r"^nothing to show; the run has -t shm, tcp; -p pingpong; "
                                         r"-s 8, 4K; --pair 0-1, 0-2$"):  # fmt: skip
        selected(whole, Selection(patterns=("stream",)))


def two_runs():
    first = runs.run(*slices("tcp", 8, "block"), *slices("tcp", 64, "block"))
    second = runs.run(*slices("tcp", 64, "block", half_ns=200.0), *slices("tcp", 512, "block"))
    return [document(run, flags=False) for run in (first, second)], ["one.jsonl", "two.jsonl"]


def test_runs_stand_side_by_side():
    shown = text_of(side_by_side.side_by_side(*two_runs()), 80).splitlines()
    assert shown[0].startswith("A: one.jsonl, ")
    assert shown[1].startswith("B: two.jsonl, ")
    assert cells(shown, "size") == ["8", "64", "512"]
    assert [cell[:4] for cell in cells(shown, "A")] == ["0.09", "0.09", "-"]
    assert [cell[:4] for cell in cells(shown, "B")] == ["-", "0.19", "0.09"]
    assert side_by_side.letters(28)[24:] == ["Y", "Z", "A2", "B2"]


def test_several_runs_in_other_formats():
    documents, files = two_runs()
    view = side_by_side.side_by_side(documents, files)
    assert "| tcp | 64 | 0.09" in markdown.render(view)
    assert "tcp & 64 & 0.09" in latex.render(view)
    heading, *lines = csv.render(view).splitlines()
    assert heading.startswith("run,transport,")
    assert [line.split(",")[0] for line in lines] == [file for file in files for _ in range(2)]
    found = json.loads(json_format.render(view))
    assert [each["run"] for each in found] == files


def test_of_a_table_of_thousands_of_rows_some_are_shown():
    content = document(runs.run(*(runs.measurement(size=size) for size in range(4, 808, 4))))
    shown = text_of(first_screen(content), 100)
    assert "40 of 201 rows, evenly chosen: --details has all" in shown
    sizes = [line.split()[0] for line in shown.splitlines() if line[:5].strip().isdigit()]
    assert (sizes[0], sizes[-1]) == ("4", "804")
    assert len(shown.splitlines()) < 60
