"""Standard output, which may be closed, or a file on a full disk."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from halftrip.errors import HalftripError, system_reason
from halftrip.texts import printable_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


# The width of lines where there is no terminal, and below which lines are hard to read.
_WIDTH_WITHOUT_TERMINAL = 100
_LEAST_WIDTH = 40


def screen(plain: bool = False) -> Console:
    """Standard output as a screen of some width; `plain`: without colours, even if it looks like a
    terminal."""
    # It takes a while, and not every command has a screen.
    from rich.console import Console

    console = Console(highlight=False, force_terminal=False if plain else None)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_WITHOUT_TERMINAL
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def has_blocks() -> bool:
    """Whether standard output shows block characters, such as those of a sparkline."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    return encoding == "utf8" and os.environ.get("TERM") != "dumb"


class Printable:
    """What rich can print, of which only the styles that rich has given it act on the terminal."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._content, options):
            yield (
                segment if segment.control else segment._replace(text=printable_lines(segment.text))
            )


def prepare_streams() -> None:
    """Discards what is written to a stream that the caller has closed: for it Python has None.
    Characters that the user's locale has not are written as question marks."""
    if sys.stdout is None:
        sys.stdout = _discarding()
    if sys.stderr is None:
        sys.stderr = _discarding()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def flush() -> None:
    """Writes what is left, at the end. What a reader or a terminal that is gone has not got is
    lost; Python must not try again."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except OSError:
            setattr(sys, name, _discarding())


@contextlib.contextmanager
def writing(kept: str = "") -> Iterator[None]:
    """Raises HalftripError where standard output cannot be written; `kept` says what is not lost. A
    pipe whose reader has gone is left to the caller."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is in its buffer could not be written at the exit, either.
        sys.stdout = _discarding()
        raise HalftripError(f"standard output: {system_reason(error).lower()}{kept}") from None


def _discarding() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")
