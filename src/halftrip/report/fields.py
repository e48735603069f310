"""The fields of a configuration in a table: a field that varies has a column, the others are named
once in the heading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import msgspec

from halftrip.plan.setting import Setting
from halftrip.plan.settings import WITH_FIELDS, extra_setting
from halftrip.plan.vary import label
from halftrip.results.configuration import UNKNOWN, Configuration, extra_names
from halftrip.results.names import Names
from halftrip.units import format_size, size_in_words, size_name


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
    # What a heading says of the usual value, where it does not leave it out.
    said_if_usual: Callable[[Collection[Configuration]], str] | None = None
    # Whether it is known of a configuration which value that has, if any.
    is_known: Callable[[Configuration], bool] = lambda _: True
    # One that some configurations lack tells them from others.
    is_label: bool = False


def _of(setting: Setting) -> Field:
    # Those of both ends are texts such as ``host:unknown``.
    return Field(
        setting.title, setting.text, setting.usual, setting.default, setting.is_of_buffers,
        is_known=lambda each: UNKNOWN not in str(setting.in_effect(each)).split(":"),
    )  # fmt: skip


# The field that says which ranks talk, and all that say who does.
_RANKS = "ranks"
_WHO = (_RANKS, "thread", "concurrent pairs")

# Buffers begin at multiples of it.
_CACHE_LINE = 64


def _own_places(configurations: Collection[Configuration]) -> str:
    """How much memory the messages of a window take where each has a place of its own: other tools
    have one place for all, which stays in a cache."""
    lines = [each.window * -(-max(each.size, 1) // _CACHE_LINE) for each in configurations]
    ends = dict.fromkeys(size_in_words(_CACHE_LINE * count) for count in (min(lines), max(lines)))
    return f"own places: {' to '.join(ends)}"


_OF = {name: _of(setting) for name, setting in WITH_FIELDS.items()} | {
    "pattern": Field("pattern", lambda each: each.known_pattern),
    "mode": Field("mode", lambda each: each.mode, default="blocking"),
}
_OF["places"] = _OF["places"]._replace(said_if_usual=_own_places)
_FIRST = ("wait", "pattern", "mode", "window", "places", "touch", "delay", "buffers", "pages")
FIELDS = (
    *(_OF[name] for name in dict.fromkeys((*_FIRST, *WITH_FIELDS))),
    Field(_RANKS, lambda each: f"{each.pair[0]}-{each.pair[1]}", default="0-1"),
    Field("thread", lambda each: str(each.thread), "0"),
    Field("concurrent pairs", lambda each: str(each.concurrency), "1"),
)


@cache
def _extra_field(name: str) -> Field:
    """A setting of a plug-in."""
    return _of(extra_setting(name))


@cache
def _variant_field(name: str) -> Field:
    """What tells variants apart by this name."""
    return Field(label(name), lambda each: dict(each.variant).get(name, ""), is_label=True)


def settings(configurations: Iterable[Configuration]) -> list[Field]:
    """The settings that these configurations have, those of plug-ins last."""
    return [*FIELDS, *map(_extra_field, extra_names(configurations))]


def _fields(configurations: Collection[Configuration]) -> list[Field]:
    """The fields that these configurations have, in the order of columns."""
    names = dict.fromkeys(name for each in configurations for name, _ in each.variant)
    return [*settings(configurations), *map(_variant_field, names)]


def varying(configurations: Iterable[Configuration]) -> list[Field]:
    """The fields in which these configurations differ. One that some of them do not have is among
    these if nothing else tells them from others."""
    return [*_varying(tuple(dict.fromkeys(configurations)))]


# A view asks several times of the same rows, of which there may be a hundred thousand.
@lru_cache(maxsize=8)
def _varying(distinct: tuple[Configuration, ...]) -> tuple[Field, ...]:
    fields = _fields(distinct)
    # Of a map of pairs, there are few without who talks.
    alike = dict.fromkeys(
        msgspec.structs.replace(each, pair=(0, 1), thread=0, concurrency=1) for each in distinct
    )
    found = set()
    for field in fields:
        every = distinct if field.name in _WHO else alike
        if len(_values(field, every)) > 1 or (field.is_label and not all(map(field.of, every))):
            found.add(field)
    seen: dict[tuple[str, ...], list[Configuration]] = {}
    for each in distinct:
        same = (each.transport, str(each.known_size), *(field.of(each) for field in found))
        seen.setdefault(same, []).append(each)
    for several in seen.values():
        if len(several) > 1:
            found |= {field for field in fields if len({field.of(each) for each in several}) > 1}
    return tuple(field for field in fields if field in found)


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
    differ = set(varying(distinct))
    found = {field: _values(field, distinct) for field in _fields(distinct) if field not in differ}
    said = []
    for field, values in found.items():
        if len(values) != 1 or (simulated and field.is_of_buffers):
            continue
        if not all(map(field.is_known, distinct)):
            continue
        (value,) = values
        if value == field.usual:
            if field.said_if_usual is not None:
                said.append(field.said_if_usual([each for each in distinct if field.of(each)]))
        elif not (brief and value == field.default):
            said.append(f"{field.name} {value}")
    return said


def _values(field: Field, configurations: Iterable[Configuration]) -> set[str]:
    return {field.of(configuration) for configuration in configurations} - {""}


def name_of(
    configuration: Configuration, varying: Sequence[Field], names: Names, kind: str = ""
) -> str:
    """A name for one of several configurations, which differ in these fields, transport and size;
    `names` are those of ranks. `kind` comes after the size."""
    size = size_name(configuration.known_size)
    words = [*_words(configuration, varying, names), size, *filter(None, (kind,))]
    return " ".join(words) + _hosts(configuration, varying, names)


def curve_name(configuration: Configuration, varying: Sequence[Field], names: Names) -> str:
    """As `name_of`, of configurations of any size."""
    words = _words(configuration, varying, names)
    return " ".join(words) + _hosts(configuration, varying, names)


def is_called(configuration: Configuration, name: str) -> bool:
    """Whether `name_of` may call a configuration so, whatever others there are."""
    size = format_size(configuration.known_size)
    known = [configuration.transport, size, f"{size} B"]
    for field in _fields([configuration]):
        value = field.of(configuration)
        known += [word(field.name, value), f"{field.name} {value}"] if value else []
    left = f" {' '.join(name.split())} "
    for each in sorted(known, key=len, reverse=True):
        left = left.replace(f" {each} ", " ", 1)
    return not left.strip()


def _words(configuration: Configuration, varying: Sequence[Field], names: Names) -> list[str]:
    """The transport, and what these fields are; without ranks that are called by their hosts."""
    values = (
        word(field.name, field.of(configuration))
        for field in varying
        if not (field.name == _RANKS and names.are_hosts)
    )
    return [configuration.transport, *filter(None, values)]


def word(field: str, value: str) -> str:
    """A value in a name: a number, yes and no say nothing without the name of their field."""
    is_bare = value[:1].isdigit() or value in ("yes", "no")
    return f"{field} {value}" if is_bare and field != _RANKS else value


def _hosts(configuration: Configuration, varying: Sequence[Field], names: Names) -> str:
    """The hosts of both ranks, where these are called by them, behind all else."""
    differ = any(field.name == _RANKS for field in varying)
    return f", {names.pair(configuration.pair)}" if differ and names.are_hosts else ""
