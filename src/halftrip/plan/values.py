"""The values of keys as they come from a file, a command line or a program: not yet read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from halftrip.errors import UsageError

# Beyond what any reader computes with: its own limits are far below.
_MOST_BITS = 256
_MOST_ITEMS = 100_000
_LONGEST_TEXT = 1 << 17
_DEEPEST = 8


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
