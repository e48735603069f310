"""Makes a plan of layers: a preset, a TOML file, the command line, keys given in Python.

Every key of a plan is an option of ``halftrip run`` and the other way round (`options`), so that a
file, the command line and Python accept the same values and refuse the same mistakes.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from halftrip.errors import UsageError
from halftrip.plan import presets
from halftrip.plan.options import OPTIONS
from halftrip.plan.pairing import rounds
from halftrip.plan.plan import FEWEST_UNTIL_CI, MOST_LAUNCHES, STOPS_EARLY, Plan, plan_keys
from halftrip.results.patterns import SHAPES


class Layer(NamedTuple):
    """Some keys of a plan, as somebody wrote them; `place` says where one stands, for an error."""

    keys: Mapping[str, Any]
    place: Callable[[str], str]


def make_plan(*layers: Layer) -> Plan:
    """The plan that the layers make together; where they disagree, the last one wins.

    Raises UsageError that says what is wrong, where, and what is allowed.
    """
    keys: dict[str, Any] = {}
    for layer in _with_preset(layers):
        parsed = {name: _parse(name, value, layer.place) for name, value in layer.keys.items()}
        early = [name for name in STOPS_EARLY if name in parsed]
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
    if name not in OPTIONS:
        close = difflib.get_close_matches(name, OPTIONS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(OPTIONS)}"
        raise UsageError(f"{place(name)}: no such key; {hint}")
    return _at(place, name, OPTIONS[name].read, value)


def options_layer(options: Mapping[str, Any]) -> Layer:
    """The options of a command line; those that are None were not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Layer(given, lambda name: f"--{name.replace('_', '-')}")


def python_layer(keys: Mapping[str, Any]) -> Layer:
    """The keys of a plan given in Python."""
    return Layer(keys, lambda name: name)


def plan_layer(plan: Plan) -> Layer:
    """All keys of a plan, so that one that was made by hand is looked at like any other."""
    return python_layer(plan_keys(plan))


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
