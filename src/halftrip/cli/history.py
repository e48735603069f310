"""``halftrip history``: how the rows of several runs have changed over time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from halftrip.analysis.history import Figure, RunFigures, history, run_figures
from halftrip.cli.output import Printable, has_blocks, screen, writing
from halftrip.errors import HalftripError, NotARunError, UsageError, system_reason
from halftrip.plan.parsing import nearest
from halftrip.report.selection import Selection
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.texts import printable, printable_lines

FORMATS = ("table", "json", "csv")
# Of files that are left out, so many are named.
_MOST_NAMED = 3


class Asked(NamedTuple):
    """What of a history to print, and how; `every`: also rows without a change; `wide`: all
    columns, however long lines get."""

    format: str = "table"
    selection: Selection = Selection()
    every: bool = False
    wide: bool = False


def show_history(paths: Sequence[str], asked: Asked) -> int:
    """Prints the history of the run files that these paths name, or directories hold (none: this
    one), and returns the exit status. Raises UsageError where there is no run, or nothing of it was
    selected."""
    if asked.format not in FORMATS:
        said = nearest(asked.format, list(FORMATS))
        raise UsageError(f"--format: {printable(asked.format)!r} is not known; {said}")
    if asked.every and asked.format != "table":
        raise UsageError(f"--all: --format {asked.format} has all rows; leave it out")
    if asked.wide and asked.format != "table":
        raise UsageError(f"--wide: --format {asked.format} has all columns; leave it out")
    runs = _dated([*_loaded(files_in(paths or ["."]))])
    if not runs:
        where = ", ".join(map(printable, paths or ["."]))
        raise UsageError(f"{where}: no run with rows; name run files, or a directory of them")
    chosen = [each._replace(figures=_selected(each, asked.selection)) for each in runs]
    if not any(each.figures for each in chosen):
        raise UsageError("nothing to show: no run has such a row")
    _print(chosen, asked)
    return 0


def _print(runs: Sequence[RunFigures], asked: Asked) -> None:
    from halftrip.report import csv, json
    from halftrip.report import history as report

    found = history(runs)
    with writing():
        if asked.format == "json":
            print(printable_lines(json.text(report.content(found))), end="")
        elif asked.format == "csv":
            print(printable_lines(csv.text(report.lines(found))), end="")
        else:
            console = screen()
            made = report.render(found, console.width, asked.every, has_blocks(), asked.wide)
            console.print(Printable(made), soft_wrap=True)


def _selected(run: RunFigures, selection: Selection) -> dict[Configuration, Figure]:
    return {each: figure for each, figure in run.figures.items() if selection.has(each)}


# Which runs.


def files_in(paths: Sequence[str]) -> Iterator[str]:
    """The files that these paths name, or directories hold, each once. Raises UsageError for a path
    that there is not, and a directory that cannot be read."""
    seen = set()
    for path in paths:
        if not os.path.exists(path):
            raise UsageError(f"{printable(path)}: no such file or directory")
        for file in _in_directory(path) if os.path.isdir(path) else [path]:
            whole = os.path.realpath(file)
            if whole not in seen:
                seen.add(whole)
                yield file


def _in_directory(path: str) -> list[str]:
    """The files in a directory in the order of their names, without hidden ones."""
    try:
        with os.scandir(path) as entries:
            found = [each.path for each in entries if each.name[0] != "." and each.is_file()]
    except OSError as error:
        raise UsageError(f"{printable(path)}: {system_reason(error).lower()}") from None
    return sorted(os.path.normpath(each) for each in found)


class _Loaded(NamedTuple):
    """The figures of a run, and whether it is known when it was measured."""

    figures: RunFigures
    is_dated: bool


def _loaded(files: Iterable[str]) -> Iterator[_Loaded]:
    """The runs in these files. A line says which files are left out, since they hold none."""
    others: list[str] = []
    for file in files:
        name = printable(file)
        try:
            run = load(file)
        except NotARunError:
            others.append(name)
            continue
        except HalftripError as error:
            _warn(f"{error}; left out")
            continue
        _warn_of_problems(run)
        found = run_figures(name, run)
        if found.figures:
            yield _Loaded(found, run.measured is not None)
        else:
            _warn(f"{name}: the run has no rows; left out")
    if others:
        more = len(others) - _MOST_NAMED
        said = f" and {more} more" if more > 0 else ""
        _warn(f"left out, since they are no run files: {', '.join(others[:_MOST_NAMED])}{said}")


def _dated(loaded: Sequence[_Loaded]) -> list[RunFigures]:
    """The runs whose place in time is known: where that is none, all, in the order in which they
    were imported."""
    undated = [each.figures.name for each in loaded if not each.is_dated]
    if len(undated) < len(loaded):
        for name in undated:
            _warn(f"{name}: nothing says when it was measured; left out")
        return [each.figures for each in loaded if each.is_dated]
    if undated:
        _warn("nothing says when these runs were measured; they are in the order of their import")
    return [each.figures for each in loaded]


def _warn_of_problems(run: Run) -> None:
    """A line about what could not be read of a run."""
    if run.problems:
        more = len(run.problems) - 1
        _warn(f"{run.problems[0]}{f' (and {more} more)' if more else ''}")


def _warn(line: str) -> None:
    print(f"halftrip: {line}", file=sys.stderr)
