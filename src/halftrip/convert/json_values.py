"""Values of JSON that another tool has written: the digits of numbers as they are, and the path of
each value, by which messages name it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halftrip.convert.text import Lines, number, quoted, whole, wrong


class _Digits(str):
    """A number as it is written."""


class Value:
    """A value of JSON: `path` is where it is, such as ``results[3].t_avg``. Whatever is not what a
    caller takes it for raises WrongLineError."""

    def __init__(self, path: str, held: Any) -> None:
        self.path = path
        self._held = held

    def __getitem__(self, name: str) -> Value:
        found = self.get(name)
        if found is None:
            wrong(0, f"{self.path or 'the object'} has no {quoted(name)}")
        return found

    def get(self, name: str) -> Value | None:
        """The value of this name; None where there is none."""
        if not isinstance(self._held, dict):
            wrong(0, f"{self.path or 'the whole'} is no object")
        if name not in self._held:
            return None
        return Value(f"{self.path}.{name}" if self.path else name, self._held[name])

    def __iter__(self) -> Iterator[Value]:
        """The values of a list."""
        if not isinstance(self._held, list):
            wrong(0, f"{self.path or 'the whole'} is no list")
        for place, each in enumerate(self._held):
            yield Value(f"{self.path}[{place}]", each)

    @property
    def is_true(self) -> bool:
        return self._held is True

    @property
    def digits(self) -> str:
        """A number as it is written."""
        if not isinstance(self._held, _Digits):
            wrong(0, f"{self.path} is no number")
        return str(self._held)

    @property
    def number(self) -> float:
        return number(0, self.digits, f"{self.path}: ")

    @property
    def whole(self) -> int:
        return whole(0, self.digits, f"{self.path}: ")

    @property
    def text(self) -> str:
        if not isinstance(self._held, str) or isinstance(self._held, _Digits):
            wrong(0, f"{self.path} is no text")
        return self._held


def value_of(lines: Lines) -> Value:
    """The whole text as a value. Raises WrongLineError where it is no JSON."""
    return Value("", lines.parse_json(parse_float=_Digits, parse_int=_Digits))
