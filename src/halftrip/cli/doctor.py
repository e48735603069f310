"""``halftrip doctor``: what on this machine will spoil the numbers."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from halftrip.cli.output import writing
from halftrip.errors import UsageError
from halftrip.plan.parsing import seconds
from halftrip.telemetry import doctor_mpi
from halftrip.telemetry.doctor import Check, load, machine_checks
from halftrip.telemetry.load import LOOK_SECONDS

_COLOURS = {"ok": "green", "warning": "yellow", "unknown": "dim"}


def examine(as_json: bool, duration: str | None = None) -> int:
    """Prints the result of every check, as a table or as JSON, and returns the exit status: 1 if
    one of them warns. It looks for so long at who has the cores."""
    try:
        looked = seconds(duration) if duration is not None else LOOK_SECONDS
    except UsageError as error:
        raise UsageError(f"--load: {error}") from None
    # First the load: the ranks of the check of MPI would be part of it.
    checks = [load(seconds=looked), *machine_checks(), doctor_mpi.check()]
    with writing():
        if as_json:
            print(msgspec.json.format(msgspec.json.encode(checks), indent=2).decode())
        else:
            Console(highlight=False).print(render(checks))
    return int(any(check.state == "warning" for check in checks))


def render(checks: list[Check]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for check in checks:
        found = Text(check.found)
        if check.advice is not None:
            found.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.state, style=_COLOURS[check.state]), check.name, found)
    return table
