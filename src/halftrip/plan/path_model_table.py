"""Reads the path model of the transport ``simulated`` from a table of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.parsing import no_such_key, one_of
from halftrip.simulation.path_model import (
    ClockModel,
    Modes,
    Noise,
    PathModel,
    Ramp,
    Segment,
    Spikes,
    Wander,
)
from halftrip.units import parse_duration, parse_share, parse_size

_WHOLE = ("seed", "warm_up")
_SECONDS = (
    "latency",
    "first",
    "core_to_core",
    "extra",
    "dwell",
    "step",
    "claimed",
    "time_constant",
    "send_overhead",
    "receive_overhead",
    "gap",
)
_SIZES = ("from", "bandwidth")
_SHARES = ("share", "loss", "drift", "spread", "correlation", "launch", "slower")
# The tables within the table; `segments` is a list of them.
_TABLES: dict[str, type[msgspec.Struct]] = {
    "segments": Segment,
    "noise": Noise,
    "spikes": Spikes,
    "modes": Modes,
    "wander": Wander,
    "ramp": Ramp,
    "clock": ClockModel,
}
_NOISES = get_args(get_type_hints(Noise)["kind"])
_WEEK = 7 * 86400.0
# Upper limits of keys that have to be more than 0, and of keys that may be 0; and shares below 1.
_POSITIVE = {"latency": _WEEK, "core_to_core": _WEEK, "dwell": _WEEK, "time_constant": _WEEK,
             "bandwidth": 1e18, "factor": 1e6}  # fmt: skip
_NOT_NEGATIVE = {"first": _WEEK, "extra": _WEEK, "step": _WEEK, "claimed": _WEEK, "from": 1e18,
                 "send_overhead": _WEEK, "receive_overhead": _WEEK, "gap": _WEEK,
                 "warm_up": 1e9, "seed": 1e18, "spread": 10.0, "launch": 10.0,
                 "drift": 1e3, "slower": 1e3}  # fmt: skip
_LESS_THAN_ONE = ("share", "loss", "correlation")


def parse_path_model(table: Any) -> PathModel:
    """The path model in a table of a plan. Raises UsageError that says what is wrong."""
    try:
        model = msgspec.convert(_read(table, PathModel, ""), PathModel, strict=False)
    except msgspec.ValidationError as error:
        # The key comes first, as in all other errors.
        problem, _, where = str(error).replace("`", "").partition(" - at $.")
        raise UsageError(f"{where}: {problem[0].lower()}{problem[1:]}".removeprefix(": ")) from None
    overheads = model.send_overhead + model.receive_overhead
    least = min([model.latency, *(each.latency for each in model.segments if each.latency)])
    if overheads > least:
        raise UsageError(
            f"send_overhead, receive_overhead: {overheads:g} s together are more than the latency, "
            f"{least:g} s, which they are parts of"
        )
    return model


def path_model_record(model: PathModel) -> dict[str, Any]:
    """The table from which `parse_path_model` makes this model again."""
    record: dict[str, Any] = msgspec.to_builtins(model)
    record["segments"] = [
        {name: value for name, value in segment.items() if value is not None}
        for segment in record["segments"]
    ]
    return record


def _read(table: Any, kind: type[msgspec.Struct], where: str) -> dict[str, Any]:
    """The fields of `kind` in a table, with texts such as 2us as numbers. `where` is the place of
    the table, with a dot at its end, for errors."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where.rstrip('.')}: {table!r} is not a table".removeprefix(": "))
    allowed = [field.encode_name for field in msgspec.structs.fields(kind)]
    read = {}
    for written, value in table.items():
        # A key may be written with dashes, as options are.
        name = str(written).replace("-", "_")
        if name not in allowed:
            raise no_such_key(f"{where}{written}", name, allowed)
        read[name] = _value(name, value, where)
    return read


def _value(name: str, value: Any, where: str) -> Any:
    if name == "segments":
        if not isinstance(value, list | tuple):
            raise UsageError(f"{where}segments: {value!r} is not a list of tables")
        return [_read(item, Segment, f"segments[{i}].") for i, item in enumerate(value)]
    if name in _TABLES:
        return _read(value, _TABLES[name], f"{name}.")
    try:
        number = _number(name, value)
        _check(name, number)
    except UsageError as error:
        raise UsageError(f"{where}{name}: {error}") from None
    return number


def _number(name: str, value: Any) -> Any:
    if name == "kind":
        return one_of(_NOISES)(value)
    if not isinstance(value, str) or name == "moves_core_to_core":
        return value
    for names, parse in (
        (_SECONDS, parse_duration),
        (_SIZES, parse_size),
        (_SHARES, parse_share),
        (_WHOLE, int),
    ):
        if name in names:
            return _parsed(parse, value)
    return _parsed(float, value)


def _parsed(parse: Callable[[str], Any], value: str) -> Any:
    try:
        return parse(value)
    except ValueError:
        raise UsageError(f"{value!r} is not a number") from None


def _check(name: str, value: Any) -> None:
    """Raises UsageError if the value is out of range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if name in _POSITIVE and not 0 < value < _POSITIVE[name]:
        raise UsageError(f"{value} is out of range; more than 0 and less than {_POSITIVE[name]:g}")
    if name in _NOT_NEGATIVE and not 0 <= value <= _NOT_NEGATIVE[name]:
        raise UsageError(f"{value} is out of range; from 0 to {_NOT_NEGATIVE[name]:g}")
    if name in _LESS_THAN_ONE and not 0 <= value < 1:
        raise UsageError(f"{value} is out of range; from 0 to less than 1")
