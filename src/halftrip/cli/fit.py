"""``halftrip fit``: models of the curves of a run."""

from __future__ import annotations

from typing import NamedTuple

from halftrip.cli.loading import curves_in_words, loaded
from halftrip.cli.output import Printable, screen, writing
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.report import json
from halftrip.report.models import MODELS, Models, content, fitted, render
from halftrip.report.selection import Selection
from halftrip.results.run_file import newest
from halftrip.texts import printable, printable_lines

FORMATS = ("table", "json")
ALL = "all"


class Asked(NamedTuple):
    """Which models to fit to which rows, and how to print them; `wide`: all columns, however long
    lines get."""

    model: str = ALL
    format: str = "table"
    selection: Selection = Selection()
    wide: bool = False


def show_fits(path: str | None, asked: Asked) -> int:
    """Prints the fits of a run file (None: the newest here), and returns the exit status: 1 where
    nothing could be fitted. Raises UsageError for a file without such rows."""
    if asked.format not in FORMATS:
        said = nearest(asked.format, list(FORMATS))
        raise UsageError(f"--format: {printable(asked.format)!r} is not known; {said}")
    if asked.model not in (*MODELS, ALL):
        said = nearest(asked.model, [*MODELS, ALL])
        raise UsageError(f"--model: {printable(asked.model)!r} is not known; {said}")
    if asked.wide and asked.format != "table":
        raise UsageError(f"--wide: --format {asked.format} has all columns; leave it out")
    name = path if path is not None else str(newest())
    run = loaded(name)
    if not any(map(asked.selection.has, run.by_configuration)):
        raise UsageError(f"{printable(name)}: no such curve; the run has {curves_in_words(run)}")
    models = MODELS if asked.model == ALL else (asked.model,)
    found = fitted(run, models, asked.selection.has)
    _print(found, asked)
    return int(not found.is_fitted)


def _print(found: Models, asked: Asked) -> None:
    with writing():
        if asked.format == "json":
            print(printable_lines(json.text(content(found))), end="")
            return
        console = screen()
        console.print(Printable(render(found, console.width, asked.wide)), soft_wrap=True)
