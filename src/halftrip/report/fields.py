"""The fields of a configuration in a table: a field that varies has a column, the others are named
once in the heading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from halftrip.plan.parsing import CODE_POINTS
from halftrip.plan.vary import label
from halftrip.results.configuration import TUNABLE, UNKNOWN, UNTUNED, Configuration, TuningField
from halftrip.results.names import Names
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


def _known(value: str) -> str:
    """A setting as text; nothing where the tool that was imported does not say."""
    return "" if value == UNKNOWN else value


# Their names, where they have one.
_CODE_POINTS = {number: name for name, number in CODE_POINTS.items()}


def _code_point(number: int) -> str:
    return _CODE_POINTS.get(number, str(number))


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def staging_text(staging: int | None) -> str:
    """How messages in a device's memory are staged: ``whole``, ``chunks of 512K``; empty: not."""
    if staging is None:
        return ""
    return f"chunks of {format_size(staging)}" if staging else "whole"


# The field that says which ranks talk.
_RANKS = "ranks"

FIELDS = (
    Field("wait", lambda each: _known(each.both_ends("wait"))),
    Field("pattern", lambda each: each.pattern),
    Field("mode", lambda each: each.mode, default="blocking"),
    Field("window", lambda each: str(each.window), "1"),
    Field("places", lambda each: _known(each.message_places) if each.window > 1 else "", "own",
          is_of_buffers=True),
    Field("touch", lambda each: each.touch, "none"),
    Field("delay", lambda each: f"{each.delay / 1e3:g} us", "0 us"),
    Field("buffers", lambda each: _known(each.buffers), is_of_buffers=True,
          default="separate"),
    Field("pages", lambda each: _known(each.both_ends("pages")), is_of_buffers=True,
          default="4K"),
    Field("memory", lambda each: _known(each.both_ends("memory")), is_of_buffers=True,
          default="host"),
    Field("cache", lambda each: _known(each.cache), is_of_buffers=True,
          default="hot"),
    Field("align", lambda each: str(each.align) if each.align else "page", "page",
          is_of_buffers=True),
    Field("datatype", lambda each: each.datatype, "byte"),
    Field("object", lambda each: each.object, "buffer"),
    Field("socket", lambda each: each.socket or ""),
    Field("ownership", lambda each: each.ownership or ""),
    Field("staging", lambda each: staging_text(each.staging), is_of_buffers=True),
    Field("device copy", lambda each: each.device_copy or "", "driver"),
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
    Field(_RANKS, lambda each: f"{each.pair[0]}-{each.pair[1]}", default="0-1"),
    Field("thread", lambda each: str(each.thread), "0"),
    Field("concurrent pairs", lambda each: str(each.concurrency), "1"),
)  # fmt: skip


@cache
def _variant_field(name: str) -> Field:
    """What tells variants apart by this name."""
    return Field(label(name), lambda each: dict(each.variant).get(name, ""))


def _fields(configurations: Iterable[Configuration]) -> list[Field]:
    """The fields that these configurations have, in the order of columns."""
    names = dict.fromkeys(name for each in configurations for name, _ in each.variant)
    return [*FIELDS, *map(_variant_field, names)]


def varying(configurations: Iterable[Configuration]) -> list[Field]:
    """The fields in which these configurations differ."""
    distinct = dict.fromkeys(configurations)
    return [field for field in _fields(distinct) if len(_values(field, distinct)) > 1]


def varying_within_patterns(
    configurations: Iterable[Configuration], but: Collection[str] = ()
) -> list[Field]:
    """The fields, without those with the names `but`, in which configurations of the same pattern
    differ."""
    patterns: dict[str, list[Configuration]] = {}
    distinct = dict.fromkeys(configurations)
    for each in distinct:
        patterns.setdefault(each.pattern, []).append(each)
    found = {field for same in patterns.values() for field in varying(same)}
    return [field for field in _fields(distinct) if field in found and field.name not in but]


def common(
    configurations: Iterable[Configuration], simulated: bool, brief: bool = False
) -> list[str]:
    """What these configurations have in common and is not usual: names of fields, and their
    values; `brief`: without those that are the default."""
    distinct = dict.fromkeys(configurations)
    found = {field: _values(field, distinct) for field in _fields(distinct)}
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


def name_of(
    configuration: Configuration, varying: Sequence[Field], names: Names, kind: str = ""
) -> str:
    """A name for one of several configurations, which differ in these fields, transport and size;
    `names` are those of ranks. `kind` comes after the size."""
    size = format_size(configuration.known_size)
    words = [*_words(configuration, varying, names), size, *filter(None, (kind,))]
    return " ".join(words) + _hosts(configuration, varying, names)


def curve_name(configuration: Configuration, varying: Sequence[Field], names: Names) -> str:
    """As `name_of`, of configurations of any size."""
    words = _words(configuration, varying, names)
    return " ".join(words) + _hosts(configuration, varying, names)


def _words(configuration: Configuration, varying: Sequence[Field], names: Names) -> list[str]:
    """The transport, and what these fields are; without ranks that are called by their hosts."""
    values = (
        _word(field, field.of(configuration))
        for field in varying
        if not (field.name == _RANKS and names.are_hosts)
    )
    return [configuration.transport, *filter(None, values)]


def _word(field: Field, value: str) -> str:
    """A value in a name: a number, yes and no say nothing without the name of their field."""
    is_bare = value[:1].isdigit() or value in ("yes", "no")
    return f"{field.name} {value}" if is_bare and field.name != _RANKS else value


def _hosts(configuration: Configuration, varying: Sequence[Field], names: Names) -> str:
    """The hosts of both ranks, where these are called by them, behind all else."""
    differ = any(field.name == _RANKS for field in varying)
    return f", {names.pair(configuration.pair)}" if differ and names.are_hosts else ""
