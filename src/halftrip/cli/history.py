"""``halftrip history``: how the rows of several runs have changed over time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from halftrip.cli import app, inputs, syntax
from halftrip.cli.output import AsJson, ViewFormat, Wide, has_blocks, put_view, view_format
from halftrip.errors import HalftripError, NotARunError, UsageError
from halftrip.plan.parsing import share
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.analysis.run_figures import RunFigures
    from halftrip.results.run import Run

# Of files that are left out, so many are named.
_MOST_NAMED = 3
# So many files are shared out to all cores.
_MANY = 8


@app.command("history")
def history(
    runs: Annotated[
        list[str] | None,
        syntax.Argument(metavar="[DIR|RUN...]", help="Run files, or directories of them. [.]"),
    ] = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    launch_spread: inputs.LaunchSpread = None,
    every: Annotated[bool, syntax.Option("--all", help="Also rows that have not changed.")] = False,
    wide: Wide = False,
    format_: ViewFormat = "table",
    json: AsJson = False,
) -> int:
    """Say which rows got slower or faster over many runs, when, and what changed then."""
    from halftrip.analysis import history as analysis
    from halftrip.views.history import history as view

    format_ = view_format(format_, json, wide, every)
    spread = inputs.given("--launch-spread", share, launch_spread)
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    paths = runs or ["."]
    measured = _dated([*_loaded(inputs.files_in(paths))])
    if not measured:
        where = ", ".join(map(printable, paths))
        raise UsageError(f"{where}: no run with rows; name run files, or a directory of them")
    chosen = [
        each._replace(figures={row: of for row, of in each.figures.items() if selection.has(row)})
        for each in measured
    ]
    if not any(each.figures for each in chosen):
        raise UsageError("nothing to show: no run has such a row")
    put_view(view(analysis.history(chosen, spread), every, has_blocks()), format_, wide)
    return 0


# Which runs.


class _Loaded(NamedTuple):
    """The figures of a run, and whether it is known when it was measured."""

    figures: RunFigures
    is_dated: bool


class _Read(NamedTuple):
    """What is in a file: a run, or None; and lines about it. `is_other`: it is no run file."""

    run: _Loaded | None
    warnings: Sequence[str] = ()
    is_other: bool = False


def _loaded(files: Iterable[str]) -> Iterator[_Loaded]:
    """The runs in these files. A line says which files are left out, since they hold none."""
    from halftrip.forked_work import mapped, usable_cores

    every = [*files]
    cores = usable_cores() if len(every) >= _MANY else 1
    others: list[str] = []
    has_runs = False
    for file, read in zip(every, mapped(_read, every, cores), strict=True):
        if read.is_other:
            others.append(printable(file))
        for line in read.warnings:
            _warn(line)
        if read.run is not None:
            has_runs = True
            yield read.run
    # Where there is none at all, that is the mistake.
    if others and has_runs:
        more = len(others) - _MOST_NAMED
        said = f" and {more} more" if more > 0 else ""
        _warn(f"left out, since they are no run files: {', '.join(others[:_MOST_NAMED])}{said}")


def _read(file: str) -> _Read:
    from halftrip.analysis.run_figures import run_figures
    from halftrip.results.run_file import load

    name = printable(file)
    try:
        run = load(file)
    except NotARunError:
        return _Read(None, is_other=True)
    except HalftripError as error:
        return _Read(None, [f"{error}; left out"])
    warnings = _problems(run)
    found = run_figures(name, run)
    if found.figures:
        return _Read(_Loaded(found, run.measured is not None), warnings)
    return _Read(None, [*warnings, f"{name}: the run has no rows; left out"])


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


def _problems(run: Run) -> list[str]:
    """A line about what could not be read of a run, if anything."""
    more = len(run.problems) - 1
    return [f"{first}{f' (and {more} more)' if more else ''}" for first in run.problems[:1]]


def _warn(line: str) -> None:
    print(f"halftrip: {line}", file=sys.stderr)
