"""Which parts of a plan measure the patterns and sizes that a stronger layer asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halftrip.plan.plan import Plan

Part = dict[str, Any]
# Keys of which a stronger layer chooses among the values that parts have.
CHOOSING = frozenset({"pattern", "sizes"})
# What else may differ in parts for the sake of their sizes.
_BY_SIZE = ("sizes", "window", "iterations", "warmup")


def chosen(parts: Sequence[Part], keys: Mapping[str, Any], asked: Mapping[str, Any]) -> list[Part]:
    """The parts of a plan with these `keys` that measure the patterns and sizes that are `asked`
    for, so that each is measured as in the whole plan. A part that measures all of them has the key
    no longer: it is the plan's."""
    found = [*parts]
    if "pattern" in asked:
        found = _with_patterns(found, keys.get("pattern", Plan().pattern), asked["pattern"])
    return _with_sizes(found, asked["sizes"]) if "sizes" in asked else found


def _with_patterns(parts: Sequence[Part], usual: Sequence[str], asked: Sequence[str]) -> list[Part]:
    own = [part.get("pattern", usual) for part in parts]
    # What no part has is measured with the settings of every part.
    if not {*asked} <= {name for each in own for name in each}:
        return [_restricted(part, "pattern", asked, asked) for part in parts]
    return [
        _restricted(part, "pattern", own_asked, asked)
        for part, patterns in zip(parts, own, strict=True)
        if (own_asked := [name for name in asked if name in patterns])
    ]


def _with_sizes(parts: Sequence[Part], asked: Sequence[int]) -> list[Part]:
    """Of parts that differ only in what goes by size, a size belongs to those that have it, or else
    to the one with the next smaller size; all belong to every other part."""
    alike: dict[str, list[Part]] = {}
    for part in parts:
        alike.setdefault(_kind(part), []).append(part)
    return [
        _restricted(part, "sizes", own, asked)
        for part in parts
        if (own := [size for size in asked if part in _measuring(size, alike[_kind(part)])])
    ]


def _kind(part: Part) -> str:
    rest = {name: value for name, value in part.items() if name not in _BY_SIZE}
    return repr(("sizes" in part, sorted(rest.items())))


def _measuring(size: int, parts: Sequence[Part]) -> Sequence[Part]:
    """Those of the parts, which all have sizes or none, that measure a size."""
    if "sizes" not in parts[0]:
        return parts
    having = [part for part in parts if size in part["sizes"]]
    below = [(each, n) for n, part in enumerate(parts) for each in part["sizes"] if each < size]
    every = [(each, n) for n, part in enumerate(parts) for each in part["sizes"]]
    _, nearest = max(below, default=None) or min(every)
    return having or [parts[nearest]]


def _restricted(part: Part, name: str, own: Sequence[Any], asked: Sequence[Any]) -> Part:
    rest = {key: value for key, value in part.items() if key != name}
    return rest if [*own] == [*asked] else {**rest, name: tuple(own)}
