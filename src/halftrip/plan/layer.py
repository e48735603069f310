"""A layer of a plan: keys that are not yet parsed, and where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from halftrip.errors import UsageError


class Layer(NamedTuple):
    """Some keys of a plan, not yet parsed; `place` says where a key stands, for errors. `parts` are
    those of each part of the plan (None: it says nothing of parts)."""

    keys: Mapping[str, Any]
    place: Callable[[str], str]
    parts: tuple[Layer, ...] | None = None


def place_of(layers: Sequence[Layer], *names: str) -> str:
    """The place of a key in the last layer that has it; of several, in the last that has any."""
    place: str = next(
        layer.place(name) for layer in reversed(layers) for name in names if name in layer.keys
    )
    return place


def at(place: str, parse: Callable[[Any], Any], value: Any) -> Any:
    """The result of `parse(value)`; its UsageError is raised with the place of the value."""
    try:
        return parse(value)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
