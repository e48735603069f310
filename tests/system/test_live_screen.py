"""The first screen in a terminal while a run goes on, and what is left of it at the end."""

import os
import random
import re
import signal
import time

import pytest

from halftrip.report.document import document
from halftrip.results.run_file import load
from halftrip.views.screen import first_screen
from harness.choice import FULL, extended
from harness.screens import text_of
from harness.terminal import Terminal

# Two paths with sizes enough for an overview, in slices of 5 ms.
PATHS = ("-t", "shm,tcp", "-s", "8,256,1K,8K,64K", "--ci", "none")
ENDLESS = (*PATHS, "--time", "50s", "-r", "10000")
# Interrupts come at a moment that is drawn anew each time.
MOMENTS = range(8 if FULL else 4)
_COLOUR = re.compile(rb"\x1b\[(?:[0-9]+;)*[34][0-9]m")


def is_drawn(lines):
    return any(" · slice " in line for line in lines) and any("Trust:" in line for line in lines)


def assert_left(terminal, run, end=""):
    """Above the final screen there is nothing but warnings, and below it nothing but `end`."""
    assert not terminal.is_alternate
    assert terminal.seen.rfind(b"\x1b[?25h") > terminal.seen.rfind(b"\x1b[?25l")
    whole = first_screen(document(run, flags=False), "run.jsonl")
    screen = text_of(whole, terminal.normal.columns)
    found, said, below = terminal.text.rpartition(f"{screen}run file: run.jsonl\n")
    assert said
    assert below == end
    assert found.strip("\n") == "" or found.startswith("halftrip: warning: ")
    assert not re.search("slice|latency|Trust|lines more", found)


def assert_interrupted(terminal, shell):
    """An interrupt leaves the final screen, and says what it was."""
    terminal.type(b"\x03")
    assert terminal.await_end() == 128 + signal.SIGINT
    run = load(shell.path)
    assert run.interrupted == "stopped by SIGINT"
    assert_left(terminal, run, "halftrip: stopped by SIGINT\n")


@pytest.mark.parametrize(
    ("width", "later"),
    [
        (80, None),
        *extended((200, 0.0), *((random.Random(n).randint(40, 200), None) for n in MOMENTS)),
    ],
)
def test_an_interrupt_at_any_moment_leaves_the_final_screen(shell, width, later):
    terminal = Terminal(shell, *ENDLESS, width=width, height=40)
    # With a figure, which may have no interval yet: of a slow first pass, paths come one by one.
    figure = re.compile(r"shm +\d+(\.\d+)?[~!]? +")
    lines = terminal.await_screen(lambda lines: is_drawn(lines) and any(map(figure.match, lines)))
    assert terminal.is_alternate
    assert lines[0].startswith("halftrip ")
    assert not any(re.match("Do:|More:|interrupted", line) for line in lines)
    time.sleep(random.uniform(0, 1) if later is None else later)
    assert_interrupted(terminal, shell)


def test_what_does_not_fit_is_left_out_until_the_end(shell):
    terminal = Terminal(shell, *ENDLESS, width=200, height=50)
    lines = terminal.await_screen(is_drawn)
    assert not any("lines more" in line for line in lines)
    assert max(map(len, lines)) > 80
    terminal.resize(60, 12)
    lines = terminal.await_screen(
        lambda lines: is_drawn(lines) and any("lines more" in line for line in lines)
    )
    assert lines[0].startswith("halftrip ")
    terminal.resize(100, 40)
    terminal.await_screen(
        lambda lines: is_drawn(lines) and not any("lines more" in line for line in lines)
    )
    assert_interrupted(terminal, shell)


@pytest.mark.extended
def test_a_run_that_is_stopped_gives_the_normal_screen_back_meanwhile(shell):
    terminal = Terminal(shell, *ENDLESS, height=30)
    terminal.await_screen(is_drawn)
    terminal.type(b"\x1a")
    terminal.await_screen(lambda _: not terminal.is_alternate)
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.await_screen(is_drawn)
    assert_interrupted(terminal, shell)


@pytest.mark.extended
def test_a_run_that_ends_by_itself_prints_its_screen_once(shell):
    terminal = Terminal(shell, *PATHS, "--time", "200ms", height=30, NO_COLOR="1")
    assert terminal.await_end() == 0
    assert b"\x1b[?1049h" in terminal.seen
    assert not _COLOUR.search(terminal.seen)
    assert_left(terminal, load(shell.path))


@pytest.mark.extended
def test_a_terminal_without_a_second_screen_has_a_line(shell):
    terminal = Terminal(shell, *PATHS, "--time", "60ms", TERM="vt100")
    terminal.await_screen(lambda lines: any(" · slice " in line for line in lines))
    assert terminal.await_end() == 0
    assert b"\x1b[?1049h" not in terminal.seen
    assert "Trust:" in terminal.text
