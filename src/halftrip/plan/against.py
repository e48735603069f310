"""What a plan measures itself against: an earlier run's configurations, measured again, and what
is different about the launches that stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.vary import Axis, check_variable
from halftrip.results.reported import BASE, NEW, SIDE

# The axis of the two sides, which no plan can name by itself.
SIDES: Axis = (SIDE, (BASE, NEW))


class Against(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run file `file` whose plan this is, and what its launches have instead of this
    installation as it is: environment variables (`env`, names and values), another `mpiexec`,
    another installation's `command`. With none of these, only what is new is measured."""

    file: str
    env: tuple[tuple[str, str], ...] = ()
    mpiexec: str | None = None
    command: str | None = None

    @property
    def has_sides(self) -> bool:
        """Whether the base is measured again, too."""
        return bool(self.env) or self.mpiexec is not None or self.command is not None


def against(value: Any) -> Against:
    """A reader of what a run file's plan has of it."""
    if isinstance(value, Against):
        return value
    try:
        found = msgspec.convert(value, Against)
    except msgspec.ValidationError as error:
        raise UsageError(f"not what halftrip run --against records: {error}") from None
    for name, _ in found.env:
        check_variable(name)
    return found


def variables(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A reader of variables as ``NAME=VALUE``. Raises UsageError for a text that is none."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} has no value; write NAME=VALUE")
        check_variable(name)
        if name in found:
            raise UsageError(f"{name} is there twice")
        found[name] = value
    return tuple(sorted(found.items()))


def record(found: Against) -> dict[str, Any]:
    """As a run file has it."""
    made: dict[str, Any] = msgspec.to_builtins(found)
    if found.env:
        made["env"] = [list(each) for each in found.env]
    return made
