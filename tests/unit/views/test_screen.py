"""The first screen: an overview, a table of one path, pairs; why rows are not ok; and several runs
side by side."""

import json
import re
import shlex

import numpy as np
import pytest

from halftrip.errors import UsageError
from halftrip.render import csv, latex, markdown
from halftrip.render import json as json_format
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from halftrip.results.counts import Delivery
from halftrip.results.records import Aggregate, RunEnd, Skip
from halftrip.results.usage import BusiestTask
from halftrip.views import screen as first
from halftrip.views import side_by_side
from halftrip.views.overview import has_overview
from halftrip.views.screen import first_screen
from halftrip.views.why import why
from harness import runs
from harness.files import golden
from harness.screens import cells, text_of


def slices(*args, half_ns=100.0, **changes):
    levels = [half_ns * (1 + 0.002 * (n % 5 - 2)) for n in range(10)]
    return runs.slices(*args, levels=levels, **changes)


def screen(*measured, width=80, **changes):
    content = document(runs.run(*measured, **changes), flags=False)
    return text_of(first_screen(content), width)


def test_one_path_is_a_table_of_its_sizes_and_launches_are_counted():
    shown = screen(*(m for size in (8, 64, 512) for m in slices("tcp", size, "block")))
    lines = shown.splitlines()
    assert "tcp, wait block, pattern pingpong" in lines
    assert cells(lines, "size") == ["8", "64", "512"]
    assert cells(lines, "verdict") == ["ok"] * 3
    assert all(cell.startswith("± 0.") for cell in cells(lines, "95 %"))
    assert "Trust: 3 of 3 rows ok." in lines
    lossy = runs.measurement("udp", 64, delivery=Delivery(sent=400, lost=10, reordered=0))
    assert "lost: udp pingpong 64 B: 10 of 400 datagrams (2.5 %)" in screen(lossy)
    # What columns are is said once.
    both = screen(*slices("tcp", 64, "block"), lossy)
    said = both.count("median of half"), both.count("lost: datagrams")
    assert (*said, "\n\n\n" in both) == (1, 1, False)
    twice = screen(*slices("tcp", 64), *slices("tcp", 64, pattern="stream"), lossy)
    assert "\n\n\n" not in twice
    # What is the default is not told, what is not is.
    assert "buffers" not in shown
    same = [runs.measurement("tcp", wait="block", buffers="same", slice=n) for n in range(8)]
    assert "buffers same" in screen(*same)
    several = [runs.measurement("tcp", 8, "block", launch=n) for n in range(7)]
    assert " · 7 launches" in screen(*several, width=200).splitlines()[0]
    assert "launches" not in screen(*slices("tcp", 8, "block"), width=200).splitlines()[0]


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
        re.match(r"slowest: ranks 1-3 \(node1\): 3.00 us; median of 6 pairs: 1\S* us", line)
        for line in lines
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
    assert (
        "aggregate: tcp pingpong 8 B, 7 rounds of pairs: 1.14 to 8.00 MB/s, median 2.00 MB/s"
        in " ".join(shown.split())
    )


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
    assert [row.configuration.title for row in only.rows] == ["tcp pingpong 8 B"]
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


def test_runs_stand_side_by_side_in_every_format():
    shown = text_of(side_by_side.side_by_side(*two_runs()), 80).splitlines()
    assert shown[0].startswith("A: one.jsonl, ")
    assert shown[1].startswith("B: two.jsonl, ")
    assert cells(shown, "size") == ["8", "64", "512"]
    assert [cell[:4] for cell in cells(shown, "A")] == ["0.09", "0.09", "-"]
    assert [cell[:4] for cell in cells(shown, "B")] == ["-", "0.19", "0.09"]
    assert side_by_side.letters(28)[24:] == ["Y", "Z", "A2", "B2"]
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


SIZES = (1, 8, 64, 1024, 65536, 1 << 20)


def wandering(transport, size, half_ns, wander=0.004, **changes):
    """Ten slices whose medians differ by this share."""
    levels = np.random.default_rng(size).permutation(np.linspace(-1, 1, 10))
    wait = changes.pop("wait", "spin" if transport == "shm" else "block")
    levels = half_ns * (1 + wander * levels)
    return runs.slices(transport, size, wait, levels=levels, rtts=(60.0, 61.0), **changes)


def made(**changes):
    """A run of shm, tcp and udp: the first is calm, the second wanders, the third lacks a size."""
    shm = [wandering("shm", size, 50.0 + size / 20) for size in SIZES]
    tcp = [wandering("tcp", size, 9000.0 + size / 4, wander=0.06) for size in SIZES]
    udp = [wandering("udp", size, 8000.0 + size / 2, wander=0.3) for size in SIZES[:5]]
    every = [each for configuration in (*shm, *tcp, *udp) for each in configuration]
    values = {
        "skips": (Skip(transport="udp", reason="a datagram is smaller", sizes=[1 << 20]),),
        "end": RunEnd(reason=None, seconds=38.2, timed=30.0, clock_drift=[0.1, 0.2]),
    }
    return runs.run(*every, **(values | changes))


def test_the_whole_screen_and_why_rows_are_not_ok():
    content = document(made(), flags=False)
    assert has_overview(content.rows)
    shown = text_of(first_screen(content, "RUN"), 80)
    assert shown == golden("overview-80.txt", shown)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    shown = text_of(why(document(made(), flags=False)), 80)
    assert shown == golden("why-80.txt", shown)
    # What is missing is said before the verdict.
    run = made(end=RunEnd(reason="stopped by SIGINT"))
    shown = text_of(first_screen(document(run, flags=False)), 100)
    assert "not measured: udp 1M: a datagram is smaller\ninterrupted: stopped by SIGINT\n" in shown


def test_few_sizes_one_path_or_several_pairs_have_their_table():
    few = [*wandering("shm", 8, 50.0), *wandering("tcp", 8, 50.0)]
    one = [each for size in SIZES for each in wandering("shm", size, 50.0)]
    pairs = [*one, *(each for size in SIZES for each in wandering("shm", size, 50.0, pair=(2, 3)))]
    for measured in (few, one, pairs):
        assert not has_overview(document(runs.run(*measured)).rows)


def moving(line_of):
    """Twelve rows whose slices differ by up to a fifth; `line_of` makes the core-to-core round trip
    of a slice from its level and a generator."""
    generator = np.random.default_rng(7)
    made = []
    for transport, size in [(t, s) for t in ("shm", "tcp") for s in SIZES]:
        wait = "spin" if transport == "shm" else "block"
        for n, level in enumerate(generator.normal(1, 0.1, 10)):
            line = line_of(level, generator)
            made.append(
                runs.measurement(
                    transport, size, wait, 2000.0 * level, seed=n, slice=n, rtts=(line, line)
                )
            )
    return runs.run(*made, environments=runs.VIRTUAL)


def trust_of(run):
    shown = text_of(first_screen(document(run, flags=False), "a.jsonl"), 300)
    return next(line for line in shown.splitlines() if line.startswith("Trust")), shown


def test_rows_that_go_with_the_cores_say_so_together_and_others_do_not():
    said, shown = trust_of(moving(lambda level, random: 100 * (level + random.normal(0, 0.1))))
    assert "The cores moved: in " in said
    assert "of 12 rows the level goes with the core-to-core round trip" in said
    assert "Do:    keep to one state with --placement-state near, or far\n" in shown
    said, shown = trust_of(moving(lambda level, random: random.normal(100, 10)))
    assert ("level wandered" in said, "cores moved" in said) == (True, False)
    assert "; then\n       halftrip run --resume a.jsonl --again caution,no\n" in shown


def busy(size, wander, others, task=None):
    """Slices of a row, for most of whose time other programs had a core."""
    usage = runs.usage(core={"others": others, "busiest_task": task}), runs.usage(core={})
    return wandering("tcp", size, 9000.0, wander, usage=usage)


def test_the_example_of_contention_is_a_row_that_names_a_program():
    task = BusiestTask(name="stress (process 9)", share=0.6)
    said, _ = trust_of(runs.run(*busy(8, 0.3, 0.8), *busy(64, 0.02, 0.6, task)))
    assert "2 rows: CPU contention; tcp 64 B: other programs had" in said
    assert "stress (process 9)" in said


def test_messages_per_second_are_of_one_size_on_all_paths():
    """Where streams of several sizes were measured beside the ping-pong, of the smallest."""
    latency = [m for name in ("shm", "tcp") for size in SIZES for m in wandering(name, size, 50.0)]
    stream = {"pattern": "stream", "window": 64}
    rates = [m for n in ("shm", "tcp") for s in (8, 1024) for m in wandering(n, s, 10.0, **stream)]
    shown = text_of(first_screen(document(runs.run(*latency, *rates), flags=False)), 120)
    heading = next(line for line in shown.splitlines() if line.startswith("transport"))
    assert "messages 8 B" in heading
    # Paths are named by what tells them apart.
    waits = [
        m for size in SIZES for w in ("block", "spin") for m in wandering("tcp", size, 9.0, wait=w)
    ]
    lines = text_of(first_screen(document(runs.run(*waits), flags=False)), 100).splitlines()
    for name in ("tcp block", "tcp spin"):
        assert sum(line.startswith(name) for line in lines) == 2


def test_what_may_be_done_can_be_typed_as_it_stands_and_is_not_asked_for_in_vain():
    one = [m for size in SIZES for m in wandering("tcp", size, 9000.0, wander=0.06)]
    for reason, said in ((None, " --again caution"), ("stopped by SIGINT", "\n")):
        content = document(runs.run(*one, end=RunEnd(reason=reason)), flags=False)
        shown = text_of(first_screen(content, "a run.jsonl"), 200)
        assert f"run --resume 'a run.jsonl'{said}" in shown
        # With --resume, no other option is taken.
        do = shown[shown.index("Do:") : shown.index("More:")]
        assert "--slices" not in do
    single = runs.planned(slices=1, launches=1)
    assert "--again" not in trust_of(runs.run(*wandering("tcp", 8, 9000.0)[:1], header=single))[1]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_commands_are_whole_in_any_terminal(width):
    """Their lines, copied, are what a shell takes for them."""
    one = [m for size in SIZES for m in wandering("tcp", size, 9000.0, wander=0.06)]
    content = document(runs.run(*one), flags=False)
    shown = text_of(first_screen(content, "a run.jsonl"), width)
    lines = shown[shown.index("Do:") :].replace("\\\n", " ").splitlines()
    found = [shlex.split(line.removeprefix("More:"), comments=True) for line in lines]
    commands = [words for words in found if words[:1] == ["halftrip"]]
    assert commands == [
        ["halftrip", "run", "--resume", "a run.jsonl", "--again", "caution,no"],
        ["halftrip", "show", "a run.jsonl", "--why"],
        *(["halftrip", name, "a run.jsonl"] for name in ("fit", "explain")),
        ["halftrip", "doctor"],
    ]
    assert max(map(len, shown.splitlines())) <= width


def test_no_advice_before_a_run_goes_on_needs_a_new_run(monkeypatch):
    one = [m for size in SIZES for m in wandering("tcp", size, 9000.0, wander=0.06)]
    content = document(runs.run(*one), flags=False)
    for said, left in (
        ("stop them, or choose other cores with --cores", "stop them"),
        ("look for a second path, a timer, or another process",) * 2,
    ):
        monkeypatch.setattr(first, "advice", lambda _, said=said: said)
        assert first.to_do(content, "a.jsonl").startswith(f"{left}; then halftrip run --resume a")
        assert first.to_do(content, None) == said
        # Of a part of a run, nothing is measured again alone.
        assert "--resume" not in text_of(first_screen(content), 200)
