"""``halftrip doctor``: what on this machine will spoil the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from halftrip.cli import app, inputs
from halftrip.cli.inputs import Text
from halftrip.cli.output import put
from halftrip.errors import UsageError
from halftrip.plan.parsing import seconds

if TYPE_CHECKING:
    from rich.console import Group

    from halftrip.telemetry.doctor import Check

# Columns stand this far apart, and the last has at least this width.
_GAP = 2
_LEAST_WIDTH = 30
_COLOURS = {"ok": "green", "warning": "yellow", "unknown": "dim"}


@app.command("doctor")
def doctor(
    json: Annotated[bool, typer.Option("-j", "--json", help="Print JSON.")] = False,
    load: Annotated[
        Text,
        typer.Option(
            "--load", metavar="TIME", help="Look for so long at who has the cores. [0.2s]"
        ),
    ] = None,
    loops: Annotated[
        bool,
        typer.Option(
            "--loops", help="Instead, compare halftrip with loops written by hand; half a minute."
        ),
    ] = False,
    transport: Annotated[
        Text,
        typer.Option("-t", "--transport", metavar="NAMES", help="With --loops: only over these."),
    ] = None,
    hosts: Annotated[
        Text,
        typer.Option(
            "--hosts", metavar="HERE,OTHER", help="With --loops: between this host and another."
        ),
    ] = None,
    ssh: Annotated[
        Text,
        typer.Option("--ssh", metavar="COMMAND", help="With --hosts: what reaches the other."),
    ] = None,
) -> int:
    """Say what on this machine will spoil the numbers; exit with 1 if anything will."""
    if loops and load is not None:
        raise UsageError("--load: not with --loops")
    if ssh is not None and hosts is None:
        raise UsageError("--ssh: goes with --hosts")
    if loops:
        from halftrip.cli.doctor_loops import examine_loops

        return examine_loops(transport, json, hosts, ssh)
    for name, value in (("-t", transport), ("--hosts", hosts)):
        if value is not None:
            raise UsageError(f"{name}: goes with --loops")
    from halftrip.telemetry import doctor as machine
    from halftrip.telemetry import doctor_devices, doctor_mpi, doctor_sleep
    from halftrip.telemetry.load import LOOK_SECONDS

    looked = inputs.given("--load", seconds, load) or LOOK_SECONDS
    # First the load: the ranks of the check of MPI would be part of it.
    checks = [
        machine.load(seconds=looked),
        *machine.machine_checks(),
        *doctor_sleep.checks(),
        doctor_devices.check(),
        doctor_mpi.check(),
    ]
    if json:
        put(f"{msgspec.json.format(msgspec.json.encode(checks), indent=2).decode()}\n")
    else:
        put(lambda width: _render(checks, width))
    return int(any(check.state == "warning" for check in checks))


def _render(checks: list[Check], width: int) -> Group:
    """A line for each check, and what to do below it, in lines of at most `width` columns."""
    from rich.console import Group
    from rich.text import Text as Styled

    from halftrip.report.wrapping import wrapped

    first = max(len(check.state) for check in checks) + _GAP
    second = first + max(len(check.name) for check in checks) + _GAP
    room = max(width - second, _LEAST_WIDTH)
    parts: list[Styled] = []
    for check in checks:
        label = f"{check.state.ljust(first)}{check.name.ljust(second - first)}"
        found = [line for text in check.found.split("\n") for line in wrapped("", text, room, 0)]
        lines = [Styled(line) for line in found or [""]]
        if check.advice is not None:
            advice = wrapped("", check.advice, room, 0)
            lines += [Styled(line, style="italic") for line in advice]
        for number, line in enumerate(lines):
            begin = Styled(label if number == 0 else " " * second)
            begin.stylize(_COLOURS[check.state], 0, len(check.state) if number == 0 else 0)
            begin.append_text(line)
            begin.rstrip()
            parts.append(begin)
    return Group(*parts)
