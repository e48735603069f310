"""Which transport is built on which, and which configurations tell what a layer adds.

A layer is a transport that another one is built on, or that is built on another. Two layers are
compared in configurations that are otherwise alike, so that the difference is what the upper one
adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from halftrip.errors import UsageError
from halftrip.plan.settings import SETTINGS
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import Configuration, EndSettings

# Transports whose replies go another way than their streams, so that a ping-pong and a stream are
# not of one path; and the transport that has one way for both.
ONE_WAY_OF: Mapping[str, str] = MappingProxyType({"shm": "shm-ring"})

# The settings in which the two layers may differ, as not every transport has all kinds of them; in
# the order in which they choose the best of several configurations below.
_OWN = [each.field for each in SETTINGS.values() if each.is_own]
MAY_DIFFER = tuple(dict.fromkeys((*_OWN, "extra")))
# The transport itself, the cores that were requested, and what `kind_of` looks into.
_APART = ("transport", "core", "initiator", "responder", "places")


class LayerStep(NamedTuple):
    """A configuration, and the one below that it is compared with."""

    upper: Configuration
    lower: Configuration


def _built_on(transport: str) -> str:
    """The transport that one is built on; empty where there is none, or where that is not known, as
    of a plug-in that is not installed here."""
    try:
        return TRANSPORTS.entry(transport).built_on if transport in TRANSPORTS else ""
    except UsageError:
        return ""


def below(transport: str) -> list[str]:
    """The layers below a transport, the next one first."""
    found: list[str] = []
    lower = _built_on(transport)
    while lower and lower not in found:
        found.append(lower)
        lower = _built_on(lower)
    return found


def partners(transport: str, transports: Iterable[str] = TRANSPORTS) -> list[str]:
    """All layers below a transport, and those of `transports` above it."""
    above = [other for other in transports if transport in below(other)]
    return [*below(transport), *above]


def related(transports: Iterable[str]) -> list[str]:
    """Those of these transports that have another of them below or above, each once."""
    known = dict.fromkeys(transports)
    return [name for name in known if not known.keys().isdisjoint(partners(name, known))]


def _from_below(transport: str) -> list[tuple[int, str]]:
    """The sort key of a transport: behind those that it is built on, beside others on them, where
    the first of them all stands."""
    places = [TRANSPORTS.place(each) for each in (*reversed(below(transport)), transport)]
    return [min(places), *places]


def steps(configurations: Iterable[Configuration]) -> list[LayerStep]:
    """The configurations that have one below them, which is alike in pattern, mode, size and all
    else; the lowest layers first, each in the order given.

    It is of the next layer below that has any of the sizes of a curve. The two may differ in how
    they wait, and in settings that not every transport has: of several below, one with the same
    wait counts, then one with the same of the others, else the first.
    """
    by_kind: dict[tuple[str, Any], list[Configuration]] = {}
    curves: dict[str, dict[Configuration, list[Configuration]]] = {}
    for each in (each for each in configurations if each.size_known):
        by_kind.setdefault((each.transport, kind_of(each)), []).append(each)
        curves.setdefault(each.transport, {}).setdefault(each.curve, []).append(each)
    found = []
    for transport in sorted(curves, key=_from_below):
        for curve in curves[transport].values():
            to_layers = (_steps_to(lower, curve, by_kind) for lower in below(transport))
            found += next(filter(None, to_layers), [])
    return found


def _steps_to(
    transport: str,
    curve: Sequence[Configuration],
    by_kind: Mapping[tuple[str, Any], Sequence[Configuration]],
) -> list[LayerStep]:
    """The steps from a curve to a transport below."""
    return [
        LayerStep(upper, max(candidates, key=lambda lower: _alike(upper, lower)))
        for upper in curve
        if (candidates := by_kind.get((transport, kind_of(upper))))
    ]


def kind_of(configuration: Configuration) -> tuple[Any, ...]:
    """All that has to be the same in both layers."""
    ends = (_settings(end) for end in configuration.ends)
    return configuration.message_places, _settings(configuration), *ends


def _settings(of: Configuration | EndSettings) -> tuple[Any, ...]:
    names = (name for name in of.__struct_fields__ if name not in (*MAY_DIFFER, *_APART))
    return tuple(getattr(of, name) for name in names)


def _alike(upper: Configuration, lower: Configuration) -> tuple[bool, ...]:
    """Which of the settings that may differ do not; of equal ones, `max` takes the first."""
    return tuple(_setting(upper, name) == _setting(lower, name) for name in MAY_DIFFER)


def _setting(configuration: Configuration, name: str) -> object:
    """A setting of both ends or of the whole; None where there is no such one."""
    if name in EndSettings.__struct_fields__:
        return [getattr(end, name) for end in configuration.ends]
    return getattr(configuration, name, None)
