"""What is printed of the history of several runs, and of a comparison."""

import json
import math

import numpy as np
import pytest

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.analysis.history import history
from halftrip.render import csv
from halftrip.render import json as as_json
from halftrip.views.compare import answer as answered
from halftrip.views.compare import left_out, shown_rows
from halftrip.views.history import ASCII, BLOCKS, answer, sparkline
from halftrip.views.history import history as view
from harness import runs
from harness.files import golden
from harness.histories import KERNELS, contended, dated, figures, weekly
from harness.screens import text_of


@pytest.fixture(scope="module")
def changed():
    return history(figures(weekly(20, step_at=12)))


def shown(found, width=100, every=False, blocks=True, wide=False):
    return text_of(view(found, every, blocks), width, wide)


def test_the_whole_screen(changed):
    screen = shown(changed, 80, every=True, blocks=False)
    assert screen == golden("history-80.txt", screen)
    assert max(map(len, screen.splitlines())) <= 80
    assert screen.isascii()
    assert "2 rows without a change: --all" in shown(changed)


def test_where_nothing_changed_it_says_what_would_have_been_found():
    (line,) = answer(history(figures(weekly(20))))
    assert line.startswith(
        "No change of any of 4 rows in 20 runs, 2026-01-05 to 2026-05-18. A step"
    )
    assert line.endswith("% half-way would be found.")
    (line,) = answer(history(figures(weekly(6, spread=1.0))))
    assert line.endswith("2026-02-09. No step can be found: runs are too few, or too far apart.")


def test_a_few_runs_or_rows_of_other_runs_are_no_history():
    (line,) = answer(history(figures(weekly(5))))
    assert line.startswith("No answer yet: 5 run")
    assert line.endswith("a change needs 3 runs before it and 3 after it.")
    every = [dated(runs.run(runs.measurement(size=8 + number)), number) for number in range(8)]
    (line,) = answer(history(figures(every)))
    assert "no row is in 6 of them" in line


def stepping(*levels):
    """One row, with eight runs of each of these levels."""
    measured = [
        dated(runs.run(runs.measurement(half_ns=level, seed=number)), number)
        for number, level in enumerate(level for level in levels for _ in range(8))
    ]
    return history(figures(measured))


def test_more_than_two_changes_follow_the_table():
    found = stepping(100.0, 150.0, 100.0, 170.0)
    assert answer(found)[-1] == "1 more change: see below the table."
    assert shown(found).count("shm 8 B got") == 2 + 3


@pytest.mark.parametrize("characters", [BLOCKS, ASCII])
def test_a_sparkline_goes_from_low_to_high_with_marks_at_changes(characters):
    (row,) = stepping(100.0, 150.0).rows
    low, high = characters[0], characters[-1]
    line = sparkline(row, 16, blocks=characters is BLOCKS)
    assert line.count("|") == 1
    assert len(line) == 17
    assert line.startswith(low)
    assert line.endswith(high)


def test_many_runs_share_characters_and_missing_ones_are_blank():
    (row,) = stepping(*[100.0] * 10).rows
    assert len(sparkline(row, 80, blocks=True)) == 24
    # Noise does not fill the scale.
    assert set(sparkline(stepping(100.0).rows[0], 8, blocks=True)) <= set("▄▅")
    kept = {place: figure for place, figure in row.figures.items() if place >= 40}
    assert sparkline(row._replace(figures=kept), 80, blocks=True).startswith(" " * 10 + "▄")


def test_bandwidths_are_said_as_such():
    def run(number):
        half_ns = 1e5 if number < 8 else 1.3e5
        return dated(
            runs.run(runs.measurement("tcp", 1 << 20, pattern="stream", half_ns=half_ns)), number
        )

    found = history(figures(map(run, range(16))))
    assert "tcp 1M got slower from run 9 of 16 on, 2026-01-13: bandwidth -23 %" in answer(found)[0]
    assert "MB/s" in shown(found)
    # Runs of one day have times.
    found = history(figures(dated(runs.run(runs.measurement()), n / 24) for n in range(8)))
    assert "2026-01-05 03:00 to 2026-01-05 10:00" in answer(found)[0]


def test_figures_have_the_signs_of_their_verdicts():
    found = history(figures(contended(number) for number in range(16)))
    shm, *_ = (line for line in shown(found).splitlines() if line.startswith("shm  "))
    assert "0.100   0.150~" in shm
    assert "~ caution   ! no: see show --why of that run" in shown(found)
    (said,) = answer(found)
    assert said.endswith("cause none -> CPU contention, share of other tasks 1.0 % -> 45 %.")
    first, *_, last = json.loads(as_json.render(view(found, False, True)))["rows"][0]["figures"]
    assert (first["verdict"], first["cause"], first["others_share"]) == ("ok", None, 0.01)
    assert (last["verdict"], last["cause"], last["others_share"]) == (
        "caution", "CPU contention", 0.45
    )  # fmt: skip


def test_for_programs_runs_rows_and_events_have_places(changed):
    made = json.loads(as_json.render(view(changed, False, True)))
    (event,) = made["events"]
    assert event["environment"] == [{"name": "kernel", "base": KERNELS[0], "new": KERNELS[1]}]
    assert len(made["runs"]) == 20
    for place in event["rows"]:
        row = made["rows"][place]
        assert row["transport"] == "mpi"
        (change,) = row["changes"]
        assert change["first_run"] == event["first_run"] == 12
        assert change["ratio_low"] < change["ratio"] < change["ratio_high"]
        assert len(row["figures"]) == 20
        assert row["figures"][0]["latency_ns"] > 0
    found = view(changed, False, True).records()
    assert len(found) == 4 * 20
    assert [line["change"] for line in found].count("slower") == 2
    assert csv.text(found).count("\n") == 1 + len(found)


def test_what_a_file_says_does_nothing_on_a_terminal():
    odd = [runs.environment(0, kernel=f"\x1b[2J{later}") for later in (False, True)]
    made = [
        runs.run(runs.measurement(half_ns=100.0 + 50 * (n > 7)), environments=(odd[n > 7],))
        for n in range(16)
    ]
    assert "\x1b" not in answer(history(figures(map(dated, made, range(16)))))[0]


TWO_LEVELS = [100, 400, 100, 101, 99], [400, 401, 100, 399, 400]
WIDE = [100, 110, 92, 104, 97], [97, 104, 92, 110, 100]
SAME = [100, 100.1, 99.9, 100.05, 99.95], [100, 100.1, 99.9, 100.05, 99.95]


def compared(*rows):
    """The comparison of two runs with the levels of their launches, ns, a pair for each size."""
    sides = (
        runs.run(
            *(
                launch
                for n, levels in enumerate(rows)
                for launch in runs.slices("shm", 8 << n, levels=levels[side], each="launch")
            )
        )
        for side in (0, 1)
    )
    base, new = (ComparedRun.of(run, name) for run, name in zip(sides, "ab", strict=True))
    (found,) = compare(base, [new])
    return found


@pytest.mark.parametrize(("hopeless", "said"), [(1, "the other"), (3, "the others")])
def test_launches_are_promised_of_those_rows_that_they_help(hopeless, said):
    found = compared(WIDE, *[TWO_LEVELS] * hopeless)
    (needed,) = {row.launches for row in found.rows} - {None}
    rows = f"1 of the {1 + hopeless} that cannot be told"
    assert (
        f"To find a change of 2 % in {rows} takes about {needed} launches of each run: "
        f"--launches {needed}; of {said} no number of launches tells."
    ) in answered(found)
    assert not any("launches of each run" in line for line in answered(compared(TWO_LEVELS)))
    assert any("in those that cannot be told takes" in line for line in answered(compared(WIDE)))


def test_why_rows_cannot_be_told_is_counted_without_their_figures():
    said = "Not told: launches are at two levels (3 rows), its interval is too wide (1 row)."
    assert said in answered(compared(WIDE, *[TWO_LEVELS] * 3))


def test_states_of_rows_that_are_shown_are_no_more_rows():
    found = compared(WIDE, WIDE)
    other = found.rows[0]._replace(state="far")
    more = found._replace(rows=[*found.rows, other])
    assert left_out(more, found.rows) == ["other states of 1 row: --all"]
    assert left_out(more, found.rows[:1])[0] == "1 row more cannot be told: --all"


def test_rows_are_in_the_order_of_the_ratio_that_is_shown():
    levels = np.random.default_rng(1).uniform(70, 130, (12, 2, 5))
    shown = [abs(math.log(row.ratio)) for row in compared(*levels).having("cannot tell")]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize(
    ("same", "said"),
    [(0, "2 rows more cannot be told: --all"), (3, "of 5 rows more, 3 are the same and 2 cannot")],
)
def test_rows_that_are_not_shown_are_counted_by_what_they_are(same, said):
    found = compared(*[WIDE] * 12, *[SAME] * same)
    assert left_out(found, shown_rows(found))[0].startswith(said)
    assert left_out(compared(*[SAME] * 2), []) == ["2 rows more are the same: --all"]
