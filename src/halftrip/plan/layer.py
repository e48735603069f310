"""A layer of a plan: keys that are not yet parsed, where they stand, and what no key can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from halftrip.errors import UsageError

# Beyond what any reader computes with: its own limits are far below.
_MOST_BITS = 256
_MOST_ITEMS = 100_000
_LONGEST_TEXT = 1 << 17
_DEEPEST = 8


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


def check_value(value: Any, depth: int = 0) -> None:
    """Raises UsageError for what no key can have, so that readers can compute with the value and
    print it: numbers of any length, texts that cannot be written in a file, lists without an end,
    and whatever is nested too deeply."""
    if depth > _DEEPEST:
        raise UsageError("it is nested too deeply")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise UsageError(f"a number of {value.bit_length()} bits is too large")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            check_value(key, depth + 1)
            try:
                check_value(each, depth + 1)
            except UsageError as error:
                raise UsageError(f"{key}: {error}") from None
    elif isinstance(value, Iterable):
        _check_items(value, depth)


def _check_text(text: str) -> None:
    if len(text) > _LONGEST_TEXT:
        raise UsageError(f"a text of {len(text)} characters is too long")
    if "\0" in text:
        raise UsageError(f"{text!r} has a NUL")
    if not _is_encodable(text):
        raise UsageError(f"{text!r} is not UTF-8")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _check_items(value: Iterable[Any], depth: int) -> None:
    for number, each in enumerate(value):
        if number >= _MOST_ITEMS:
            raise UsageError(f"more than {_MOST_ITEMS} items")
        check_value(each, depth + 1)
