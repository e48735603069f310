"""A terminal with a command in it: what stands on its screen, and what scrolled out of it."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pyte

from harness.limits import AMPLE_SECONDS
from harness.shell import HALFTRIP

# How a program changes to the alternate screen, and back.
_CODE = b"\x1b[?1049"
_OTHER_SCREEN = re.compile(re.escape(_CODE) + b"([hl])")
_HISTORY = 1000


class Terminal:
    """``halftrip run -o run.jsonl ARGUMENTS`` in a terminal of its own, which is its controlling
    one: its output and errors go there. `seen` is all that it wrote."""

    def __init__(self, shell, *arguments, width=80, height=24, **environment):
        self._leader, follower = pty.openpty()
        self.normal = pyte.HistoryScreen(width, height, history=_HISTORY)
        self.alternate = pyte.Screen(width, height)
        self._streams = {
            screen: pyte.ByteStream(screen) for screen in (self.normal, self.alternate)
        }
        self.is_alternate = False
        self.seen = b""
        self._fed = 0
        self.resize(width, height)
        self.process = shell.start(
            # readline sets both in whatever process has imported it.
            *("env", "-u", "COLUMNS", "-u", "LINES", "setsid", "--ctty"),
            *(HALFTRIP, "run", "-o", shell.path.name, *arguments),
            environment={"TERM": "xterm-256color"} | environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            text=False,
        )
        os.close(follower)

    def resize(self, width, height):
        """The user makes the window larger or smaller."""
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        for screen in (self.normal, self.alternate):
            screen.resize(height, width)

    def type(self, keys):
        os.write(self._leader, keys)

    @property
    def screen(self):
        """The lines of the screen that is shown."""
        screen = self.alternate if self.is_alternate else self.normal
        return [line.rstrip() for line in screen.display]

    @property
    def text(self):
        """All of the normal screen, with what scrolled out of it."""
        width = self.normal.columns
        above = [
            "".join(line[column].data for column in range(width)).rstrip()
            for line in self.normal.history.top
        ]
        shown = [line.rstrip() for line in self.normal.display]
        return "\n".join([*above, *shown]).rstrip("\n") + "\n"

    def await_screen(self, is_there):
        """Until `is_there` is true of the lines of the screen; these lines."""
        deadline = time.monotonic() + AMPLE_SECONDS
        while not is_there(self.screen):
            assert self._read(deadline), f"it has ended:\n{self.text}"
        return self.screen

    def await_end(self):
        """Until the command has ended; its exit status."""
        deadline = time.monotonic() + AMPLE_SECONDS
        while self._read(deadline):
            pass
        os.close(self._leader)
        return self.process.wait(AMPLE_SECONDS)

    def _read(self, deadline):
        """Reads what comes next; False at the end."""
        left = deadline - time.monotonic()
        assert left > 0, "\n".join(self.screen)
        if not select.select([self._leader], [], [], left)[0]:
            return True
        try:
            part = os.read(self._leader, 65536)
        except OSError:
            # It is an error to read what the other side has closed.
            part = b""
        self.seen += part
        self._feed()
        return bool(part)

    def _feed(self):
        """Shows what has come, but for the beginning of a change of screens at its end."""
        while found := _OTHER_SCREEN.search(self.seen, self._fed):
            self._show(found.start())
            self._fed = found.end()
            self.is_alternate = found[1] == b"h"
            self.alternate.reset()
        begun = [n for n in range(1, len(_CODE) + 1) if self.seen.endswith(_CODE[:n])]
        self._show(max(self._fed, len(self.seen) - max(begun, default=0)))

    def _show(self, end):
        screen = self.alternate if self.is_alternate else self.normal
        self._streams[screen].feed(self.seen[self._fed : end])
        self._fed = end
