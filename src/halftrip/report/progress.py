"""A live line on a terminal during a run; nothing without a terminal."""

from __future__ import annotations

import contextlib
import io
import select
import time
from collections import deque
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from halftrip.results.configuration import Configuration

# How fast a run goes is seen from this many seconds: its first slices take longer than later ones.
_PACE_SECONDS = 10.0
# Of less nothing can be told.
_LEAST_SECONDS = 1.0


def takes_output(console: Console) -> bool:
    """Whether what is written to a console does not wait: its user may have stopped the output of
    the terminal (Ctrl-S), and no run waits for that."""
    try:
        return bool(select.select([], [console.file], [], 0)[1])
    except io.UnsupportedOperation:
        # It has no terminal.
        return True


class ProgressLine:
    """The line is drawn only when `update` is called: no thread or timer disturbs the run. A run
    that takes no longer than `seconds` has no more than these left."""

    # No slice waits for the line.
    paces = False

    def __init__(
        self,
        console: Console,
        hidden: bool = False,
        quiet: bool = False,
        seconds: float | None = None,
    ) -> None:
        # Variables may have rich take a pipe for a terminal.
        self._is_terminal = console.is_terminal and console.file.isatty()
        self.visible = self._is_terminal and not hidden
        self.takes_warnings = not quiet
        self._console = console
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._live = Live(
            _line(["starting the ranks"]), console=console, auto_refresh=False, transient=True
        )
        # When how many slices were over, in this launch, over the latest seconds.
        self._latest: deque[tuple[float, int]] = deque()

    def __enter__(self) -> ProgressLine:
        if self.visible:
            with self._drawing():
                self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    @contextlib.contextmanager
    def _drawing(self) -> Iterator[None]:
        """Where a terminal is gone, the run goes on without: its signal says how it ends."""
        try:
            yield
        except OSError:
            self.visible = False

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        """Shows that slice `done` of `total`, of `what`, is being measured; that many launches of
        as many slices come later."""
        if self.visible:
            self.draw(self.says(done, total, what, later))

    def says(self, done: int, total: int, what: str, later: int = 0) -> Text:
        """What the line says of this slice; it is called for each of which progress is shown."""
        parts = [what, f"slice {done} of {total}"]
        left = self._seconds_left(done, total, later)
        if left is not None:
            parts.append(f"{_duration(left)} left")
        return _line(parts)

    def draw(self, line: Text) -> None:
        """Shows the line, if it is visible."""
        if self.visible:
            with self._drawing():
                if takes_output(self._console):
                    self._live.update(line, refresh=True)

    def remove(self) -> None:
        """Removes the line for good, if it is there."""
        if self.visible:
            with self._drawing():
                self._live.stop()
        self.visible = False

    def before_slice(self, setting: Configuration) -> None:
        """Never called."""

    def _seconds_left(self, done: int, total: int, later: int) -> float | None:
        """How long the run will take still; None where that cannot be told yet."""
        now = time.monotonic()
        if self._latest and done < self._latest[-1][1]:
            # Another launch has begun.
            self._latest.clear()
        self._latest.append((now, done))
        while now - self._latest[0][0] > _PACE_SECONDS:
            self._latest.popleft()
        limit = None if self._ends is None else max(self._ends - now, 0.0)
        passed, slices = now - self._latest[0][0], done - self._latest[0][1]
        if passed < _LEAST_SECONDS or not slices:
            return limit
        left = passed / slices * (total - done + later * total)
        return left if limit is None else min(left, limit)

    def warn(self, lines: list[str]) -> None:
        """Prints warnings above the line; a terminal gets lines that end between two words."""
        for line in lines:
            self._console.print(
                f"halftrip: warning: {line}",
                soft_wrap=not self._is_terminal,
                markup=False,
                highlight=False,
            )


def _line(parts: list[str]) -> Text:
    """One line, however narrow the terminal is."""
    return Text(" · ".join(parts), no_wrap=True, overflow="ellipsis")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
