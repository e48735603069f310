"""The fields of a configuration in a table: a field that varies has a column, the others are named
once in the heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from halftrip.plan.parsing import CODE_POINTS
from halftrip.results.configuration import TUNABLE, UNTUNED, Configuration, TuningField
from halftrip.units import format_size


class Field(NamedTuple):
    """A field of a configuration: its name, and its value as text, empty where the configuration
    has no such field. The heading leaves it out where all configurations have the `usual` value."""

    name: str
    of: Callable[[Configuration], str]
    usual: str | None = None
    # A brief heading leaves out this value, too: that of a plan which does not say.
    default: str | None = None
    # A simulated path has no buffers.
    is_of_buffers: bool = False


def _tuning(
    name: TuningField, label: str, write: Callable[[Any], str] = str, system: str = "system"
) -> Field:
    """A setting of sockets, whose default is called `system`."""
    default = getattr(UNTUNED, name)

    def text(configuration: Configuration) -> str:
        value = getattr(configuration.tuning, name)
        if value != default:
            return write(value)
        return system if name in TUNABLE.get(configuration.transport, ()) else ""

    return Field(label, text, system)


# Their names, where they have one.
_CODE_POINTS = {number: name for name, number in CODE_POINTS.items()}


def _code_point(number: int) -> str:
    return _CODE_POINTS.get(number, str(number))


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


FIELDS = (
    Field("wait", lambda each: each.both_ends("wait")),
    Field("pattern", lambda each: each.pattern),
    Field("mode", lambda each: each.mode, default="blocking"),
    Field("window", lambda each: str(each.window), "1"),
    Field("places", lambda each: each.message_places if each.window > 1 else "", "own",
          is_of_buffers=True),
    Field("touch", lambda each: each.touch, "none"),
    Field("buffers", lambda each: each.buffers, is_of_buffers=True,
          default="separate"),
    Field("pages", lambda each: each.both_ends("pages"), is_of_buffers=True,
          default="4K"),
    Field("memory", lambda each: each.both_ends("memory"), is_of_buffers=True,
          default="host"),
    Field("cache", lambda each: each.cache, is_of_buffers=True,
          default="hot"),
    Field("align", lambda each: str(each.align) if each.align else "page", "page",
          is_of_buffers=True),
    Field("datatype", lambda each: each.datatype, "byte"),
    Field("object", lambda each: each.object, "buffer"),
    Field("socket", lambda each: each.socket or ""),
    Field("ownership", lambda each: each.ownership or ""),
    _tuning("socket_buffer", "socket buffer", format_size),
    _tuning("nodelay", "nodelay", _yes_or_no, "yes"),
    _tuning("congestion", "congestion"),
    _tuning("mss", "mss"),
    _tuning("dscp", "dscp", _code_point, "0"),
    _tuning("busy_poll", "socket busy poll", lambda value: f"{value} us"),
    _tuning("streams", "streams", system="1"),
    _tuning("zerocopy", "zerocopy", _yes_or_no, "no"),
    Field("rate", lambda each: f"{each.rate / 1e6:g} MB/s" if each.rate else "all it can",
          "all it can"),
    Field("verified", lambda each: "yes" if each.verify else "no", "no"),
    Field("ranks", lambda each: f"{each.pair[0]}-{each.pair[1]}", default="0-1"),
    Field("thread", lambda each: str(each.thread), "0"),
    Field("concurrent pairs", lambda each: str(each.concurrency), "1"),
)  # fmt: skip


def varying(configurations: Iterable[Configuration]) -> list[Field]:
    """The fields in which these configurations differ."""
    distinct = dict.fromkeys(configurations)
    return [field for field in FIELDS if len(_values(field, distinct)) > 1]


def common(
    configurations: Iterable[Configuration], simulated: bool, brief: bool = False
) -> list[str]:
    """What these configurations have in common and is not usual: names of fields, and their
    values; `brief`: without those that are the default."""
    distinct = dict.fromkeys(configurations)
    found = {field: _values(field, distinct) for field in FIELDS}
    return [
        f"{field.name} {value}"
        for field, values in found.items()
        if len(values) == 1
        for value in values
        if value != field.usual
        and not (simulated and field.is_of_buffers)
        and not (brief and value == field.default)
    ]


def _values(field: Field, configurations: Iterable[Configuration]) -> set[str]:
    return {field.of(configuration) for configuration in configurations} - {""}


def name_of(configuration: Configuration, varying: Sequence[Field]) -> str:
    """A name for one of several configurations, which differ in these fields, transport and
    size."""
    values = [configuration.transport, *(field.of(configuration) for field in varying)]
    return " ".join(value for value in [*values, format_size(configuration.size)] if value)
