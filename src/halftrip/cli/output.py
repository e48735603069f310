"""What commands print: in which format, and to a standard output that may be closed or full."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO, TypeVar

from halftrip.cli import syntax
from halftrip.entries import Registry
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.registry import FORMATS, STYLES
from halftrip.spelling import nearest
from halftrip.texts import printable, printable_lines

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from halftrip.render.blocks import View
    from halftrip.report.document import Document

_Called = TypeVar("_Called", bound=Callable[..., Any])

# Options of commands that print tables.
Wide = Annotated[bool, syntax.Option("--wide", help="All figures, however long lines get.")]
AsJson = Annotated[bool, syntax.Option("-j", help="As --format json.")]


def listed(names: Iterable[str]) -> str:
    """Names in a help text: ``a, b or c``. Of a registry, halftrip's own: to look for others takes
    longer than all else of the help."""
    *others, last = names.built_in if isinstance(names, Registry) else names
    return f"{', '.join(others)} or {last}"


def one_of(option: str, names: Iterable[str], default: str = "table") -> Any:
    """An option whose value is one of these names."""
    return syntax.Option(
        option,
        metavar="NAME",
        help=f"{listed(names)}. [{default}]",
        offers=lambda: [*names],
    )


def with_parameters(function: _Called, parameters: Iterable[inspect.Parameter]) -> _Called:
    """A command's function, with these parameters in the place of its own: Typer makes the command
    line from a function's signature."""
    made = inspect.Signature([*parameters])
    function.__signature__ = made  # type: ignore[attr-defined]
    function.__annotations__ = {name: each.annotation for name, each in made.parameters.items()}
    return function


# Formats of which there is a part with the columns that people look for, and the whole.
DOCUMENTS = ("markdown", "latex", "html")
# The formats of every view.
VIEW_FORMATS = ("table", "csv", "json", *DOCUMENTS)
ViewFormat = Annotated[str, one_of("--format", VIEW_FORMATS)]
Format = Annotated[str, one_of("--format", FORMATS)]
STYLE_HELP = f"As {listed(STYLES)} print it."
Style = Annotated[
    str | None,
    syntax.Option(
        "--style",
        metavar="NAME",
        help=STYLE_HELP,
        offers=lambda: [*STYLES],
    ),
]

# The name of a file that stands for standard output.
STANDARD_OUTPUT = "-"
# Formats that have no flags, which take longer to judge than the rest.
_WITHOUT_FLAGS = (*DOCUMENTS, "nodes")
# The width of lines where there is no terminal, and below which lines are hard to read.
_WIDTH_WITHOUT_TERMINAL = 100
LEAST_WIDTH = 40
_MOST_WIDTH = 1000


def check_one_of(option: str, name: str, names: Collection[str]) -> None:
    """Raises UsageError where the value of an option is not one of these names."""
    if name not in names:
        raise UsageError(f"{option}: {printable(name)!r} is not known; {nearest(name, [*names])}")


def view_format(
    format_: str, json: bool, wide: bool = False, every: bool = False, more: Sequence[str] = ()
) -> str:
    """The format in which a view is printed: that of `--format`, one of `VIEW_FORMATS` or `more`,
    or JSON. Raises UsageError for another, and for --wide and --all with a format that has all
    columns or all rows in any case."""
    chosen = "json" if json else format_
    check_one_of("--format", chosen, (*VIEW_FORMATS, *more))
    if wide and chosen != "table":
        raise UsageError(f"--wide: --format {chosen} has all columns; leave it out")
    if every and chosen not in ("table", *DOCUMENTS):
        raise UsageError(f"--all: --format {chosen} has all rows; leave it out")
    return chosen


class Form(NamedTuple):
    """How a run is printed: in a format, or, with `style`, as that older tool prints it."""

    format: str = "table"
    style: str | None = None

    def check(self) -> None:
        """Raises UsageError for a format or a style that is not known, and for both."""
        check_one_of("--format", self.format, FORMATS)
        if self.style is not None:
            check_one_of("--style", self.style, STYLES)
        if self.style is not None and self.format != "table":
            raise UsageError(f"--style: --format {self.format} is another form; leave one out")

    @property
    def has_flags(self) -> bool:
        """Whether it shows flags, which take longer to judge than the rest."""
        return self.style is None and self.format not in _WITHOUT_FLAGS

    @property
    def make(self) -> Callable[[Document], str | RenderableType]:
        """What makes it of a document."""
        if self.style is not None:
            return STYLES.load(self.style)  # type: ignore[no-any-return]
        return FORMATS.load(self.format)  # type: ignore[no-any-return]


TABLE = Form()


def put_view(view: View, format_: str = "table", wide: bool = False, **options: Any) -> None:
    """Prints a view in one of `VIEW_FORMATS`; `wide`: tables have all columns. `options` are those
    of `put`."""
    if format_ == "table":
        from halftrip.render import terminal

        put(lambda width: terminal.render(view.blocks, width, wide), **options)
        return
    # The other formats take a while to import.
    package = "page" if format_ == "html" else "render"
    put(import_module(f"halftrip.{package}.{format_}").render(view), **options)


def in_job() -> bool:
    """Whether another launcher has started this process as one of several ranks."""
    from halftrip.job.existing import existing_job

    return existing_job(os.environ) is not None


def speaks(message: str = "") -> bool:
    """Whether this process is the one to print `message`: in a job that another launcher has
    started, only one rank speaks to the user."""
    from halftrip.job import existing

    job = existing.existing_job(os.environ)
    return job is None or existing.speaks(job.rank, message)


def put(
    content: str | RenderableType | Callable[[int], RenderableType],
    plain: bool = False,
    kept: str = "",
    tabs: bool = False,
) -> None:
    """Prints a text, or what rich can print, or what makes that for a width in columns. Run files
    and other tools' outputs may be anybody's: a terminal obeys nothing of it. `plain`: without
    colours; where it cannot be written, `kept` ends the message; columns of a text may be between
    `tabs`."""
    with writing(kept):
        if isinstance(content, str):
            print(printable_lines(content, tabs), end="")
            return
        console = screen(plain)
        made = content(console.width) if callable(content) else content
        console.print(Printable(made), soft_wrap=True)


def screen(plain: bool = False) -> Console:
    """Standard output as a screen of some width; `plain`: without colours, even if it looks like a
    terminal."""
    # It takes a while, and not every command has a screen.
    from rich.console import Console

    console = Console(highlight=False, force_terminal=False if plain else None)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_WITHOUT_TERMINAL
    console.width = drawn_width(console.width)
    return console


def drawn_width(width: int) -> int:
    """The width for which a screen of that many columns is drawn: a variable may say anything."""
    return min(max(width, LEAST_WIDTH), _MOST_WIDTH)


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
