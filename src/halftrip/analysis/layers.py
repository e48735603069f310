"""Which transport is built on which, and which configurations tell what a layer adds.

A layer is a transport that another one is built on, or that is built on another. Two layers are
compared in configurations that are otherwise alike, so that the difference is what the upper one
adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from halftrip.analysis.chosen_path import chosen_by_library
from halftrip.entries import TransportEntry
from halftrip.errors import UsageError
from halftrip.plan.settings import SETTINGS
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.run import Run

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


def _entry(transport: str) -> TransportEntry:
    """What is known of a transport; nothing of a plug-in that is not installed here."""
    try:
        return TRANSPORTS.entry(transport) if transport in TRANSPORTS else TransportEntry("")
    except UsageError:
        return TransportEntry("")


def below(transport: str) -> list[str]:
    """All layers that may be below a transport, the next ones first."""
    found: list[str] = []
    lower = _entry(transport).lower
    while lower:
        found += [each for each in dict.fromkeys(lower) if each not in found]
        lower = tuple(each for name in lower for each in _entry(name).lower if each not in found)
    return found


def perhaps_below(configuration: Configuration) -> list[str]:
    """All that may be below a configuration."""
    return below(configuration.transport)


def below_in(run: Run | None, configuration: Configuration) -> list[str]:
    """The layers below a configuration of a run, which says what libraries have chosen, the next
    one first; None: of one that says nothing."""
    found, upper = [], configuration.transport
    while upper:
        entry = _entry(upper)
        said = run and entry.may_use and chosen_by_library(run, configuration, upper)
        lower = said if isinstance(said, str) else entry.built_on
        upper = lower if lower in entry.lower and lower not in found else ""
        found += [upper] * bool(upper)
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
    """The sort key of a transport: behind those that it is built on, beside others on them."""
    found = [transport]
    while (lower := _entry(found[-1]).lower) and lower[0] not in found:
        found.append(lower[0])
    return [TRANSPORTS.place(each) for each in reversed(found)]


# In runs that do not say what libraries have chosen.
_UNSAID = partial(below_in, None)


def steps(
    configurations: Iterable[Configuration],
    below_of: Callable[[Configuration], Sequence[str]] = _UNSAID,
) -> list[LayerStep]:
    """The configurations that have one below them, which is alike in pattern, mode, size and all
    else; the lowest layers first, each in the order given. `below_of` tells the layers below
    a curve.

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
        for curve, of_curve in curves[transport].items():
            to_layers = (_steps_to(each, of_curve, by_kind) for each in below_of(curve))
            found += next(filter(None, to_layers), [])
    return found


def layered(run: Run, configurations: Iterable[Configuration]) -> set[str]:
    """The transports of configurations of a run that have another one below or above."""
    known = [*configurations]
    if not related(each.transport for each in known):
        return set()
    found = steps(known, partial(below_in, run))
    return {each.transport for step in found for each in step}


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
