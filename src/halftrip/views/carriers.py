"""What carried the messages of transports whose libraries choose that themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.plan.settings import extra_setting
from halftrip.render.blocks import Block, text_table
from halftrip.results.carrier import Carrier
from halftrip.results.run import Run
from halftrip.texts import printable


class _Said(NamedTuple):
    transport: str
    asked: str
    by: str
    library: str


def lines(run: Run) -> list[str]:
    """A line for each transport and what was asked of it; those of several ranks and launches that
    are alike are one."""
    return [
        f"{each.transport}{f' with {each.asked}' * bool(each.asked)}: by {each.by} ({each.library})"
        for each in _said(run)
    ]


def table(run: Run) -> list[Block]:
    """The same as a table; none where no library has chosen anything."""
    said = _said(run)
    names = ["transport", "asked for", "carried by", "library"]
    return [text_table("What carried the messages", names, said)] if said else []


def _said(run: Run) -> Sequence[_Said]:
    return list(dict.fromkeys(_of(each) for each in run.carriers))


def _of(carrier: Carrier) -> _Said:
    asked = [
        f"{extra_setting(name).title} {printable(str(value))}"
        for name, value in carrier.extra
        if str(value) != extra_setting(name).usual
    ]
    ways = " and ".join(map(printable, carrier.ways)) or "what it does not say"
    return _Said(carrier.transport, ", ".join(asked), ways, printable(carrier.library))
