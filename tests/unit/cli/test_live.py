"""The first screen while a run goes on: what it says, how it fits, and where there is none. What
is shown is found out once."""

import io
import sys
from collections import Counter
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from halftrip.analysis import flags, states, summaries
from halftrip.analysis.expectation import Expectations
from halftrip.cli import live
from halftrip.cli.live import LiveScreen, fitted, progress_view
from halftrip.errors import Stopped
from halftrip.report.document import document, document_so_far
from halftrip.report.progress import ProgressLine
from halftrip.results.run_file import assemble, decode, load
from halftrip.stats import series
from halftrip.views.screen import first_screen
from harness import runs
from harness.files import ROOT
from harness.moving import moving
from harness.screens import text_of
from harness.shell import call

FORMATS = ROOT / "tests" / "golden" / "formats"
SIZES = (8, 64, 1024, 65536, 1 << 20)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("xyz")), st.integers(1, 20))
def test_as_many_lines_as_fit(shown, below, height):
    lines = [line.plain for line in fitted([*map(Text, shown)], [*map(Text, below)], height)]
    assert len(lines) == min(len(shown) + len(below), height)
    if len(lines) > len(below):
        assert lines[len(lines) - len(below) :] == below
    if len(shown) + len(below) <= height:
        assert lines == [*shown, *below]
    elif height > len(below):
        left_out = len(shown) + len(below) - height + 1
        assert f"... and {left_out} lines more, which are printed at the end" in lines


@pytest.mark.parametrize("name", ["1.jsonl", "1-varied.jsonl"])
def test_every_part_of_a_run_has_a_screen(name):
    """In the order of its file, with the same rows as without what was known before."""
    lines = (FORMATS / name).read_bytes().splitlines(keepends=True)
    header = load(FORMATS / name).header
    records = [decode(line) for line in lines[1:-1]]
    known = {}
    for count in range(len(records) + 1):
        run = assemble(header, records[:count])
        found = document_so_far(run, known)
        again = document_so_far(run, {})
        assert [row.summary for row in found.rows] == [row.summary for row in again.rows]
        text = text_of(first_screen(found, "run.jsonl"), 100)
        assert "interrupted" not in text
        assert "Do:" not in text
        assert ("Trust:" in text) == bool(found.rows)


def one_slice():
    """A run of two paths, a slice of each size, which is not over."""
    measured = [
        runs.measurement(transport, size, "spin", 500.0 + size)
        for transport in ("shm", "tcp")
        for size in SIZES
    ]
    return runs.run(*measured, end=None)


def test_a_row_of_one_slice_has_its_figure_while_the_run_is_not_over():
    so_far = text_of(first_screen(document_so_far(one_slice(), {}), "run.jsonl"), 100)
    stopped = text_of(first_screen(document(one_slice(), flags=False), "run.jsonl"), 100)
    for text in (so_far, stopped):
        assert "0.508!" in text
        assert "! wider than 10 %, or no interval yet" in text
    assert "interrupted: " in stopped
    assert "interrupted: " not in so_far


def test_only_rows_with_new_slices_are_analysed_again(monkeypatch):
    analysed = []
    whole = flags.evidence

    def counted(run, configuration, *others):
        analysed.append(configuration.size)
        return whole(run, configuration, *others)

    monkeypatch.setattr(flags, "evidence", counted)
    first = [runs.measurement("shm", size, "spin", 500.0, slice=0) for size in SIZES]
    more = runs.measurement("shm", 64, "spin", 520.0, slice=1)
    known = {}
    document_so_far(runs.run(*first, end=None), known)
    assert sorted(analysed) == [*SIZES]
    analysed.clear()
    (row,) = [
        row
        for row in document_so_far(runs.run(*first, more, end=None), known).rows
        if row.configuration.size == 64
    ]
    assert analysed == [64]
    assert row.slices == 2


class Screen(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "changes", "variables", "has_screen"),
    [
        (True, {}, {}, True),
        (False, {}, {}, False),
        # Some systems of continuous integration have colours in a pipe.
        (False, {}, {"FORCE_COLOR": "1"}, False),
        (True, {"quiet": True}, {}, False),
        (True, {"has_screen": False}, {}, False),
        (True, {}, {"TERM": "dumb"}, False),
        (True, {}, {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, False),
    ],
)
def test_where_there_is_a_screen(
    monkeypatch, tmp_path, is_terminal, changes, variables, has_screen
):
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Screen(is_terminal))
    keys = {"quiet": False, "has_screen": True} | changes
    view = progress_view(tmp_path / "run.jsonl", **keys, expected=Expectations({}), seconds=None)
    assert isinstance(view, LiveScreen if has_screen else ProgressLine)


class Line:
    """A progress line that nobody sees."""

    takes_warnings = True

    def __init__(self):
        self.warnings = []
        self.warn = self.warnings.extend

    def says(self, *arguments):
        return Text("slice")

    def draw(self, line):
        pass

    def remove(self):
        pass


@pytest.mark.parametrize("failure", [ZeroDivisionError("of nothing"), FileNotFoundError()])
def test_a_run_goes_on_where_its_screen_fails(tmp_path, failure):
    line = Line()
    view = LiveScreen(line, Console(), tmp_path / "run.jsonl", Expectations({}))
    view._progress = mock.Mock()
    view._progress.read.side_effect = failure
    view.update(1, 2, "shm")
    assert not view.visible
    named = ["no first screen before the end: ZeroDivisionError: of nothing"]
    assert line.warnings == ([] if isinstance(failure, OSError) else named)
    view.update(2, 2, "shm")
    view._progress.read.assert_called_once()


def test_a_signal_ends_the_run_while_its_screen_is_made(tmp_path):
    view = LiveScreen(Line(), Console(), tmp_path / "run.jsonl", Expectations({}))
    view._progress = mock.Mock()
    view._progress.read.side_effect = Stopped("stopped by SIGINT")
    with pytest.raises(Stopped):
        view.update(1, 2, "shm")


def test_the_work_for_the_screen_is_a_small_share_of_the_run(monkeypatch):
    """Whatever it takes."""
    clock = SimpleNamespace(now=100.0)
    clocks = dict.fromkeys(("monotonic", "thread_time"), lambda: clock.now)
    monkeypatch.setattr(live, "time", SimpleNamespace(**clocks))
    began = []

    class Progress:
        def prepare(self):
            pass

        def read(self):
            began.append(clock.now)
            clock.now += 0.3
            return False

    view = LiveScreen(Line(), Console(), "run.jsonl", Expectations({}))
    view._progress = Progress()
    while clock.now < 200:
        view.update(1, 2, "shm")
        clock.now += 0.1
    assert 0.3 * len(began) <= 0.05 * 100
    assert len(began) >= 10


@pytest.mark.parametrize("options", [(), ("--expect", "latency=1ms"), ("--why",), ("-j",)])
def test_medians_and_states_are_computed_once(tmp_path, monkeypatch, options):
    run = moving(launches=4)
    runs.save(run, tmp_path / "a.jsonl")
    calls = Counter()

    def counted(module, name):
        function = getattr(module, name)

        def call_it(*args, **named):
            calls[name] += 1
            return function(*args, **named)

        monkeypatch.setattr(module, name, call_it)

    def counts_slices(module):
        function = module.slice_times

        def call_it(slices, *args):
            some = list(slices)
            calls["slices"] += len(some)
            return function(some, *args)

        monkeypatch.setattr(module, "slice_times", call_it)

    counts_slices(series)
    counts_slices(flags)
    counted(states, "levels")
    counted(summaries.series, "configuration_times")
    result = call(tmp_path, "show", "a.jsonl", *options)
    assert result.status == 0
    of_states = 3  # shm has two, tcp none
    assert (calls["slices"], calls["levels"]) == (len(run.measurements), 1)
    assert calls["configuration_times"] == 1 + of_states
