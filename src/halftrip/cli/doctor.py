"""``halftrip doctor``: what on this machine will spoil the numbers."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from halftrip.cli.output import writing
from halftrip.telemetry import doctor_mpi
from halftrip.telemetry.doctor import Check, machine_checks

_COLOURS = {"ok": "green", "warning": "yellow", "unknown": "dim"}


def examine(as_json: bool) -> None:
    """Prints the result of every check, as a table or as JSON."""
    checks = [*machine_checks(), doctor_mpi.check()]
    with writing():
        if as_json:
            print(msgspec.json.format(msgspec.json.encode(checks), indent=2).decode())
        else:
            Console(highlight=False).print(render(checks))


def render(checks: list[Check]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in checks:
        found = Text(check.found)
        if check.advice is not None:
            found.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.state, style=_COLOURS[check.state]), check.name, found)
    return table
