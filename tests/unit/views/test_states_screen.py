"""What is said of the states of the machine."""

import csv
import json
import re

import msgspec
import pytest

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.analysis.history import history
from halftrip.analysis.run_figures import run_figures
from halftrip.export import gnuplot, openmetrics
from halftrip.export.measurements import measurements
from halftrip.page.answer import answer
from halftrip.plots.chart import Subject
from halftrip.plots.curves import latency
from halftrip.plots.pairs import pairs
from halftrip.render import csv as as_csv
from halftrip.report.document import document
from halftrip.report.frame import frame
from halftrip.views import details
from halftrip.views.compare import compare as compare_view
from halftrip.views.history import history as history_view
from halftrip.views.matrix import matrix
from halftrip.views.screen import first_screen
from halftrip.views.tails import tails
from harness import runs
from harness.histories import dated
from harness.moving import FAR, NEAR, moving
from harness.screens import text, text_of

SIZES = (8, 64, 1024, 8192, 65536)


def screen(run, width=100):
    return text_of(first_screen(document(run, flags=False), "a.jsonl"), width)


def test_the_heading_says_the_states_of_each_host():
    second = screen(moving()).splitlines()[1]
    assert second.startswith("core-to-core 92 ns (")
    assert " % of the run) and 27" in second
    assert second.endswith(" times")
    assert " · core-to-core 92 ns" in screen(moving(share=0.0)).splitlines()[0]
    # One that wanders has no single value.
    steps = [65.0 * 1.04**n for n in range(26)]
    slices = [runs.measurement(slice=n, rtts=(rtt, rtt)) for n, rtt in enumerate(steps)]
    assert " · core-to-core 62 to 182 ns · " in screen(runs.run(*slices)).splitlines()[0]

    def host(name, pair, **options):
        ranks = [runs.environment(rank, host=name) for rank in pair]
        found = moving(**options).measurements
        return ranks, [runs.with_settings(each, pair=pair) for each in found]

    one, other = host("a", (0, 1), share=0.0), host("b", (2, 3), share=0.0, near=150.0)
    run = runs.run(*one[1], *other[1], environments=(*one[0], *other[0]))
    assert "core-to-core on a 92 ns · core-to-core on b 150 ns" in screen(run, 200).splitlines()[0]


def test_rows_that_go_with_the_state_are_marked_and_have_a_line_for_each():
    shown = screen(moving(sizes=SIZES), 80)
    assert max(map(len, shown.splitlines())) <= 80
    shm, tcp = (
        [line for line in shown.splitlines() if line.startswith(name)] for name in ("shm", "tcp")
    )
    assert all(" near" in line for line in shm)
    assert not any("near" in line or "far" in line for line in tcp)
    assert "near: while core-to-core was at 92 ns; rows without such a word are of all" in shown
    assert "5 rows have figures in other states, too: --details." in shown
    assert "95 %: over launches in that state\n" in shown
    # Of a single launch it says that another may differ.
    alone = screen(moving(launches=1, slices=20, sizes=SIZES))
    assert "only launch in that state, which says nothing about another launch" in alone
    # Beside one with few slices, it is not the only one.
    beside = runs.run(
        *runs.slices("shm", 8, levels=[100.0] * 9),
        *runs.slices("shm", 8, levels=[100.0] * 3, launch=1),
    )
    assert "slices of the only launch that has enough of them, which says" in " ".join(
        screen(beside).split()
    )
    # A table of few rows says it in its legend.
    few = screen(moving(launches=1, slices=20))
    assert "which says nothing about another launch" in few
    # Details have a line for each state.
    shown = text_of(details.details(document(moving())), 120)
    lines = [line.split() for line in shown.splitlines() if line.startswith(("shm", "tcp"))]
    assert [line[0] for line in lines] == ["shm", "shm", "tcp"]
    assert ["near" in lines[0], "far" in lines[1]] == [True, True]


def test_programs_get_a_line_for_each_state():
    run = moving()
    lines = [*csv.DictReader(text(details.csv, run).splitlines())]
    assert [line["state"] for line in lines] == ["near", "far", ""]
    values = [float(line["state_core_to_core_ns"]) for line in lines[:2]]
    assert values == pytest.approx([NEAR, FAR], rel=0.02)
    assert lines[2]["state_core_to_core_ns"] == ""
    assert sum(float(line["state_share"]) for line in lines[:2]) == pytest.approx(1.0)
    rows = json.loads(text(details.json, run))["rows"]
    assert [row["state"] for row in rows] == ["near", "far", None]
    pytest.importorskip("pandas")
    assert [*frame(run).state.fillna("")] == ["near", "far", ""]
    slices = frame(run, slices=True)
    assert set(slices.state) == {"near", "far"}
    assert not slices.state_changed.any()
    assert {each.line["state"] for each in measurements(document(run))} == {"near", "far"}


def test_what_has_no_column_for_the_state_says_of_which_its_figures_are():
    """One sentence everywhere; and the figures of every state where there is room for them."""
    some = {"sizes": (8, 64), "launches": 6}
    found, same = document(moving(**some), flags=False), document(moving(share=0.0), flags=False)
    pairs_of = [document(_three_pairs(each.run), flags=False) for each in (found, same)]
    said = "are of the state that held most: near (core-to-core at 9"
    for name, of, documents in (
        ("script", lambda of: gnuplot.files(of)[".gnuplot"], (found, same)),
        ("data", lambda of: gnuplot.files(of)[".dat"], (found, same)),
        ("answer", lambda of: " ".join(answer(of)), (found, same)),
        ("picture", lambda of: " ".join(latency([Subject("a", of)])[0].lines), (found, same)),
        ("matrix", lambda of: text_of(matrix(of), 100), pairs_of),
        ("heat map", lambda of: " ".join(pairs([Subject("a", of)])[0].lines), pairs_of),
    ):
        has = [said in " ".join(of(each).split()) for each in documents]
        assert has == [True, False], name
    data = gnuplot.files(found)[".dat"]
    states = {line.split()[-1] for line in data.splitlines() if line[:1].isdigit()}
    assert states == {"near", "-"}
    metrics = openmetrics.files(found)[".prom"]
    assert set(re.findall(r'state="([^"]*)"', metrics)) == {"near", "far", ""}
    shown = [*csv.DictReader(text(lambda of: as_csv.render(tails(of)), found.run).splitlines())]
    assert {line["state"] for line in shown if line["transport"] == "shm"} == {"near", "far"}


def _three_pairs(run):
    """The run between each two of three hosts."""
    hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(3))
    return runs.run(
        *(
            runs.with_settings(each, pair=pair)
            for pair in ((0, 1), (0, 2), (1, 2))
            for each in run.measurements
        ),
        environments=hosts,
    )


def compared(base, new):
    found = compare(ComparedRun.of(base, "a"), [ComparedRun.of(new, "b")])
    return text_of(compare_view(found, every=True), 140)


def test_a_comparison_names_the_state_of_each_line_or_how_to_get_a_common_one():
    shown = compared(moving(1), moving(2, share=0.55, factor=1.2))
    # A row that is told in two states is one.
    assert "All 2 rows are slower." in shown
    assert "not counted: launches in another state (1 row)" in shown
    assert [word in shown for word in ("near", "far")] == [True, True]
    shown = compared(moving(1, share=0.0), moving(2, share=1.0))
    assert "Cannot tell of 2 rows: cores were at 92 ns, now at 278. --placement-state" in shown
    assert "more --launches see several." in " ".join(shown.split())


def test_a_history_says_which_states_its_runs_were_in():
    made = [
        run_figures(str(n), dated(moving(n + 1, share=float(n >= 8), launches=6), n))
        for n in range(16)
    ]
    shown = " ".join(text_of(history_view(history(made), True, False), 140).split())
    assert "Of 2 rows, each state is told by itself: cores were at 92 ns in 8 runs, 27" in shown
    assert "Cannot tell between these: --placement-state near, or far" in shown
    assert "No change of " in shown


def test_a_history_counts_rows_and_not_their_states_and_runs_of_all_rows():
    """Of three rows, two are told in two states; the first has seen the far one in one run."""
    made = [run_figures(str(n), dated(moving(n + 1, share=0.5, launches=6), n)) for n in range(8)]
    (shm,) = [each for each in made[0].levels if each.transport == "shm"]
    other = msgspec.structs.replace(shm, size=64)
    made = [
        each._replace(
            figures={**each.figures, other: each.figures[shm]},
            levels={
                **each.levels,
                shm: sorted(each.levels[shm], key=lambda found: found.level)[: 1 + (n == 0)],
                other: each.levels[shm],
            },
            goes={**each.goes, other: True},
        )
        for n, each in enumerate(made)
    ]
    shown = " ".join(text_of(history_view(history(made), False, False), 140).split())
    assert "Of 2 rows, each state is told by itself: " in shown
    assert re.search(r"cores were at 9. ns in 8 runs, 27. ns in 8 runs\.", shown)
    assert "No change of any of 3 rows in 8 runs" in shown
    assert "3 rows without a change: --all" in shown
