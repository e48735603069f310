"""The command in a real terminal: keys are typed, and the screen is read."""

import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest

from halftrip.results.run_file import load
from harness.limits import AMPLE_SECONDS
from harness.need import need

PROMPT = "ready> "


class Terminal:
    """A terminal of a tmux server of its own, with a shell in it."""

    def __init__(self, shell, columns, lines):
        self._tmux = ("tmux", "-S", str(shell.directory / "tmux"), "-f", "/dev/null")
        self._shell = shell
        bash = f"env PS1={shlex.quote(PROMPT)} bash --norc --noprofile"
        self._call("new-session", "-d", "-x", str(columns), "-y", str(lines), bash)
        self.wait(rf"^{PROMPT}".rstrip())

    def _call(self, *arguments):
        environment = {"TERM": "screen-256color", "PATH": _path()}
        result = self._shell.execute(*self._tmux, *arguments, environment=environment)
        assert result.status == 0, result.err
        return result.out

    def type(self, *keys):
        self._call("send-keys", *keys)

    def screen(self):
        """The lines of the screen."""
        return self._call("capture-pane", "-p").splitlines()

    def wait(self, pattern):
        """Waits until a line of the screen matches, and returns the screen."""
        end = time.monotonic() + AMPLE_SECONDS
        while True:
            lines = self.screen()
            if any(re.search(pattern, line) for line in lines):
                return lines
            assert time.monotonic() < end, lines
            time.sleep(0.05)

    def close(self):
        self._call("kill-server")


def _path():
    return f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def terminal(shell):
    need(shutil.which("tmux") is not None, "tmux is not installed")
    opened = []

    def open_(columns, lines=50):
        opened.append(Terminal(shell, columns, lines))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


@pytest.mark.extended
@pytest.mark.parametrize("columns", [80, 120])
def test_the_first_screen_fits_the_terminal(terminal, shell, columns):
    """It has the answer, how far to trust it, and what to do, and no line of it is wrapped."""
    seen = terminal(columns)
    seen.type("unset COLUMNS; halftrip run -t shm,pipe,tcp -s 1..4M*4 --time 20ms", "Enter")
    seen.wait(r" slice \d+ of \d+ ")
    lines = seen.wait(r"^run file: halftrip-")
    begin = next(n for n, line in enumerate(lines) if line.startswith("halftrip "))
    shown = lines[begin : next(n for n, line in enumerate(lines) if line.startswith("run file: "))]
    # Where there is no terminal, no line can be wrapped.
    plain = shell.halftrip("show", COLUMNS=str(columns)).out.splitlines()
    assert max(map(len, plain)) <= columns
    assert shown == [line.rstrip() for line in plain]
    assert any(line.startswith("transport ") for line in shown)
    assert any(line.startswith("one-way latency, us") for line in shown)
    assert any(line.startswith("Trust: ") for line in shown)
    assert any(line.startswith("More:") for line in shown)
    seen.type("clear", "Enter")
    seen.type("halftrip show", "Enter")
    again = seen.wait(r"^More:")
    assert [line for line in shown if line.startswith("shm ")] == [
        line for line in again if line.startswith("shm ")
    ]


def test_ctrl_c_shows_what_was_measured(terminal, shell):
    seen = terminal(80)
    seen.type("unset COLUMNS; halftrip run -t shm,tcp -s 8..1K --time 5s -o run.jsonl", "Enter")
    seen.wait(r"left")
    seen.type("C-c")
    lines = seen.wait(r"^interrupted: ")
    text = "\n".join(lines)
    assert "Traceback" not in text
    assert re.search(r"^halftrip: stopped by SIGINT", text, re.MULTILINE)
    seen.type("echo status $?", "Enter")
    seen.wait(r"^status 130")
    assert "SIGINT" in load(shell.path).interrupted
