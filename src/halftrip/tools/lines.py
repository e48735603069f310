"""What readers of other tools' outputs share: a section of a log by its lines, the numbers and
values of JSON in it, and how what no tool prints is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NoReturn, Protocol, TypeVar

Row = TypeVar("Row")
# Of a number, and of what is quoted of a line in a message.
_MOST_DIGITS = 40
_QUOTED = 60
_LARGEST_NUMBER = 1e18
LARGEST_WINDOW = 10**6
# Above 0: what is smaller may be 0 after a division, and is nothing that a tool has measured.
_SMALLEST_NUMBER = 1e-100
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)
_LOOKS_LIKE_A_ROW = re.compile(r"\s*([-+]?\.?\d|(?i:nan|inf)\b)")
_LIKE_A_NUMBER = re.compile(r"[-+]?(\.?\d[\d.,]*([eE][-+]?\d+)?[a-z%]{0,4}|(?i:nan|inf))")
# Of a line that is no row.
_MOST_CELLS = 100


class WrongLineError(Exception):
    """A line is not what its format has there. `line` is its number, from 1; 0: none of them."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def wrong(line: int, reason: str) -> NoReturn:
    raise WrongLineError(line, reason)


def quoted(text: str) -> str:
    """What a message quotes of a text."""
    return repr(text if len(text) <= _QUOTED else f"{text[:_QUOTED]}...")


class Source(Protocol):
    """What lines are of."""

    def __getitem__(self, number: int, /) -> str: ...

    def original(self, number: int) -> int: ...

    def above(
        self, number: int, mark: str, pattern: re.Pattern[str]
    ) -> Iterator[tuple[int, re.Match[str]]]: ...

    def with_mark(self, mark: str) -> list[int]: ...

    is_whole: bool

    def __len__(self) -> int: ...


class Lines:
    """The lines of a section of a log, without their ends and without the `prefix` of all of them;
    the first is number 1. `numbers` are theirs in the log. `value`: they are JSON. `doubtful` are
    those that look like a row and were not taken. `test` is what the user says the table is of."""

    def __init__(
        self,
        log: Source,
        numbers: Sequence[int],
        prefix: re.Pattern[str] | None = None,
        value: Value | None = None,
    ) -> None:
        self._log = log
        self.numbers = numbers
        self._prefix = prefix
        self.value = value
        self.test: str | None = None
        self.doubtful: list[WrongLineError] = []
        # Whether the last line has its end, as all have that were printed whole: JSON shows it.
        is_last = bool(numbers) and numbers[-1] == len(log)
        self.is_whole = value is not None or log.is_whole or not is_last

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: int) -> str:
        line = self._log[self.numbers[number - 1]]
        if self._prefix is not None and (found := self._prefix.match(line)):
            return line[found.end() :]
        return line

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Each line, behind its number."""
        return self.below(0)

    def number(self, line: int) -> int:
        """The number of a line in the text that was imported; 0 stays."""
        if not line or not self.numbers:
            return 0
        return self._log.original(self.numbers[min(line, len(self)) - 1])

    @cached_property
    def text(self) -> str:
        return "".join(f"{line}\n" for _, line in self)

    @property
    def is_json(self) -> bool:
        return self.value is not None

    @property
    def json(self) -> Value:
        """The object of JSON that they are. Raises WrongLineError if they are none."""
        return wrong(1, "no JSON") if self.value is None else self.value

    def first(self, pattern: str, after: int = 0) -> int | None:
        """The number of the first line after that one which matches a pattern from its begin."""
        compiled = re.compile(pattern)
        return next((n for n, line in self.below(after) if compiled.match(line)), None)

    def follows(self, line: int, pattern: re.Pattern[str], lacks: str) -> re.Match[str]:
        """What the line below that one says. Raises WrongLineError where it does not match; `lacks`
        is what is said then."""
        found = pattern.fullmatch(self[line + 1]) if line < len(self) else None
        if found is None:
            wrong(min(line + 1, len(self)), lacks)
        return found

    def below(self, line: int) -> Iterator[tuple[int, str]]:
        """Each line below that one, behind its number."""
        return ((number, self[number]) for number in range(line + 1, len(self) + 1))

    def matches(
        self, pattern: re.Pattern[str], before: int | None = None, after: int = 0
    ) -> Iterator[tuple[int, re.Match[str]]]:
        """What the lines say that match, each behind its number, between these two."""
        for n in range(after + 1, len(self) + 1 if before is None else before):
            if found := pattern.fullmatch(self[n]):
                yield n, found

    def last(self, pattern: re.Pattern[str], before: int) -> re.Match[str] | None:
        """What the nearest line above that one says that matches."""
        lines = (pattern.fullmatch(self[n]) for n in range(before - 1, 0, -1))
        return next((found for found in lines if found), None)

    def above(self, line: int, mark: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The same of that line and all of the log above it: that which has a mark."""
        return next((each for _, each in self.all_above(line, mark, pattern)), None)

    def all_above(
        self, line: int, mark: str, pattern: re.Pattern[str]
    ) -> Iterator[tuple[int, re.Match[str]]]:
        """All of them, behind their numbers in the log, the nearest first."""
        return self._log.above(self.numbers[line - 1], mark, pattern)

    def with_mark(self, mark: str) -> list[int]:
        """The numbers of all lines of the log that have a mark."""
        return self._log.with_mark(mark)

    def of_log(self, number: int) -> str:
        """A line of all of the log; empty below the last."""
        return self._log[number] if number <= len(self._log) else ""

    def next(
        self, line: int, pattern: re.Pattern[str], stop: re.Pattern[str], lacks: str
    ) -> tuple[int, re.Match[str]]:
        """The first line below that one which matches, behind its number. Raises WrongLineError
        where a line before it matches `stop`, and where there is none."""
        for n, text in self.below(line):
            if found := pattern.fullmatch(text):
                return n, found
            if stop.match(text):
                wrong(n, lacks)
        return wrong(len(self), lacks)

    def doubt(self, error: WrongLineError) -> None:
        """Counts a line that is not taken."""
        self.doubtful.append(error)

    def rows(
        self,
        heading: int,
        read: Callable[[int, str], Row],
        ends: re.Pattern[str] | None = None,
        looks: re.Pattern[str] = _LOOKS_LIKE_A_ROW,
        decimals: bool = False,
    ) -> list[Row]:
        """What `read` makes of each line below that heading that looks like a row, up to one that
        `ends` the table; others are left out, and those of which `read` raises WrongLineError are
        counted. `decimals`: all figures of a column have as many, so that a line with fewer of them
        was cut off, and one with others, behind foreign lines, is of another table."""
        found: list[tuple[int, Row, tuple[int, ...], bool]] = []
        has_gap = False
        for n, line in self.below(heading):
            if ends is not None and ends.match(line):
                break
            if not looks.match(line):
                has_gap = has_gap or bool(found and line.strip())
                continue
            try:
                row = read(n, line)
            except WrongLineError as error:
                if looks is not _LOOKS_LIKE_A_ROW or _is_broken_row(line):
                    self.doubt(error)
                has_gap = bool(found)
                continue
            found.append((n, row, tuple(map(_decimals, line.split())), has_gap))
        if not decimals or not found:
            return [row for _, row, *_ in found]
        # Behind foreign lines, rows may be those of another table.
        shapes = [shape for *_, shape, _ in found]
        before = [shape for *_, shape, is_behind in found if not is_behind]
        usual = tuple(map(max, zip(*before, strict=False)))
        rows = []
        for n, row, shape, is_behind in found:
            fewer = any(each < most for each, most in zip(shape, usual, strict=False))
            if fewer or (is_behind and shape != usual):
                self.doubt(
                    WrongLineError(n, "its figures have other decimals than those around it")
                )
            else:
                rows.append(row)
        # A last line without an end is whole where its figures have all their decimals.
        self.is_whole = self.is_whole or (shapes.count(usual) > 1 and usual[-1] > 0)
        return rows


def _decimals(cell: str) -> int:
    return len(cell.partition(".")[2])


def _is_broken_row(line: str) -> bool:
    """Whether a line that is no row looks as if it had been one: half of its cells are like
    numbers, or the first two."""
    found = [bool(_LIKE_A_NUMBER.fullmatch(each)) for each in line.split()[:_MOST_CELLS]]
    return 2 * sum(found) >= len(found) or all(found[:2])


def layout(line: str, **fields: str) -> re.Pattern[str]:
    """Matches a line that is printed by this format string: a field has its pattern, or is a word,
    and blanks may follow."""
    said = re.split(r"\{(\w+)\}", line)
    for n in range(len(said)):
        of_field = fields.get(said[n], r"\S+")
        said[n] = f"(?P<{said[n]}>{of_field})" if n % 2 else re.escape(said[n])
    return re.compile("".join(said).rstrip("\\ ") + r"\s*")


def decoder() -> json.JSONDecoder:
    """Keeps numbers as they are written."""
    return json.JSONDecoder(parse_constant=_no_constant, parse_float=_Digits, parse_int=_Digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def number(line: int, text: str, where: str = "") -> float:
    """The number in a cell, at least 0. Raises WrongLineError for anything else; `where` is what a
    message says before it."""
    if _NUMBER.fullmatch(text) and len(text) <= _MOST_DIGITS:
        found = float(text)
        if found > _LARGEST_NUMBER:
            wrong(line, f"{where}{quoted(text)} is too large")
        if 0 < found < _SMALLEST_NUMBER:
            wrong(line, f"{where}{quoted(text)} is too small")
        return found
    if text.startswith("-") and _NUMBER.fullmatch(text[1:]):
        wrong(line, f"{where}{text[:_QUOTED]} is negative")
    if "," in text and _NUMBER.fullmatch(text.replace(",", "")):
        wrong(line, f"{where}{quoted(text)} has a comma: print it with LC_ALL=C")
    wrong(line, f"{where}{quoted(text)} is no number")


def whole(line: int, text: str, where: str = "") -> int:
    """The whole number in a cell, at least 0. Raises WrongLineError for anything else."""
    if not _WHOLE.fullmatch(text):
        number(line, text, where)
        wrong(line, f"{where}{quoted(text)} is no whole number")
    return int(number(line, text, where))


def positive(line: int, text: str, none: str) -> float:
    """The number in a cell, above 0; `none` is what is said of 0."""
    found = number(line, text)
    if not found > 0:
        wrong(line, none)
    return found


def count(line: int, text: str, none: str) -> int:
    """The whole number in a cell, at least 1; `none` is what is said of 0."""
    found = whole(line, text)
    if not found:
        wrong(line, none)
    return found


def window(line: int, text: str) -> int:
    """The messages in flight."""
    found = whole(line, text)
    if not 1 <= found <= LARGEST_WINDOW:
        wrong(line, f"a window of {found}")
    return found


def size_by(
    bandwidth: tuple[float, float], rate: tuple[float, float], told: int | None = None
) -> int | None:
    """The size of messages by bytes and messages per second, each with the unit of its last digit:
    what was `told`, the only whole number, or power of two, that both can be of; None: there are
    several, or none."""
    least, most = (
        (bandwidth[0] + sign * bandwidth[1] / 2) / max(rate[0] - sign * rate[1] / 2, 1e-9)
        for sign in (-1, 1)
    )
    first, last = max(math.ceil(least), 1), math.floor(min(most, 1 << 60))
    if told is not None and first <= told <= last:
        return told
    if first >= last:
        return first if first == last else None
    powers = [1 << n for n in range(first.bit_length() - 1, last.bit_length())]
    found = [power for power in powers if first <= power <= last]
    return found[0] if len(found) == 1 else None


def last_place(text: str) -> float:
    """The unit of the last digit of a number: 0.01 of ``3.20``, 1e-06 of ``2E-6``."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"1e{int(exponent or 0) - decimals}")


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

    @classmethod
    def listed(cls, values: Sequence[Value]) -> Value:
        return cls("", [each._held for each in values])

    def named(self, path: str) -> Value:
        """The same value, as if it were there."""
        return Value(path, self._held)

    @property
    def is_list(self) -> bool:
        return isinstance(self._held, list)

    @property
    def is_true(self) -> bool:
        return self._held is True

    @property
    def is_null(self) -> bool:
        return self._held is None

    @property
    def cell(self) -> str:
        """A number as it is written, or a text."""
        if not isinstance(self._held, str):
            wrong(0, f"{self.path} is no figure")
        return str(self._held).strip()

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
