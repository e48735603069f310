"""Makes a plan of layers: a user's defaults, a preset, a TOML file, the command line, keys given in
Python.

A layer may have any key of the table `options`, which is also that of the command line, so that a
file, the command line and Python accept the same values and refuse the same mistakes.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec

from halftrip.errors import UsageError, system_reason
from halftrip.plan.checks import (
    check_dragon,
    check_hosts,
    check_launches,
    check_nodes,
    check_vary,
)
from halftrip.plan.congestion import with_congestion
from halftrip.plan.cost import check_cost
from halftrip.plan.flows import check_backgrounds
from halftrip.plan.hosts import spread
from halftrip.plan.launches import DEALT_SECONDS, deal
from halftrip.plan.layer import Layer, at, check_value, place_of
from halftrip.plan.options import OPTIONS, STANDS_FOR
from halftrip.plan.pairing import Pairing, Schedule
from halftrip.plan.parsing import no_such_key, underscored
from halftrip.plan.parts import CHOOSING, chosen
from halftrip.plan.plan import PART_KEYS, STOPS_EARLY, Plan, plan_keys
from halftrip.plan.recipes import PRESETS, called
from halftrip.plan.slices import shared_by_sizes
from halftrip.plan.variants import with_cores
from halftrip.registry import BETWEEN_HOSTS
from halftrip.results.patterns import SHAPES, Pattern

# With one of these, somebody has said what is to be measured.
_CHOOSE = {"pattern", "mode", "sizes", "window", "rate", "iterations", "refine", "part"}

# These say how long a run takes.
_LENGTHS = {"time", "slices", "iterations", "launches", "until_ci"}

# These say which ranks there are, and these fit only some numbers of ranks.
_SAY_RANKS = {"ranks", "cores", "threads", "hosts", "hostfile"}
_FIT_RANKS = {"ranks", "cores", "concurrent_pairs"}


# Of more hosts than these, who names no pairs wants to know of each two.
_FEW_HOSTS = 2
_DEFAULTS = Plan()
# A plan is written by hand, or by a short program.
_LARGEST_FILE = 1 << 20


def make_plan(*layers: Layer, defaults: Layer | None = None, in_job: bool = False) -> Plan:
    """The plan of all layers together; where they disagree, the last one wins. The `defaults` are
    weaker than a preset, which is weaker than all other layers. `in_job`: another launcher has
    started the ranks, once, so that slices are not dealt to launches.

    Raises UsageError that says what is wrong, where, and what is allowed.
    """
    asked = layers
    first = (defaults,) if defaults is not None else ()
    layers = (*first, *_preset_layer(first, asked), *asked)
    plan = _DEFAULTS.with_keys(_merge(layers))
    try:
        plan = _with_ranks(plan, layers)
    except UsageError:
        fewer = without_ranks(defaults) if defaults is not None else None
        if fewer == defaults or not any(_SAY_RANKS & layer.keys.keys() for layer in asked):
            raise
        # A default is for the ranks that nobody names.
        return make_plan(*asked, defaults=fewer, in_job=in_job)
    plan = _with_windows(plan, asked)
    plan = _with_tolerance(plan, asked)
    if not any((_LENGTHS | {"ci"}) & _names(layer) for layer in layers):
        plan = shared_by_sizes(plan)
    if not in_job and not any({"launches", "dealt"} & layer.keys.keys() for layer in layers):
        plan = deal(plan)
        if plan.dealt and not any("time" in layer.keys for layer in layers):
            plan = msgspec.structs.replace(plan, time=DEALT_SECONDS)
    check_hosts(plan, asked)
    check_launches(plan, layers)
    check_dragon(plan, asked)
    check_backgrounds(plan)
    if not in_job:
        check_nodes(plan, asked)
    check_vary(plan, layers)
    check_cost(plan, plan.ranks or 2)
    return plan


def without_ranks(layer: Layer) -> Layer:
    """The layer without what fits only some numbers of ranks; a rule for pairs fits all."""
    rules = get_args(Pairing)
    return layer._replace(
        keys={
            name: value
            for name, value in layer.keys.items()
            if name not in _FIT_RANKS and (name != "pairs" or value in rules)
        }
    )


def _with_ranks(plan: Plan, layers: Sequence[Layer]) -> Plan:
    """The plan with the number of its ranks, if it says that. Raises UsageError if there are not
    enough cores for them, or if they cannot form its pairs."""
    if plan.hosts is not None:
        plan = at(
            place_of(layers, "ranks", "hosts", "hostfile"), partial(_with_hosts, plan), plan.hosts
        )
    if isinstance(plan.cores, tuple):
        plan = at(place_of(layers, "cores"), partial(with_cores, plan), plan.cores)
    if plan.ranks is not None:
        at(
            place_of(layers, "cores", "ranks", "hosts", "hostfile"),
            partial(check_ranks, plan),
            plan.ranks,
        )
    return plan


def _preset_layer(weaker: Sequence[Layer], stronger: Sequence[Layer]) -> list[Layer]:
    """A layer of the preset that the last layer with one names; empty if none does. Where a
    stronger layer says how long something takes, the preset does not limit the whole."""
    for layer in reversed((*weaker, *stronger)):
        if layer.keys.get("preset") is not None:
            name = _parse("preset", layer.keys["preset"], layer.place)
            keys = dict(PRESETS[name])
            if any(_LENGTHS & _names(other) for other in stronger):
                keys.pop("max_duration", None)
            return [Layer(keys, partial("preset {}: {}".format, name))]
    return []


def _names(layer: Layer) -> set[str]:
    """The names of all keys of a layer, those of its parts included."""
    return {*layer.keys, *(name for part in layer.parts or () for name in part.keys)}


def _merge(layers: Sequence[Layer]) -> dict[str, Any]:
    """The parsed keys of all layers. Keys that stop early replace the fixed count of a layer before
    them; a plan with a fixed count does not stop early. A key also replaces those of the parts of
    layers before it; sizes and patterns that these have choose among them."""
    keys: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for layer in layers:
        parsed = {name: _parse(name, value, layer.place) for name, value in layer.keys.items()}
        early = [name for name in STOPS_EARLY if name in parsed]
        if "iterations" in parsed and early:
            place = layer.place("iterations")
            other = layer.place(early[0])
            raise UsageError(
                f"{place}: a fixed count ends a configuration by itself; leave out {other}"
            )
        _check_said_once(layer)
        replaced = {*parsed, "iterations"} if early else set(parsed)
        if "launches" in parsed:
            # Those that somebody names measure everything, each of them.
            replaced |= {"dealt"}
        parsed = {STANDS_FOR.get(name, name): value for name, value in parsed.items()}
        # Each launch has a value of the axis instead.
        varied = [name for name, _ in parsed.get("vary", ())]
        parts = [_without(part, replaced - CHOOSING) for part in chosen(parts, keys, parsed)]
        keys = _without(keys, {*replaced, *varied}) | parsed
        if layer.parts is not None:
            parts = [_parse_part(part) for part in layer.parts]
    if parts:
        keys["part"] = tuple(parts)
    _check_varied(keys, layers)
    if len(set(keys.get("hosts") or ())) > _FEW_HOSTS:
        keys.setdefault("pairs", "across")
    if keys.get("peer") is not None or len(set(keys.get("hosts") or ())) > 1:
        keys.setdefault("transport", BETWEEN_HOSTS)
    if keys.get("simulated") is not None:
        keys.setdefault("transport", ("simulated",))
    elif not keys.keys() & _CHOOSE:
        # An overview of everything has messages per second, too.
        keys.setdefault("message_rate", True)
    return keys


def _check_said_once(layer: Layer) -> None:
    """Raises UsageError for a key beside the one that it stands for."""
    for name in layer.keys.keys() & STANDS_FOR.keys():
        if STANDS_FOR[name] in layer.keys:
            place, other = map(layer.place, (name, STANDS_FOR[name]))
            raise UsageError(f"{place}: {other} says the same; leave out one of them")


def _check_varied(keys: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    """Raises UsageError for a key beside an axis of the same name."""
    for name, _ in keys.get("vary", ()):
        if keys.get(name) is not None:
            said = f"{place_of(layers, 'vary')} has it, too; leave out one of them"
            raise UsageError(f"{place_of(layers, name)}: {said}")


def _without(keys: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in keys.items() if name not in names}


def _with_tolerance(plan: Plan, asked: Sequence[Layer]) -> Plan:
    """The plan without a user's default tolerance where nothing is expected: a plan that has one
    asks to be judged."""
    is_asked = any("tolerance" in layer.keys for layer in asked)
    if is_asked or plan.expect is not None or plan.baseline is not None:
        return plan
    return msgspec.structs.replace(plan, tolerance=None)


def _with_windows(plan: Plan, asked: Sequence[Layer]) -> Plan:
    """The plan without windows where no pattern has any: a default is for those that have one.
    Raises UsageError for a window that was asked for."""
    parts = list(plan.part)
    tables = next((layer.parts for layer in reversed(asked) if layer.parts is not None), ())
    for number, each in enumerate(plan.part_plans[: len(parts)]):
        if "window" in parts[number] and not _have_window(each.pattern):
            if tables:
                raise _no_window(tables[number].place("window"), each.pattern)
            parts[number] = _without(parts[number], ("window",))
    patterns = tuple(dict.fromkeys(name for each in plan.part_plans for name in each.pattern))
    window = plan.window
    if window and not _have_window(patterns):
        if any("window" in layer.keys for layer in asked):
            raise _no_window(place_of(asked, "window"), patterns)
        window = ()
    return msgspec.structs.replace(plan, window=window, part=tuple(parts))


def _have_window(patterns: Collection[Pattern]) -> bool:
    return any(SHAPES[pattern].window is not None for pattern in patterns)


def _no_window(place: str, patterns: Collection[Pattern]) -> UsageError:
    have = ", ".join(pattern for pattern, shape in SHAPES.items() if shape.window is not None)
    return UsageError(f"{place}: {', '.join(patterns)} has no window; --pattern {have}")


def check_ranks(plan: Plan, ranks: int) -> None:
    """Raises UsageError if this number of ranks cannot form the pairs of the plan, or if they are
    too many."""
    check_cost(plan, ranks)
    most = Schedule(ranks, plan.pairs).most_at_once
    for limit in plan.limits:
        if isinstance(limit, int) and limit > most:
            pairs = "1 pair" if most == 1 else f"{most} pairs"
            raise UsageError(f"{limit} concurrent pairs: {ranks} ranks make {pairs} at a time")


def _with_hosts(plan: Plan, hosts: tuple[str, ...]) -> Plan:
    """The plan with a rank for each time that a host is named, unless it says how many. Raises
    UsageError if a host would have none."""
    plan, hosts = with_congestion(plan, hosts)
    ranks = max(2, len(hosts)) if plan.ranks is None else plan.ranks
    spread(hosts, ranks)
    return msgspec.structs.replace(plan, ranks=ranks)


def _parse(name: str, value: Any, place: Callable[[str], str]) -> Any:
    if name not in OPTIONS:
        raise no_such_key(place(name), name, OPTIONS)
    parsed = at(place(name), partial(_read, OPTIONS[name].read), value)
    # An empty list means a transport's or a pattern's own default where the plan has none.
    if parsed == () and getattr(_DEFAULTS, name, ()):
        raise UsageError(f"{place(name)}: an empty list measures nothing; leave it out")
    return parsed


def _read(read: Callable[[Any], Any], value: Any) -> Any:
    check_value(value)
    return read(value)


def _parse_part(part: Layer) -> dict[str, Any]:
    """The parsed keys of a part of a plan."""
    for name in part.keys:
        if name in OPTIONS and name not in PART_KEYS:
            raise UsageError(
                f"{part.place(name)}: holds for the whole plan; in a part: {', '.join(PART_KEYS)}"
            )
    return {name: _parse(name, value, part.place) for name, value in part.keys.items()}


def options_layer(options: Mapping[str, Any]) -> Layer:
    """The options of a command line; an option that is None was not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Layer(given, lambda name: f"--{name.replace('_', '-')}")


def python_layer(keys: Mapping[str, Any]) -> Layer:
    """The keys of a plan given in Python. Raises UsageError if its parts are not tables."""
    return _with_parts(keys, str)


def _with_parts(keys: Mapping[str, Any], place: Callable[[str], str]) -> Layer:
    """The layer of keys of which `part` has the parts of a plan."""
    if "part" not in keys:
        return Layer(keys, place)
    parts = tuple(
        Layer(table, partial(_place_in_part, place, number))
        for number, table in enumerate(_parse("part", keys["part"], place), 1)
    )
    return Layer(_without(keys, ("part",)), place, parts)


def _place_in_part(place: Callable[[str], str], number: int, name: str) -> str:
    return place(f"part {number}: {name}")


def plan_layer(plan: Plan) -> Layer:
    """All keys of a plan, so that a Plan made in Python is checked like any other."""
    return python_layer(plan_keys(plan))


def file_layer(path: str | os.PathLike[str]) -> Layer:
    """The keys of a TOML file. Raises UsageError if it cannot be read as such."""
    try:
        text = _text_of(path)
        keys = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a text file; a plan is TOML") from None
    except tomllib.TOMLDecodeError as error:
        if text.startswith('{"record":"run"'):
            said = f"a run file, not a plan; halftrip show {path}, or run --resume {path}"
            raise UsageError(f"{path}: {said}") from None
        raise UsageError(f"{path}: not TOML: {error}") from None
    except (RecursionError, ValueError) as error:
        # Of a number with thousands of digits, tomllib raises what Python does.
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{path}: not a plan: {said}") from None
    keys = at(os.fspath(path), underscored, keys)
    return _with_parts(keys, lambda name: f"{called(path)}: {name.replace('_', '-')}")


def _text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises OSError, UnicodeDecodeError, and UsageError for what is no file,
    or too long: a device may have no end, a pipe no writer."""
    if "\0" in os.fspath(path):
        raise UsageError(f"{os.fspath(path)!r}: no file has such a name")
    status = os.stat(path)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise UsageError(f"{path}: not a regular file")
    with open(path, "rb") as file:
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise UsageError(f"{path}: more than 1 MiB; a plan is a short text in TOML")
    return content.decode("utf-8")


# It names another file, or, if it is empty, none.
VARIABLE = "HALFTRIP_CONFIG"
# A job that exists already has been started by something else, once.
_STARTS = ("launcher", "mpiexec", "launches", "dealt", "until_ci", "max_launches", "vary")


def config_layer(
    environ: Mapping[str, str], in_job: bool = False, warn: Callable[[str], object] = str
) -> Layer | None:
    """The keys of the user's file, without those that say which ranks to start, and how, if this is
    `in_job`; None where there is no such file, or, after a line to `warn`, where this user may not
    read it. Raises UsageError if it cannot be read as TOML, or is named and cannot be read."""
    named = environ.get(VARIABLE)
    if named == "":
        return None
    path = Path(named) if named is not None else _default_path(environ)
    if path is None:
        return None
    # In a container, and in a home on another machine, this user may not be let in.
    if named is None and not os.access(path, os.R_OK):
        if os.path.exists(path):
            warn(f"{path}: permission denied; these defaults are left out")
        return None
    layer = file_layer(path)
    if in_job:
        kept = {name: value for name, value in layer.keys.items() if name not in _STARTS}
        # It has its own ranks, too.
        layer = without_ranks(layer._replace(keys=kept))
    return layer


def _default_path(environ: Mapping[str, str]) -> Path | None:
    """Where the file is by the XDG Base Directory Specification, which ignores a relative path."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".config")
    return Path(base, "halftrip", "config.toml")
