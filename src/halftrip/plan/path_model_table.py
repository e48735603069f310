"""Reads the path model of the transport ``simulated`` from a table of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

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


class _Key(NamedTuple):
    """A key with a number: how a text is read, and the range that it has to be in."""

    read: Callable[[str], Any]
    allowed: str
    is_allowed: Callable[[float], bool]


def _above_0(read: Callable[[str], Any], below: float) -> _Key:
    return _Key(read, f"more than 0 and less than {below:g}", lambda value: 0 < value < below)


def _from_0(read: Callable[[str], Any], most: float) -> _Key:
    return _Key(read, f"from 0 to {most:g}", lambda value: 0 <= value <= most)


_WEEK = 7 * 86400.0
_TIME, _TIME_OR_0 = _above_0(parse_duration, _WEEK), _from_0(parse_duration, _WEEK)
_SHARE = _Key(parse_share, "from 0 to less than 1", lambda value: 0 <= value < 1)
_KEYS: dict[str, _Key] = {
    **dict.fromkeys(("latency", "core_to_core", "dwell", "time_constant"), _TIME),
    **dict.fromkeys(("first", "extra", "step", "claimed"), _TIME_OR_0),
    **dict.fromkeys(("send_overhead", "receive_overhead", "gap"), _TIME_OR_0),
    **dict.fromkeys(("share", "loss", "correlation"), _SHARE),
    **dict.fromkeys(("spread", "launch"), _from_0(parse_share, 10.0)),
    **dict.fromkeys(("drift", "slower"), _from_0(parse_share, 1e3)),
    "bandwidth": _above_0(parse_size, 1e18),
    "from": _from_0(parse_size, 1e18),
    "factor": _above_0(float, 1e6),
    "warm_up": _from_0(int, 1e9),
    "seed": _from_0(int, 1e18),
}
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
    return _parsed(_KEYS[name].read if name in _KEYS else float, value)


def _parsed(parse: Callable[[str], Any], value: str) -> Any:
    try:
        return parse(value)
    except ValueError:
        raise UsageError(f"{value!r} is not a number") from None


def _check(name: str, value: Any) -> None:
    """Raises UsageError if the value is out of range."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    key = _KEYS.get(name)
    if key is not None and not key.is_allowed(value):
        raise UsageError(f"{value} is out of range; {key.allowed}")
