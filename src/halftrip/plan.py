"""A plan: what to measure and how, from a TOML file, options, or both.

Every key of a plan is an option of ``halftrip run`` and the other way round; one table, FIELDS,
says how each is read, so that a file, the command line and Python accept the same and refuse alike.
"""

from __future__ import annotations

import difflib
import mmap
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from halftrip import model
from halftrip.errors import UsageError
from halftrip.patterns import SHAPES, Mode, Pattern
from halftrip.registry import LAUNCHERS, TRANSPORTS
from halftrip.schedule import Pairs, rounds
from halftrip.sizes import DEFAULT_SIZES, parse_sizes
from halftrip.units import format_size, parse_duration, parse_share, parse_size


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure. An empty `wait` means each transport's own default; an empty `mode` or
    `window` each pattern's.

    `rate` is bytes per second; `timeout`, seconds, is how long an answer to a datagram may take.
    `ranks` is how many a launcher starts, two unless told otherwise or `cores` has more. `cores`
    has one for each rank; None: they are chosen; "none": ranks are left to the scheduler.

    A case ends when its interval is within `ci` (a share of the median; None: never for that
    reason) or `time` seconds of sampling are over; or, with `iterations`, after exactly that many
    exchanges. Fresh processes are started `launches` times; with `until_ci`, until every row's
    interval over them is within `ci`, `max_launches` times at most.
    """

    transport: tuple[str, ...] = tuple(TRANSPORTS)
    pattern: tuple[Pattern, ...] = ("pingpong",)
    mode: tuple[Mode, ...] = ()
    sizes: tuple[int, ...] = parse_sizes(DEFAULT_SIZES)
    perturb: int = 0
    refine: bool = False
    window: tuple[int, ...] = ()
    wait: tuple[model.Wait, ...] = ()
    buffers: tuple[model.Buffers, ...] = ("separate",)
    pages: tuple[model.Pages, ...] = ("4K",)
    cache: tuple[model.Cache, ...] = ("hot",)
    align: tuple[int, ...] = (0,)
    datatype: tuple[model.Datatype, ...] = ("byte",)
    rate: float | None = None
    timeout: float = 1.0
    verify: bool = False
    rtt: bool = False
    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None
    repetitions: int = 1
    launches: int = 1
    until_ci: bool = False
    max_launches: int = 30
    cores: tuple[int, ...] | Literal["none"] | None = None
    ranks: int | None = None
    pairs: Pairs = "halves"
    pairs_at_once: int | None = None
    threads: int = 1
    launcher: str | None = None
    mpiexec: str | None = None
    output: str | None = None
    quiet: bool = False


# A count beyond this is a slip of the pen; it also has to fit into every number on its way.
_MOST = 10**15
_CORES = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)


class Layer(NamedTuple):
    """Some keys of a plan, as somebody wrote them; `place` says where one stands, for an error."""

    keys: Mapping[str, Any]
    place: Callable[[str], str]


def _word(allowed: Iterable[str]) -> Callable[[Any], str]:
    names = list(allowed)

    def parse(value: Any) -> str:
        if value not in names:
            raise UsageError(f"{value!r} is not known; allowed: {', '.join(names)}")
        return str(value)

    return parse


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if isinstance(value, list | tuple) else [value]


def _words(allowed: Iterable[str]) -> Callable[[Any], tuple[str, ...]]:
    parse = _word(allowed)

    def parse_all(value: Any) -> tuple[str, ...]:
        return tuple(dict.fromkeys(parse(item) for item in _items(value)))

    return parse_all


def _sizes(value: Any) -> tuple[int, ...]:
    return parse_sizes(",".join(str(item) for item in _items(value)))


def _count(value: Any, least: int = 1) -> int:
    try:
        count = int(str(value)) if not isinstance(value, bool) else 0
    except ValueError:
        raise UsageError(f"{value!r} is not a whole number") from None
    if count < least:
        raise UsageError(f"{count} is too few; at least {least}")
    if count > _MOST:
        raise UsageError(f"{count} is too many; at most {_MOST}")
    return count


def _ci(value: Any) -> float | None:
    if str(value) == "none":
        return None
    share = parse_share(str(value))
    if not 0 < share < 1:
        raise UsageError(f"{value!r} is out of range; between 0% and 100%, or none")
    return share


def _time(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    seconds = float(value) if is_number else parse_duration(str(value))
    if not 0 < seconds < 86400 * 7:
        raise UsageError(f"{value!r} is out of range; more than 0 and less than a week")
    return seconds


def _cores(value: Any) -> tuple[int, ...] | Literal["none"]:
    if value == "none":
        return "none"
    cores: list[int] = []
    for item in _items(value):
        match = _CORES.fullmatch(str(item))
        if match is None:
            raise UsageError(f"{item!r} is not a core; write core numbers as 0,1 or 0-3, or none")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"{item!r} ends before it begins; write core numbers as 0,1 or 0-3")
        cores.extend(range(first, last + 1))
    return tuple(cores)


def _ranks(value: Any) -> int:
    return _count(value, least=2)


# Each message in flight may need a request and a buffer.
_LARGEST_WINDOW = 1_000_000


def _windows(value: Any) -> tuple[int, ...]:
    windows = tuple(dict.fromkeys(_count(item) for item in _items(value)))
    if max(windows, default=0) > _LARGEST_WINDOW:
        raise UsageError(f"{max(windows)} is too many in flight; at most {_LARGEST_WINDOW}")
    return windows


def _perturbation(value: Any) -> int:
    return _count(value, least=0)


def _alignments(value: Any) -> tuple[int, ...]:
    """Powers of two below a page: the buffer is aligned to just that; 0 or a page: to the page."""
    alignments = []
    for item in _items(value):
        align = parse_size(str(item))
        if align & (align - 1) or align > mmap.PAGESIZE:
            raise UsageError(f"{item!r} is not a power of two up to {mmap.PAGESIZE}, or 0")
        alignments.append(align % mmap.PAGESIZE)
    return tuple(dict.fromkeys(alignments))


def _rate(value: Any) -> float:
    """Bytes per second."""
    rate = float(parse_size(str(value)))
    if rate <= 0:
        raise UsageError(f"{value!r} is out of range; more than 0 bytes per second")
    return rate


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{value!r} is not a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{value!r} is neither true nor false")
    return value


FIELDS: dict[str, Callable[[Any], Any]] = {
    "transport": _words(TRANSPORTS),
    "pattern": _words(get_args(Pattern)),
    "mode": _words(get_args(Mode)),
    "sizes": _sizes,
    "perturb": _perturbation,
    "refine": _flag,
    "window": _windows,
    "wait": _words(get_args(model.Wait)),
    "buffers": _words(get_args(model.Buffers)),
    "pages": _words(get_args(model.Pages)),
    "cache": _words(get_args(model.Cache)),
    "align": _alignments,
    "datatype": _words(get_args(model.Datatype)),
    "rate": _rate,
    "timeout": _time,
    "verify": _flag,
    "rtt": _flag,
    "ci": _ci,
    "time": _time,
    "iterations": _count,
    "repetitions": _count,
    "launches": _count,
    "until_ci": _flag,
    "max_launches": _count,
    "cores": _cores,
    "ranks": _ranks,
    "pairs": _word(get_args(Pairs)),
    "pairs_at_once": _count,
    "threads": _count,
    "launcher": _word(LAUNCHERS),
    "mpiexec": _text,
    "output": _text,
    "quiet": _flag,
}

# A case ends for one of these reasons; who names one wants that, and not what a lower layer said.
_STOPS_EARLY = ("ci", "time")


def make_plan(*layers: Layer) -> Plan:
    """The plan that the layers make together; where they disagree, the last one wins.

    Raises UsageError that says what is wrong, where, and what is allowed.
    """
    keys: dict[str, Any] = {}
    for layer in layers:
        parsed = {name: _parse(name, value, layer.place) for name, value in layer.keys.items()}
        early = [name for name in _STOPS_EARLY if name in parsed]
        if "iterations" in parsed and early:
            place = layer.place("iterations")
            other = layer.place(early[0])
            raise UsageError(f"{place}: a fixed count ends a case by itself; leave out {other}")
        if early:
            keys.pop("iterations", None)
        keys |= parsed
    plan = Plan(**keys)
    if isinstance(plan.cores, tuple):
        place = next(layer.place for layer in reversed(layers) if "cores" in layer.keys)
        plan = _at(place, "cores", partial(_with_cores, plan), plan.cores)
    if plan.window and all(SHAPES[pattern].window is None for pattern in plan.pattern):
        place = next(layer.place for layer in reversed(layers) if "window" in layer.keys)
        have = ", ".join(pattern for pattern, shape in SHAPES.items() if shape.window is not None)
        raise UsageError(
            f"{place('window')}: {', '.join(plan.pattern)} has no window; --pattern {have}"
        )
    if plan.ranks is not None:
        named = ("cores", "ranks")
        layer = next(layer for layer in reversed(layers) if any(n in layer.keys for n in named))
        name = next(name for name in named if name in layer.keys)
        _at(layer.place, name, partial(check_ranks, plan), plan.ranks)
    return plan


def check_ranks(plan: Plan, ranks: int) -> None:
    """Raises UsageError if so many ranks cannot form the pairs that the plan asks for."""
    most = max(len(pairs) for pairs in rounds(ranks, plan.pairs))
    if plan.pairs_at_once is not None and plan.pairs_at_once > most:
        pairs = "1 pair" if most == 1 else f"{most} pairs"
        raise UsageError(
            f"{plan.pairs_at_once} pairs at once are too many: {ranks} ranks make {pairs} at a time"
        )


def _with_cores(plan: Plan, cores: tuple[int, ...]) -> Plan:
    """The plan with as many ranks as its cores are for. Raises UsageError if that does not come
    out even."""
    ranks = max(2, len(cores) // plan.threads) if plan.ranks is None else plan.ranks
    needed = ranks * plan.threads
    if len(cores) != needed:
        count = "1 core" if len(cores) == 1 else f"{len(cores)} cores"
        threads = f" of {plan.threads} threads" if plan.threads > 1 else ""
        example = ",".join(map(str, range(needed))) if needed <= 4 else f"0-{needed - 1}"
        raise UsageError(
            f"{count} for {ranks} ranks{threads}; name {needed}, one for each, as {example}"
        )
    return msgspec.structs.replace(plan, ranks=ranks)


def _at(place: Callable[[str], str], name: str, parse: Callable[[Any], Any], value: Any) -> Any:
    """What `parse` makes of `value`; its UsageError says where the value stands."""
    try:
        return parse(value)
    except UsageError as error:
        raise UsageError(f"{place(name)}: {error}") from None


def _parse(name: str, value: Any, place: Callable[[str], str]) -> Any:
    if name not in FIELDS:
        close = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(FIELDS)}"
        raise UsageError(f"{place(name)}: no such key; {hint}")
    return _at(place, name, FIELDS[name], value)


def options_layer(options: Mapping[str, Any]) -> Layer:
    """The options of a command line; those that are None were not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Layer(given, lambda name: f"--{name.replace('_', '-')}")


def python_layer(keys: Mapping[str, Any]) -> Layer:
    """The keys of a plan given in Python."""
    return Layer(keys, lambda name: name)


def plan_layer(plan: Plan) -> Layer:
    """All keys of a plan, so that one that was made by hand is looked at like any other."""
    return python_layer(_keys(plan))


def file_layer(path: str | os.PathLike[str]) -> Layer:
    """The keys of a TOML file. Raises UsageError if it cannot be read as such."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        keys = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file; a plan is TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    # Written as options are.
    keys = {name.replace("-", "_"): value for name, value in keys.items()}
    return Layer(keys, lambda name: f"{path}: {name.replace('_', '-')}")


def _keys(plan: Plan) -> dict[str, Any]:
    """The keys that give the plan again, where they say anything."""
    keys = msgspec.structs.asdict(plan)
    keys["ci"] = "none" if plan.ci is None else plan.ci
    for name in _STOPS_EARLY if plan.iterations is not None else ("iterations",):
        del keys[name]
    if not plan.wait:
        del keys["wait"]
    return {name: value for name, value in keys.items() if value is not None}


def plan_record(plan: Plan) -> dict[str, Any]:
    """The plan as it stands in a run file: the keys of a TOML plan that would give it again."""
    record = _keys(plan)
    record["sizes"] = ",".join(format_size(size) for size in plan.sizes)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in record.items()
        if name not in ("output", "quiet")
    }
