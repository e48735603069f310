"""What a run says, once; and the live line: what it says, and what it knows of the time left."""

import io
import os
import pty
import termios
from collections import Counter
from types import SimpleNamespace

import msgspec
import pytest
from rich.console import Console

from halftrip.report import progress as module
from halftrip.report.document import Baselines, document
from halftrip.report.progress import ProgressLine
from halftrip.results.block import RoundTrips
from halftrip.results.records import Aggregate, CopyTime, Failure, Notice, Skip
from halftrip.results.run import Run
from halftrip.views import notes
from halftrip.views.screen import first_screen
from harness import runs
from harness.threads import in_thread


def aggregate(transport="shm", size=8, pairs=((0, 2), (1, 3))):
    configuration = runs.configuration(transport, size, pair=pairs[0], concurrency=len(pairs))
    return Aggregate(
        configuration=configuration, slice=0, pairs=list(pairs), spans=[1000], messages=[10.0]
    )


def test_rows_are_split_by_latency_and_rate_and_in_the_order_of_a_table():
    made = document(runs.run(runs.measurement("tcp"), runs.stream(), runs.measurement("shm")))
    assert [row.configuration.transport for row in made.rows] == ["shm", "tcp", "udp"]
    assert [row.configuration.transport for row in made.latency_rows] == ["shm", "tcp"]
    assert [row.configuration.transport for row in made.rate_rows] == ["udp"]
    three = [aggregate("tcp", 64), aggregate("shm", 64), aggregate("shm", 8)]
    made = document(runs.run(aggregates=tuple(three)))
    assert made.aggregates == [three[2], three[1], three[0]]


def test_baselines_are_those_of_all_launches_without_simulated_paths():
    copies = [CopyTime(rank=0, size=65536, ns=ns) for ns in (2000.0, 2600.0, 2100.0)]
    copies.append(CopyTime(rank=0, size=4096, ns=100.0))
    made = document(
        runs.run(
            runs.measurement("shm", rtts=(150.0, 152.0)),
            runs.measurement("tcp", rtts=None),
            runs.measurement("simulated", rtts=(1.0, 2.0)),
            copy_times=tuple(copies),
        )
    )
    assert made.baselines == Baselines([150.0, 152.0], {65536: 2100.0, 4096: 100.0})
    assert document(runs.run(copy_times=())).baselines == Baselines([], {})


def test_how_far_pages_are_apart_is_said_of_all_probes_but_one_in_ten():
    probed = [
        msgspec.structs.replace(
            block,
            core_to_core_rtt=RoundTrips(400.0, 400.0 + number),
            core_to_core_farthest=RoundTrips(4000.0, 440.0 + 8 * number if number < 20 else 4000.0),
        )
        for number in range(21)
        for block in runs.blocks([1000])
    ]
    content = document(runs.run(runs.measurement("shm", blocks=probed)))
    assert len(content.baselines.pages) == 21
    (said,) = [line for line in notes.baselines(content.baselines) if "cache line" in line]
    assert said.endswith("; pages 418 to 584 ns")
    (said,) = notes.baselines(Baselines([150.0], {}))
    assert "pages" not in said


def test_what_went_wrong_is_there_once():
    notices = [
        Notice(rank=0, host="node1", text="odd", launch=0),
        Notice(rank=0, host="node1", text="odd", launch=1),
        Notice(rank=1, host="node2", text="odd"),
        # What the kernel gave less of was not left out.
        Notice(rank=0, host="node1", text="tcp: less", kind="shortfall"),
        # The name of a file is that of a launch.
        Notice(rank=0, host="node1", text="no room for /shm/job-a1/x.0", kind="printed", launch=0),
        Notice(rank=0, host="node1", text="no room for /shm/job-b7/x.0", kind="printed", launch=1),
        Notice(rank=0, host="node2", text="no room for /shm/job-b7/x.0", kind="printed", launch=1),
    ]
    skip = Skip(transport="tcp", reason="because")
    failure = Failure(configuration=runs.configuration(), slice=0, reason="a wrong byte")
    found = runs.run(notices=tuple(notices), skips=(skip,), failures=(failure,), end=None)
    made = document(found)
    assert made.warnings == [
        *("left out: node1: odd", "left out: node2: odd", "node1: tcp: less"),
        *("node1: no room for /shm/job-a1/x.0", "node2: no room for /shm/job-b7/x.0"),
    ]
    assert (made.skips, made.failures) == ([skip], [failure])
    assert made.interrupted == "the run ended without saying why"
    assert document(runs.run()).interrupted is None


def test_of_many_rows_nothing_that_is_of_the_whole_run_is_asked_twice(monkeypatch):
    """Steps of work, counted: a row more costs no look at all ranks, or at all other rows."""
    looks = []
    seen = Run.__getattribute__

    def counted(run, name):
        looks.append(name)
        return seen(run, name)

    def work(pairs):
        pairs = [(0, rank) for rank in range(1, pairs + 1)]
        measured = [runs.measurement("tcp", pair=pair, samples=[1000] * 30) for pair in pairs]
        ranks = tuple(runs.environment(rank) for rank in range(len(pairs) + 1))
        made = runs.run(*measured, environments=ranks)
        looks.clear()
        first_screen(document(made))
        return Counter(looks)

    monkeypatch.setattr(Run, "__getattribute__", counted, raising=False)
    few, many = work(3), work(30)
    for name in ("environments", "measurements", "copy_times", "by_configuration"):
        assert 0 < few[name] == many[name], name


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(clock, *updates, width=80, **options):
    """What the line says after `updates`: the second, and the arguments of `update`."""
    clock.now = 100.0
    screen = Terminal()
    console = Console(file=screen, width=width, height=20)
    with ProgressLine(console, **options) as view:
        for now, *arguments in updates:
            clock.now = 100.0 + now
            view.update(*arguments)
        # The lines so far, without the codes that move and clear them.
        return screen.getvalue().rsplit("\x1b[2K", 1)[-1].strip("\r\n").removesuffix("\x1b[?25l")


def test_what_is_no_terminal_gets_whole_lines_and_no_movements():
    """Warnings alone, of any length; a pipe that FORCE_COLOR has taken for a terminal, too."""
    pipe = io.StringIO()
    with ProgressLine(Console(file=pipe, force_terminal=True, width=20)) as view:
        view.update(1, 2, "shm pingpong 8")
        view.warn(["a line that is longer than twenty columns"])
    assert pipe.getvalue() == "halftrip: warning: a line that is longer than twenty columns\n"
    screen = io.StringIO()
    with ProgressLine(Console(file=screen, width=20)) as view:
        view.update(1, 2, "shm")
        view.warn(["core 0 is busy: [red]any program[/red] has 100% of it"])
    assert screen.getvalue() == (
        "halftrip: warning: core 0 is busy: [red]any program[/red] has 100% of it\n"
    )


def test_it_says_what_is_measured_how_far_it_is_and_how_long_it_takes(clock):
    for later_launches, left in ((0, "91 s"), (2, "5 min")):
        name = ("tcp pingpong 64K", later_launches)
        text = shown(clock, *((now, max(1, 10 * now), 1000, *name) for now in range(11)))
        assert text == f"tcp pingpong 64K · slice 100 of 1000 · {left} left"


def test_how_long_it_takes_is_said_as_soon_as_it_is_known(clock):
    """Not at first."""
    text = shown(clock, (0.0, 1, 10, "shm"), (0.5, 2, 10, "shm"))
    assert text == "shm · slice 2 of 10"
    # So it is in another launch.
    updates = [(float(now), now + 1, 20, "shm") for now in range(20)]
    text = shown(clock, *updates, (25.0, 1, 20, "shm"))
    assert text == "shm · slice 1 of 20"
    # A limited run takes no longer than its limit.
    updates = [(float(now), now + 1, 1000, "shm") for now in range(5)]
    assert shown(clock, *updates, seconds=10.0).endswith("· 6 s left")
    # The latest seconds tell the pace: first slices take longer.
    slow = [(float(now), now + 1, 200, "shm") for now in range(20)]
    fast = [(20.0 + now, 20 + 10 * now, 200, "shm") for now in range(12)]
    assert shown(clock, *slow, *fast).endswith("slice 130 of 200 · 7 s left")


def test_it_fits_the_terminal(clock):
    width = 20
    updates = [(float(now), now + 1, 1000, "launch 2 of 3 · tcp pingpong 64K") for now in range(5)]
    text = shown(clock, *updates, width=width)
    assert len(text) <= width
    assert text.endswith("…")
    assert "\n" not in text


def test_no_run_waits_for_a_terminal_whose_output_is_stopped():
    """As by Ctrl-S; it goes on when the user lets it."""
    master, end = pty.openpty()
    with open(master, "rb"), open(end, "w") as terminal:
        console = Console(file=terminal, width=80)
        with ProgressLine(console) as view:
            termios.tcflow(end, termios.TCOOFF)
            finish = in_thread(lambda: view.update(1, 2, "shm"))
            try:
                assert finish() is None
            finally:
                termios.tcflow(end, termios.TCOON)
            view.update(2, 2, "tcp")
        shown = b""
        while b"tcp" not in shown:
            shown += os.read(master, 1 << 12)
        assert b"shm" not in shown
