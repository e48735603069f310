"""What on this machine will spoil the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from halftrip.render import blocks
from halftrip.render.blocks import Checks, View


class Check(Protocol):
    """What was looked at, whether it is well, what was found there, and what to do."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def found(self) -> str: ...
    @property
    def advice(self) -> str | None: ...


def doctor(checks: Sequence[Check]) -> View:
    """A line for each check, and what to do below it."""
    shown = [
        blocks.Check(each.name, each.state, each.found.split("\n"), each.advice) for each in checks
    ]
    records: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in checks]
    return View([Checks(shown)], lambda: records, lambda: records)
