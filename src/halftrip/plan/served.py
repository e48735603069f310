"""What a client of ``halftrip serve`` may ask for: what is measured, and for how long; nothing that
names a command, a path, a library or a variable. The tables of options and of settings say it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import Plan
from halftrip.registry import SERVED_TRANSPORTS, needing
from halftrip.results.reported import SIDE
from halftrip.texts import printable

# What may be varied: of these, the server's ranks have the values as names of rows alone.
_VARIED = ("cores", "interface", SIDE)
_USUAL = Plan()


def for_server(plan: Plan) -> Plan:
    """The plan as the ranks of a server get it: without what is nothing to them. Raises UsageError
    for what no server takes, whatever it allows."""
    kept = {name: getattr(_USUAL, name) for name, each in OPTIONS.items() if each.served == "kept"}
    told = msgspec.structs.replace(plan, **kept)
    check_served(told, libraries=True)
    return told


def check_served(plan: Plan, libraries: bool) -> None:
    """Raises UsageError if a client asks for more than it may. To be asked at the server, which has
    `libraries` for clients or not."""
    by_library = needing("library")
    for name, value in _keys(plan):
        option = OPTIONS.get(name)
        usual = getattr(_USUAL, name, None)
        if value != usual and (option is None or option.served != "taken"):
            raise UsageError(f"{_option(name)}: no client of halftrip serve may ask for it")
    for name, _ in plan.vary:
        if name not in _VARIED:
            raise UsageError(
                f"--vary: {printable(name, 60)}: of a client of halftrip serve only "
                f"{', '.join(_VARIED)}"
            )
    for name in plan.transports:
        if name in by_library and libraries:
            continue
        if name not in SERVED_TRANSPORTS:
            more = "; with --libraries it has it" * (name in by_library)
            raise UsageError(
                f"--transport {printable(name, 60)}: halftrip serve has "
                f"{', '.join(SERVED_TRANSPORTS)}{more}"
            )


def _keys(plan: Plan) -> Iterator[tuple[str, Any]]:
    """The keys of a plan and of its parts, with those of plug-ins."""
    for name in plan.__struct_fields__:
        if name not in ("vary", "extra"):
            yield name, getattr(plan, name)
    yield from plan.extra
    for part in plan.part:
        yield from part.items()


def _option(name: str) -> str:
    return f"--{printable(name, 60).replace('_', '-')}"
