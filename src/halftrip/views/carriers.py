"""What carried the messages of transports whose libraries choose that themselves, in words."""

from __future__ import annotations

from halftrip.plan.settings import extra_setting
from halftrip.results.carrier import Carrier
from halftrip.results.run import Run
from halftrip.texts import printable


def lines(run: Run) -> list[str]:
    """A line for each transport and what was asked of it; those of several ranks and launches that
    are alike are one."""
    return list(dict.fromkeys(_of(each) for each in run.carriers))


def _of(carrier: Carrier) -> str:
    asked = [
        f"{extra_setting(name).title} {printable(str(value))}"
        for name, value in carrier.extra
        if str(value) != extra_setting(name).usual
    ]
    where = f" with {', '.join(asked)}" if asked else ""
    ways = " and ".join(map(printable, carrier.ways)) or "what it does not say"
    return f"{carrier.transport}{where}: by {ways} ({printable(carrier.library)})"
