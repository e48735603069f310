"""The live line: what it says, how wide it is, and what it knows of the time that is left."""

import io
import os
import pty
import termios
from types import SimpleNamespace

import pytest
from rich.console import Console

from halftrip.report import progress as module
from halftrip.report.progress import ProgressLine
from harness.threads import in_thread


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def shown(clock, *updates, width=80, **options):
    """What the line says after `updates`: the second, and the arguments of `update`."""
    clock.now = 100.0
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, height=20)
    with ProgressLine(console, **options) as view:
        for now, *arguments in updates:
            clock.now = 100.0 + now
            view.update(*arguments)
        # The lines so far, without the codes that move and clear them.
        return screen.getvalue().rsplit("\x1b[2K", 1)[-1].strip("\r\n").removesuffix("\x1b[?25l")


def test_it_says_what_is_measured_how_far_it_is_and_how_long_it_takes(clock):
    for later_launches, left in ((0, "91 s"), (2, "5 min")):
        name = ("tcp pingpong 64K", later_launches)
        text = shown(clock, *((now, max(1, 10 * now), 1000, *name) for now in range(11)))
        assert text == f"tcp pingpong 64K · slice 100 of 1000 · {left} left"


def test_at_first_it_does_not_know_how_long_it_takes(clock):
    text = shown(clock, (0.0, 1, 10, "shm"), (0.5, 2, 10, "shm"))
    assert text == "shm · slice 2 of 10"
    # So it is in another launch.
    updates = [(float(now), now + 1, 20, "shm") for now in range(20)]
    text = shown(clock, *updates, (25.0, 1, 20, "shm"))
    assert text == "shm · slice 1 of 20"
    # A limited run takes no longer than its limit.
    updates = [(float(now), now + 1, 1000, "shm") for now in range(5)]
    assert shown(clock, *updates, seconds=10.0).endswith("· 6 s left")


def test_only_the_latest_seconds_tell_the_pace(clock):
    """First slices take longer."""
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


def test_without_a_terminal_there_are_warnings_alone_of_any_length():
    screen = io.StringIO()
    with ProgressLine(Console(file=screen, width=20)) as view:
        view.update(1, 2, "shm")
        view.warn(["core 0 is busy: [red]any program[/red] has 100% of it"])
    assert screen.getvalue() == (
        "halftrip: warning: core 0 is busy: [red]any program[/red] has 100% of it\n"
    )


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
