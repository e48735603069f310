"""Traffic that goes on beside what is timed, as a plan names it: ``stream*4:tcp:64K:10MB``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from halftrip.errors import UsageError
from halftrip.plan import parsing
from halftrip.plan.setting import Point
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import NO_BACKGROUND
from halftrip.results.patterns import SHAPES, Pattern
from halftrip.spelling import nearest
from halftrip.units import format_size, parse_size

_SIZE = 64 << 10
# Each is a thread of both ends.
_MOST_FLOWS = 64
_PATTERN = re.compile(r"([a-z]+)(?:\*(\d{1,4}))?", re.ASCII)
_FORM = "write PATTERN[*FLOWS][:TRANSPORT][:SIZE][:RATE], as stream, stream*4:tcp:64K:10MB or none"


class Background(NamedTuple):
    """So many `flows`, each with a path of its own, of messages of `size` bytes by this pattern.
    `transport` is empty where it is that of what is timed. `rate` is what each flow offers, as it
    was written; empty: as much as it can."""

    pattern: Pattern
    flows: int
    transport: str
    size: int
    rate: str

    def __str__(self) -> str:
        flows = f"*{self.flows}" if self.flows > 1 else ""
        parts = [f"{self.pattern}{flows}", self.transport, format_size(self.size), self.rate]
        return ":".join(filter(None, parts))

    @property
    def bytes_per_s(self) -> float | None:
        """What each flow offers, bytes per second; None: as much as it can."""
        return parsing.rate(self.rate) if self.rate else None


def parsed(value: Any) -> Background | None:
    """What a text names; None for ``none``. Raises UsageError for what is no background."""
    if value == NO_BACKGROUND:
        return None
    pattern, *rest = str(value).split(":")
    found = _PATTERN.fullmatch(pattern)
    if found is None:
        raise UsageError(f"{value!r} is no background; {_FORM}")
    name, flows = found[1], int(found[2] or 1)
    if name not in SHAPES:
        raise UsageError(f"{name!r} is not known; {nearest(name, (*SHAPES, 'none'))}")
    if not 0 < flows <= _MOST_FLOWS:
        raise UsageError(f"{value!r}: {flows} flows; 1 to {_MOST_FLOWS} are possible")
    transport = rest.pop(0) if rest and rest[0] in TRANSPORTS else ""
    size = _SIZE
    if rest and (given := _size(rest[0])) is not None:
        size = given
        del rest[0]
    if not size:
        raise UsageError(f"{value!r}: empty messages move nothing")
    rate = rest.pop(0) if rest else ""
    if rest or (rate and not _is_rate(rate)):
        wrong = rest[-1] if rest else rate
        raise UsageError(f"{wrong!r} in {value!r} is no transport, size or rate; {_FORM}")
    return Background(cast("Pattern", name), flows, transport, size, rate)


def _size(text: str) -> int | None:
    try:
        return parse_size(text)
    except UsageError:
        return None


def _is_rate(text: str) -> bool:
    try:
        return parsing.rate(text) > 0
    except UsageError:
        return False


def read(value: Any) -> str:
    """A reader of one background: each is written in one way."""
    return str(parsed(value) or NO_BACKGROUND)


def backgrounds(point: Point) -> tuple[str, ...]:
    """The backgrounds of a transport: those that name no other use the same."""
    found = []
    for text in point.asked:
        each = parsed(text)
        if each is not None and not each.transport:
            each = each._replace(transport=point.chosen["transport"])
        found.append(str(each or NO_BACKGROUND))
    return tuple(dict.fromkeys(found))
