"""A run that a command reads, and what its user has to know of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from halftrip.errors import UsageError
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.texts import printable

# Of what a run has, so much is named; there may be thousands of pairs.
_MOST_NAMED = 8


def loaded(path: str) -> Run:
    """The run in a file; a line says what could not be read of it. Raises UsageError for a file
    that is no run file."""
    run: Run = load(path)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    return run


def run_names(paths: Sequence[str]) -> list[str]:
    """What runs are called: by their files, by all of their paths where files have one name. Raises
    UsageError for a file that is named twice."""
    real = [os.path.realpath(path) for path in paths]
    twice = next((path for n, path in enumerate(paths) if real[n] in real[:n]), None)
    if twice is not None:
        raise UsageError(f"{printable(twice)}: named twice; leave one out")
    short = [printable(Path(path).name.removesuffix(".jsonl")) for path in paths]
    return short if len(set(short)) == len(short) else [*map(printable, paths)]


def check_output(output: str, paths: Sequence[str]) -> None:
    """Raises UsageError where a file to be written is one of the runs."""
    if os.path.realpath(output) in map(os.path.realpath, paths):
        raise UsageError(f"{printable(output)}: is the run itself; name another file with --output")


def curves_in_words(run: Run) -> str:
    """What curves a run has, in the words of the options that select them."""
    configurations = run.by_configuration.keys()
    if not configurations:
        return "none: nothing was measured"
    chosen = {
        "-t": (each.transport for each in configurations),
        "-p": (each.pattern for each in configurations),
        "--pair": ("-".join(map(str, each.pair)) for each in configurations),
    }
    return "; ".join(f"{option} {_named(names)}" for option, names in chosen.items())


def _named(names: Iterable[str]) -> str:
    different = list(dict.fromkeys(names))
    more = len(different) - _MOST_NAMED
    said = ", ".join(different[:_MOST_NAMED])
    return f"{said} and {more} more" if more > 0 else said
