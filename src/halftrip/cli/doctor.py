"""``halftrip doctor``: what on this machine will spoil the numbers."""

from __future__ import annotations

import msgspec
from rich.console import Group
from rich.text import Text

from halftrip.cli.output import screen, writing
from halftrip.errors import UsageError
from halftrip.plan.parsing import seconds
from halftrip.report.wrapping import wrapped
from halftrip.telemetry import doctor_devices, doctor_mpi, doctor_sleep
from halftrip.telemetry.doctor import Check, load, machine_checks
from halftrip.telemetry.load import LOOK_SECONDS

# Columns stand this far apart, and the last has at least this width.
_GAP = 2
_LEAST_WIDTH = 30
_COLOURS = {"ok": "green", "warning": "yellow", "unknown": "dim"}


def examine(as_json: bool, duration: str | None = None) -> int:
    """Prints the result of every check, as a table or as JSON, and returns the exit status: 1 if
    one of them warns. It looks for so long at who has the cores."""
    try:
        looked = seconds(duration) if duration is not None else LOOK_SECONDS
    except UsageError as error:
        raise UsageError(f"--load: {error}") from None
    # First the load: the ranks of the check of MPI would be part of it.
    checks = [
        load(seconds=looked),
        *machine_checks(),
        *doctor_sleep.checks(),
        doctor_devices.check(),
        doctor_mpi.check(),
    ]
    with writing():
        if as_json:
            print(msgspec.json.format(msgspec.json.encode(checks), indent=2).decode())
        else:
            console = screen()
            console.print(render(checks, console.width), soft_wrap=True)
    return int(any(check.state == "warning" for check in checks))


def render(checks: list[Check], width: int) -> Group:
    """A line for each check, and what to do below it, in lines of at most `width` columns."""
    first = max(len(check.state) for check in checks) + _GAP
    second = first + max(len(check.name) for check in checks) + _GAP
    parts: list[Text] = []
    for check in checks:
        label = f"{check.state.ljust(first)}{check.name.ljust(second - first)}"
        found = [line for text in check.found.split("\n") for line in _lines(text, width - second)]
        lines = [Text(line) for line in found or [""]]
        if check.advice is not None:
            advice = _lines(check.advice, width - second)
            lines += [Text(line, style="italic") for line in advice]
        for number, line in enumerate(lines):
            begin = Text(label if number == 0 else " " * second)
            begin.stylize(_COLOURS[check.state], 0, len(check.state) if number == 0 else 0)
            begin.append_text(line)
            begin.rstrip()
            parts.append(begin)
    return Group(*parts)


def _lines(text: str, width: int) -> list[str]:
    return wrapped("", text, max(width, _LEAST_WIDTH), 0)
