"""The first screen of a run in a terminal, while the run goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from halftrip.cli.output import Printable, drawn_width, in_job
from halftrip.errors import HalftripError
from halftrip.report.progress import ProgressLine, takes_output

if TYPE_CHECKING:
    from halftrip.analysis.expectation import Expectations
    from halftrip.analysis.flags import Known
    from halftrip.results.configuration import Configuration
    from halftrip.results.following import FollowedRun
    from halftrip.results.run import Run

# The screen is drawn at most this often, s, and the launcher works on it for this share of the run.
_LEAST_SECONDS = 0.5
_MOST_SHARE = 0.04
# Of a long first pass it shows what there is so long after the first slice, s.
_FIRST_PASS_SECONDS = 3.0


def progress_view(
    path: Path, quiet: bool, has_screen: bool, expected: Expectations, seconds: float | None
) -> ProgressLine | LiveScreen:
    """What shows the progress of the run in the file `path`, which takes no longer than so many
    seconds: its first screen if it `has_screen` and standard output is a terminal, else a line on
    standard error; nothing if `quiet`."""
    # In a job, output goes through the launcher, and some launchers pretend to be a terminal.
    hidden = quiet or in_job()
    line = ProgressLine(Console(stderr=True), hidden, quiet, seconds)
    console = Console(highlight=False)
    # Variables may have rich take a pipe for a terminal.
    is_terminal = console.is_terminal and not console.is_dumb_terminal and sys.stdout.isatty()
    if hidden or not has_screen or not is_terminal or not _has_alternate_screen():
        return line
    return LiveScreen(line, console, path, expected)


def _has_alternate_screen() -> bool:
    """Whether the terminal has a second screen: not that of a console without windows. One that
    this system does not know is newer than it."""
    try:
        import curses

        curses.setupterm(fd=1)
        return curses.tigetstr("smcup") is not None
    except (ImportError, curses.error):
        return True


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


class LiveScreen:
    """The progress `line` of a run until its first pass is over, then also its first screen, from
    the run file at `path`, judged by what is `expected`.

    It is drawn on the alternate screen of the terminal: whatever the user does to the window
    meanwhile, the normal screen is then as it was. It is drawn only when `update` is called: no
    thread or timer disturbs the run, and no slice is measured while progress is shown. After so
    many seconds of work, the next begins when it is no more than a small share of the run's time.
    """

    # No slice waits but for those of which progress is shown.
    paces = False

    def __init__(
        self, line: ProgressLine, console: Console, path: Path, expected: Expectations
    ) -> None:
        self.visible = True
        self.takes_warnings = line.takes_warnings
        self._line = line
        self._console = console
        self._progress = _Progress(path, expected)
        self._live: Live | None = None
        # What Ctrl-Z does otherwise.
        self._suspension: Any = signal.SIG_DFL
        self._next = 0.0
        self._size = console.size
        self._warnings: list[str] = []

    def __enter__(self) -> LiveScreen:
        self._line.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.remove()
        self._leave()
        if self._warnings:
            self._line.warn(self._warnings)
        # The whole file is read once more.
        del self._progress

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        """Shows that slice `done` of `total`, of `what`, comes next, as `ProgressLine.update`, and
        what is known by now."""
        if not self.visible:
            return
        said = self._line.says(done, total, what, later)
        # One that was drawn for another size is not readable.
        if time.monotonic() < self._next and self._console.size == self._size:
            self._line.draw(said)
            return
        try:
            self._show(said)
        except HalftripError:
            # That of a signal.
            raise
        except OSError:
            # Where a terminal is gone, the run goes on without: its signal says how it ends.
            self._give_up()
        except Exception as error:  # noqa: BLE001 (a run is worth more than what it shows)
            self._give_up()
            self._line.warn([f"no first screen before the end: {type(error).__name__}: {error}"])

    def _show(self, said: Text) -> None:
        # Once only, and as long as it would take at the end of the run.
        self._progress.prepare()
        # Of its own: beside other programs it takes longer, and is not drawn less often for that.
        began = time.thread_time()
        self._size = self._console.size
        if self._progress.read():
            self._draw(said)
        else:
            self._line.draw(said)
        took = time.thread_time() - began
        self._next = time.monotonic() + max(_LEAST_SECONDS, took / _MOST_SHARE)

    def _give_up(self) -> None:
        self.visible = False
        self._line.remove()
        self._leave()

    def before_slice(self, setting: Configuration) -> None:
        """Never called."""

    def warn(self, lines: list[str]) -> None:
        """Shows warnings, and leaves them above the final screen."""
        if self._live is None:
            self._line.warn(lines)
        else:
            self._warnings += lines

    def _draw(self, said: Text) -> None:
        if not takes_output(self._console):
            return
        size = self._console.size
        shown, verdicts = self._progress.lines(drawn_width(size.width))
        warned = [Text(f"warning: {each}", style="yellow") for each in self._warnings]
        below = [*verdicts, *warned, Text(), said]
        with _whole():
            self._enter().update(_Lines(fitted(shown, below, size.height)), refresh=True)

    def _enter(self) -> Live:
        if self._live is None:
            self._line.remove()
            self._live = Live(
                console=self._console,
                screen=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            self._suspension = signal.signal(signal.SIGTSTP, self._suspend)
        return self._live

    def _leave(self) -> None:
        if self._live is not None:
            with _whole(), contextlib.suppress(OSError):
                self._live.stop()
                signal.signal(signal.SIGTSTP, self._suspension)
            self._live = None

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets the normal screen; when the run goes on, so does this one."""
        self._leave()
        os.kill(os.getpid(), number)


class _Lines(Printable):
    """Lines of the screen, none longer than it is wide, however narrow it has become."""

    def __init__(self, lines: Sequence[Text]) -> None:
        for line in lines:
            line.no_wrap, line.overflow = True, "crop"
        super().__init__(Group(*lines))


class _Progress:
    """What the file at `path` has of a run that goes on, judged by what is `expected`."""

    def __init__(self, path: Path, expected: Expectations) -> None:
        self._path = path
        self._expected = expected
        self._followed: FollowedRun | None = None
        self._known: dict[Configuration, Known] = {}
        self._first_at: float | None = None

    def prepare(self) -> None:
        """Imports what the others need."""
        from halftrip.render import terminal  # noqa: F401
        from halftrip.results.following import FollowedRun
        from halftrip.views import screen  # noqa: F401

        self._followed = self._followed or FollowedRun(self._path)

    def read(self) -> bool:
        """Reads what is new, and returns whether there is enough for a screen: the first pass is
        over, or has taken long."""
        assert self._followed is not None
        self._followed.read()
        self._run: Run = self._followed.run()
        measured = self._run.measurements
        if not measured:
            return False
        now = time.monotonic()
        if self._first_at is None:
            self._first_at = now
        is_over = any(len(each) > 1 for each in self._run.by_configuration.values())
        return is_over or now - self._first_at >= _FIRST_PASS_SECONDS

    def lines(self, width: int) -> tuple[list[Text], list[Text]]:
        """The first screen in lines of a width: what was measured, and how far to trust it."""
        from halftrip.render.blocks import Terms
        from halftrip.render.terminal import lines
        from halftrip.report.document import document_so_far
        from halftrip.views.screen import first_screen

        content = document_so_far(self._run, self._known, self._expected)
        blocks = first_screen(content, str(self._path)).blocks
        head = [each for each in blocks if not isinstance(each, Terms)]
        verdicts = [each for each in blocks if isinstance(each, Terms)]
        return lines(head, width), lines(verdicts, width)


def fitted(shown: Sequence[Text], below: Sequence[Text], height: int) -> list[Text]:
    """As many lines as fit into a terminal of this `height`: those `below` first, then what is
    `shown` above them, of which a line says how many are left out."""
    room = max(height - len(below), 0)
    if len(shown) > room:
        kept = shown[: max(room - 1, 0)]
        said = f"... and {len(shown) - len(kept)} lines more, which are printed at the end"
        shown = [*kept, Text(said, style="dim")]
    return [*shown, *below][-height:]


@contextlib.contextmanager
def _whole() -> Iterator[None]:
    """A signal that ends or stops the run waits meanwhile: the terminal is not left between two
    screens."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
