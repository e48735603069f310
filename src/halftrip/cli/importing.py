"""``halftrip import``: what another tool has printed, as a run."""

from __future__ import annotations

import sys
from pathlib import Path

from halftrip.analysis.expectation import Expectations
from halftrip.cli.output import writing
from halftrip.cli.show import print_first
from halftrip.convert.importing import STANDARD_INPUT, import_file
from halftrip.results.run_file import default_name, load
from halftrip.texts import printable


def import_run(file: str, tool: str | None, output: str | None, quiet: bool) -> int:
    """Makes a run file of the text in `file`, shows it, and returns the exit status. Raises
    UsageError for a text that is none of the tool's."""
    path = import_file(file, tool, Path(output or _name(file)), sys.argv)
    if quiet:
        with writing():
            print(printable(str(path)))
        return 0
    run = load(path)
    print_first(run, str(path), Expectations.of_plan(run.header.plan))
    with writing():
        print(f"run file: {printable(str(path))}")
    return 0


def _name(file: str) -> str:
    """The run file of a text, in this directory: ``result.jsonl`` of ``logs/result.txt``."""
    stem = "" if file == STANDARD_INPUT else Path(file).stem
    return f"{stem}.jsonl" if stem else default_name()
