"""``halftrip fit``: models of the curves of a run."""

from __future__ import annotations

import sys
from typing import NamedTuple

from halftrip.analysis.fit import CurveFit, fits
from halftrip.cli.output import Printable, screen, writing
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.report.selection import Selection
from halftrip.results.run import Run
from halftrip.results.run_file import load, newest
from halftrip.texts import printable, printable_lines

FORMATS = ("table", "json")
MODELS = ("hockney", "piecewise")
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
    no curve could be fitted. Raises UsageError for a file without such rows."""
    if asked.format not in FORMATS:
        said = nearest(asked.format, list(FORMATS))
        raise UsageError(f"--format: {printable(asked.format)!r} is not known; {said}")
    if asked.model not in (*MODELS, ALL):
        said = nearest(asked.model, [*MODELS, ALL])
        raise UsageError(f"--model: {printable(asked.model)!r} is not known; {said}")
    if asked.wide and asked.format != "table":
        raise UsageError(f"--wide: --format {asked.format} has all columns; leave it out")
    name = path if path is not None else str(newest())
    run = load(name)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    found = fits(run, asked.selection.has)
    if not found:
        raise UsageError(f"{printable(name)}: the run has no such rows")
    models = MODELS if asked.model == ALL else (asked.model,)
    _print(run, found, models, asked)
    return int(all(each.pieces is None for each in found))


def _print(run: Run, found: list[CurveFit], models: tuple[str, ...], asked: Asked) -> None:
    from halftrip.report import fit as report
    from halftrip.report import json

    with writing():
        if asked.format == "json":
            print(printable_lines(json.text(report.content(found, models))), end="")
            return
        console = screen()
        made = report.render(found, run.names, models, console.width, asked.wide)
        console.print(Printable(made), soft_wrap=True)
