"""A plan: what to measure and how, from a TOML file, options, or both.

Every key of a plan is an option of ``halftrip run`` and the other way round; one table, FIELDS,
says how each is read, so that a file, the command line and Python accept the same and refuse alike.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from halftrip.errors import UsageError
from halftrip.plan import parsing, presets
from halftrip.plan.pairing import Pairs, rounds
from halftrip.plan.path_model_table import parse_truth, truth_record
from halftrip.plan.sizes import DEFAULT_SIZES, parse_sizes
from halftrip.registry import LAUNCHERS, REAL_TRANSPORTS, TRANSPORTS
from halftrip.results.case import Buffers, Cache, Datatype, Pages, Wait
from halftrip.results.patterns import SHAPES, Mode, Pattern
from halftrip.simulation.path_model import Truth
from halftrip.units import format_size

Placement = Literal["near", "far"]
# With until_ci, an interval over fewer launches is wide whatever they found; and there is an end.
FEWEST_UNTIL_CI = 3
MOST_LAUNCHES = 30


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

    `preset` names keys that hold where nothing else says otherwise. With `placement_state`, only
    samples count that were taken while the line between the cores was the shortest that there is
    ("near"), or the longest ("far"). `simulated` is the truth of the transport of that name, which
    is the only one measured then, unless others are named. With `system_log`, every host's counters
    are recorded: for a second before and after all, and after each case.
    """

    transport: tuple[str, ...] = REAL_TRANSPORTS
    pattern: tuple[Pattern, ...] = ("pingpong",)
    mode: tuple[Mode, ...] = ()
    sizes: tuple[int, ...] = parse_sizes(DEFAULT_SIZES)
    perturb: int = 0
    refine: bool = False
    window: tuple[int, ...] = ()
    wait: tuple[Wait, ...] = ()
    buffers: tuple[Buffers, ...] = ("separate",)
    pages: tuple[Pages, ...] = ("4K",)
    cache: tuple[Cache, ...] = ("hot",)
    align: tuple[int, ...] = (0,)
    datatype: tuple[Datatype, ...] = ("byte",)
    rate: float | None = None
    timeout: float = 1.0
    verify: bool = False
    rtt: bool = False
    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None
    repetitions: int = 1
    preset: str | None = None
    launches: int = 1
    until_ci: bool = False
    max_launches: int = MOST_LAUNCHES
    cores: tuple[int, ...] | Literal["none"] | None = None
    ranks: int | None = None
    placement_state: Placement | None = None
    simulated: Truth | None = None
    system_log: bool = False
    pairs: Pairs = "halves"
    pairs_at_once: int | None = None
    threads: int = 1
    launcher: str | None = None
    mpiexec: str | None = None
    output: str | None = None
    quiet: bool = False


class Layer(NamedTuple):
    """Some keys of a plan, as somebody wrote them; `place` says where one stands, for an error."""

    keys: Mapping[str, Any]
    place: Callable[[str], str]


FIELDS: dict[str, Callable[[Any], Any]] = {
    "transport": parsing.some_of(TRANSPORTS),
    "pattern": parsing.some_of(get_args(Pattern)),
    "mode": parsing.some_of(get_args(Mode)),
    "sizes": parsing.sizes,
    "perturb": parsing.perturbation,
    "refine": parsing.flag,
    "window": parsing.windows,
    "wait": parsing.some_of(get_args(Wait)),
    "buffers": parsing.some_of(get_args(Buffers)),
    "pages": parsing.some_of(get_args(Pages)),
    "cache": parsing.some_of(get_args(Cache)),
    "align": parsing.alignments,
    "datatype": parsing.some_of(get_args(Datatype)),
    "rate": parsing.rate,
    "timeout": parsing.seconds,
    "verify": parsing.flag,
    "rtt": parsing.flag,
    "ci": parsing.interval_width,
    "time": parsing.seconds,
    "iterations": parsing.count,
    "repetitions": parsing.count,
    "preset": parsing.one_of(presets.PRESETS),
    "launches": parsing.count,
    "until_ci": parsing.flag,
    "max_launches": parsing.count,
    "cores": parsing.cores,
    "ranks": parsing.ranks,
    "placement_state": parsing.one_of(get_args(Placement)),
    "simulated": parse_truth,
    "system_log": parsing.flag,
    "pairs": parsing.one_of(get_args(Pairs)),
    "pairs_at_once": parsing.count,
    "threads": parsing.count,
    "launcher": parsing.one_of(LAUNCHERS),
    "mpiexec": parsing.text,
    "output": parsing.text,
    "quiet": parsing.flag,
}

# A case ends for one of these reasons; who names one wants that, and not what a lower layer said.
_STOPS_EARLY = ("ci", "time")


def make_plan(*layers: Layer) -> Plan:
    """The plan that the layers make together; where they disagree, the last one wins.

    Raises UsageError that says what is wrong, where, and what is allowed.
    """
    keys: dict[str, Any] = {}
    for layer in _with_preset(layers):
        parsed = {name: _parse(name, value, layer.place) for name, value in layer.keys.items()}
        early = [name for name in _STOPS_EARLY if name in parsed]
        if "iterations" in parsed and early:
            place = layer.place("iterations")
            other = layer.place(early[0])
            raise UsageError(f"{place}: a fixed count ends a case by itself; leave out {other}")
        if early:
            keys.pop("iterations", None)
        keys |= parsed
    if keys.get("simulated") is not None:
        keys.setdefault("transport", ("simulated",))
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
    _check_launches(plan, layers)
    if plan.ranks is not None:
        named = ("cores", "ranks")
        layer = next(layer for layer in reversed(layers) if any(n in layer.keys for n in named))
        name = next(name for name in named if name in layer.keys)
        _at(layer.place, name, partial(check_ranks, plan), plan.ranks)
    return plan


def _check_launches(plan: Plan, layers: Sequence[Layer]) -> None:
    """Raises UsageError where what is said of launches contradicts itself."""

    def place(name: str) -> str:
        return str(next(layer.place(name) for layer in reversed(layers) if name in layer.keys))

    if plan.until_ci and plan.ci is None:
        raise UsageError(f"{place('until_ci')}: there is no interval to wait for; give --ci")
    fewest = max(plan.launches, FEWEST_UNTIL_CI)
    if plan.until_ci and plan.max_launches < fewest:
        where = place("max_launches" if plan.max_launches != MOST_LAUNCHES else "launches")
        raise UsageError(
            f"{where}: --until-ci takes {fewest} launches at least, {plan.max_launches} at most"
        )
    if not plan.until_ci and plan.max_launches != MOST_LAUNCHES:
        raise UsageError(f"{place('max_launches')}: only --until-ci has such a limit; --launches")


def _with_preset(layers: Sequence[Layer]) -> Iterator[Layer]:
    """The layers, and beneath them what the preset stands for that they name."""
    for layer in reversed(layers):
        if layer.keys.get("preset") is not None:
            name = _parse("preset", layer.keys["preset"], layer.place)
            yield Layer(presets.PRESETS[name], partial("preset {}: {}".format, name))
            break
    yield from layers


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
    if plan.simulated is not None:
        keys["simulated"] = truth_record(plan.simulated)
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
