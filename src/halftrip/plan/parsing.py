"""Readers of the keys of a plan: from text, as options are given, or from the types of TOML.

Each reader raises UsageError that says what is allowed.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast, get_args

from halftrip.errors import UsageError
from halftrip.plan.pairing import Together
from halftrip.plan.sizes import parse_sizes
from halftrip.results.bounds import (
    LARGEST_CODE_POINT,
    LARGEST_SEGMENT,
    LARGEST_SOCKET_BUFFER,
    LARGEST_WINDOW,
    LONGEST_POLL_US,
)
from halftrip.spelling import nearest
from halftrip.units import parse_duration, parse_share, parse_size

# A larger count is a mistake; counts also have to fit the integers of the timed code.
_MOST = 10**15
# One for each thread of each rank.
# As the kernel has them: TCP_MIN_MSS, and TCP_CA_NAME_MAX of letters.
_SMALLEST_SEGMENT = 88
_ALGORITHM = re.compile(r"[a-z0-9_-]{1,15}", re.ASCII)
CODE_POINTS = {
    **{f"CS{number}": number << 3 for number in range(8)},
    **{f"AF{row}{drop}": row << 3 | drop << 1 for row in range(1, 5) for drop in range(1, 4)},
    "EF": 46,
}
# s.
_LONGEST_DELAY = 1.0
_LITTLE = 1e-6
_BITS = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([kMGT]?)bit", re.ASCII)
_PAIR = re.compile(r"(\d{1,6})-(\d{1,6})", re.ASCII)
# Of cores and of ports: one, or the first and the last.
_SPAN = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


def no_such_key(place: str, name: str, allowed: Collection[str]) -> UsageError:
    """The error for a key `name` that is none of the `allowed`."""
    return UsageError(f"{place}: no such key; {nearest(name, allowed)}")


class NamesReader:
    """A reader of what consists of `allowed` names."""

    def __init__(self, allowed: Collection[str], parse: Callable[[Any], Any]) -> None:
        self.allowed = allowed
        self._parse = parse

    def __call__(self, value: Any) -> Any:
        return self._parse(value)


# So many names are all shown to who has typed another.
_FEW = 6


def one_of(allowed: Collection[str]) -> NamesReader:
    """A reader of one of the allowed texts."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            name = value if isinstance(value, str) and len(allowed) > _FEW else ""
            raise UsageError(f"{value!r} is not known; {nearest(name, allowed)}")
        return str(value)

    return NamesReader(allowed, parse)


def items(value: Any) -> list[Any]:
    """The items of a list, or of a text between its commas; a single value is one item."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def some_of(allowed: Collection[str]) -> NamesReader:
    """A reader of some of the allowed texts, each once."""
    parse = one_of(allowed)

    def parse_all(value: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(parse(item) for item in items(value)))

    return NamesReader(allowed, parse_all)


def per_end(allowed: Collection[str]) -> NamesReader:
    """A reader of settings that the two ends have: ``a`` is that of both, ``a:b`` those of the
    initiator and the responder."""
    parse = one_of(allowed)

    def parse_both(value: Any) -> tuple[str, ...]:
        found = []
        for item in items(value):
            initiator, colon, responder = str(item).partition(":")
            ends = (parse(initiator), parse(responder)) if colon else (parse(item),)
            found.append(":".join(dict.fromkeys(ends)))
        return tuple(dict.fromkeys(found))

    return NamesReader(allowed, parse_both)


def sizes(value: Any) -> tuple[int, ...]:
    return parse_sizes(",".join(str(item) for item in items(value)))


def size_ranges(value: Any) -> tuple[tuple[int, int], ...]:
    """Ranges of sizes, both ends included: ``8`` is one size, ``1K..1M`` or ``1K:1M`` all
    between."""
    found = []
    for item in items(value):
        first, colon, last = str(item).replace("..", ":").partition(":")
        if colon and not (first.strip() and last.strip()):
            raise UsageError(f"{item!r} has one end only; write 8 or 1K..1M")
        low = parse_size(first)
        high = parse_size(last) if colon else low
        if low > high:
            raise UsageError(f"{item!r} begins above its end")
        found.append((low, high))
    return tuple(found)


def count(value: Any, least: int = 1, most: int = _MOST) -> int:
    try:
        # True has a text that is no number.
        count = int(str(value))
    except ValueError:
        raise UsageError(f"{value!r} is not a whole number") from None
    if count < least:
        raise UsageError(f"{count} is too few; at least {least}")
    if count > most:
        raise UsageError(f"{count} is too many; at most {most}")
    return count


def interval_width(value: Any) -> float | None:
    if str(value) == "none":
        return None
    share = parse_share(str(value))
    if not 0 < share < 1:
        raise UsageError(f"{value!r} is out of range; between 0% and 100%, or none")
    return share


def seconds(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    seconds = float(value) if is_number else parse_duration(str(value))
    if not 0 < seconds < 86400 * 7:
        raise UsageError(f"{value!r} is out of range; more than 0 and less than a week")
    return seconds


def ports(value: Any) -> tuple[int, int]:
    # As the plan itself and a run file have it: two numbers.
    text = "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    match = _SPAN.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last < 1 << 16:
        raise UsageError(f"{text!r} are no ports; write the first and the last as 5202-5299")
    return first, last


def at_most(most: int, least: int = 1) -> Callable[[Any], int]:
    """A reader of a whole number within these limits."""

    def parse(value: Any) -> int:
        return count(value, least, most)

    return parse


def pairs_of(rules: Collection[str]) -> NamesReader:
    """A reader of one of the rules, or of pairs of ranks such as ``0-3,1-2``."""

    def parse(value: Any) -> str | tuple[tuple[int, int], ...]:
        if isinstance(value, str) and value in rules:
            return value
        pairs = tuple(_pair(item, rules) for item in items(value))
        if len({frozenset(pair) for pair in pairs}) < len(pairs):
            raise UsageError(f"{value!r} has a pair twice")
        return pairs

    return NamesReader(rules, parse)


def _pair(item: Any, rules: Collection[str]) -> tuple[int, int]:
    # As the plan itself and a run file have it: two numbers.
    text = "-".join(map(str, item)) if isinstance(item, list | tuple) else str(item)
    match = _PAIR.fullmatch(text)
    if match is None:
        allowed = f"allowed: {', '.join(rules)}, or" if rules else "write"
        raise UsageError(f"{text!r} is not known; {allowed} pairs as 0-3,1-2")
    pair = int(match[1]), int(match[2])
    if pair[0] == pair[1]:
        raise UsageError(f"{text!r} is one rank; a pair has two")
    return pair


def windows(value: Any) -> tuple[int, ...]:
    windows = tuple(dict.fromkeys(count(item) for item in items(value)))
    if max(windows, default=0) > LARGEST_WINDOW:
        raise UsageError(f"{max(windows)} is too many in flight; at most {LARGEST_WINDOW}")
    return windows


def at_once(value: Any) -> tuple[int | Together, ...]:
    """Numbers of pairs, ``all``, or ``caches``."""
    return tuple(dict.fromkeys(map(_at_once, items(value))))


def _at_once(item: Any) -> int | Together:
    known = get_args(Together)
    if item in known:
        return cast("Together", item)
    if not re.fullmatch(r"[+-]?[0-9]+", str(item)):
        raise UsageError(f"{item!r} is no number of pairs; write one, or {' or '.join(known)}")
    return count(item)


def count_or_0(value: Any) -> int:
    return count(value, least=0)


def alignments(value: Any) -> tuple[int, ...]:
    """Powers of two below a page, each meaning that alignment and no higher one; 0 or a page means
    a page."""
    alignments = []
    for item in items(value):
        align = parse_size(str(item))
        if align & (align - 1) or align > mmap.PAGESIZE:
            raise UsageError(f"{item!r} is not a power of two up to {mmap.PAGESIZE}, or 0")
        alignments.append(align % mmap.PAGESIZE)
    return tuple(dict.fromkeys(alignments))


def several(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """A reader of several values, each once, of which `read` reads one."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(read(item) for item in items(value)))

    return parse


# What stands for what the system does if nothing is asked for.
SYSTEM = "system"


def socket_buffer(value: Any) -> int:
    """Bytes; 0 or ``system``: as the kernel decides."""
    size = 0 if value == SYSTEM else parse_size(str(value))
    if size > LARGEST_SOCKET_BUFFER:
        raise UsageError(f"{value!r} is too much for a socket; at most 1G, or system")
    return size


def segment(value: Any) -> int:
    """Bytes; 0 or ``system``: what the path takes."""
    size = 0 if value == SYSTEM else parse_size(str(value))
    if size and not _SMALLEST_SEGMENT <= size <= LARGEST_SEGMENT:
        allowed = f"{_SMALLEST_SEGMENT} to {LARGEST_SEGMENT} bytes, or system"
        raise UsageError(f"{value!r} is no segment that Linux has; {allowed}")
    return size


def algorithm(value: Any) -> str:
    """The name of an algorithm of the kernel's."""
    if not isinstance(value, str) or not _ALGORITHM.fullmatch(value):
        raise UsageError(f"{value!r} is no name of an algorithm, as cubic, reno or bbr; or system")
    return value


def code_point(value: Any) -> int:
    """A number of six bits, or its name (RFC 2474, 2597, 3246)."""
    if isinstance(value, str) and value.upper() in CODE_POINTS:
        return CODE_POINTS[value.upper()]
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdecimal() or len(text) > _FEW:
        raise UsageError(f"{value!r} is no code point; 0 to 63, CS0 to CS7, AF11 to AF43, EF")
    if int(text) > LARGEST_CODE_POINT:
        raise UsageError(f"{text} is too large for a code point; at most {LARGEST_CODE_POINT}")
    return int(text)


def microseconds(value: Any) -> int:
    """A time in whole microseconds, as ``50us``; a number without a unit has that one. ``system``
    is 0."""
    if value == SYSTEM:
        return 0
    is_number = str(value).isdecimal() and str(value).isascii()
    duration = parse_duration(f"{value}us" if is_number else str(value)) * 1e6
    if duration > LONGEST_POLL_US:
        raise UsageError(f"{value!r} is too long to poll; at most 1s")
    if abs(duration - round(duration)) > _LITTLE:
        raise UsageError(f"{value!r} is not a whole number of microseconds")
    return round(duration)


def nanoseconds(value: Any) -> int:
    """A time in whole nanoseconds, as ``50us``, or 0."""
    duration = parse_duration(str(value))
    if duration > _LONGEST_DELAY:
        raise UsageError(f"{value!r} is too long to compute between two calls; at most 1s")
    if abs(duration * 1e9 - round(duration * 1e9)) > _LITTLE:
        raise UsageError(f"{value!r} is not a whole number of nanoseconds")
    return round(duration * 1e9)


def rate(value: Any) -> float:
    """Bytes per second, also written as bits per second: ``10Gbit``."""
    bits = _BITS.fullmatch(str(value).removesuffix("/s"))
    if bits is not None:
        rate = float(bits[1]) * {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(bits[2], 1.0) / 8
    else:
        try:
            rate = float(parse_size(str(value)))
        except UsageError:
            allowed = "write bytes per second as 50MB or 1GiB, or bits as 10Gbit"
            raise UsageError(f"{value!r} is not a rate; {allowed}") from None
    if rate <= 0:
        raise UsageError(f"{value!r} is out of range; more than 0 bytes per second")
    return rate


def share(value: Any) -> float:
    """A share of 0 up to, but not including, 1."""
    share = parse_share(str(value))
    if not 0 <= share < 1:
        raise UsageError(f"{value!r} is out of range; from 0% to less than 100%")
    return share


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError("it is empty" if value == "" else f"{value!r} is not a text")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{value!r} is neither true nor false")
    return value


def flags(value: Any) -> tuple[bool, ...]:
    """One flag, or both values, each of which is a row."""
    return tuple(dict.fromkeys(flag(item) for item in items(value)))


def tables(value: Any) -> list[dict[str, Any]]:
    """Tables of TOML, as ``[[part]]`` begins each; a key may be written with dashes."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, dict) for each in value):
        raise UsageError("not a list of tables; begin each with [[part]]")
    return [underscored(table) for table in value]


def underscored(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that may be written with dashes, as options are. Raises UsageError for a key that is
    there in both ways."""
    found: dict[str, Any] = {}
    for written, value in keys.items():
        name = str(written).replace("-", "_")
        if name in found:
            raise UsageError(f"{name.replace('_', '-')}: there twice, with _ and with -")
        found[name] = value
    return found
