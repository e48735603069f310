"""What readers of other tools' outputs share: a text by its lines, the numbers and values of JSON
in it, and how what no tool prints is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NoReturn

# Bytes: far more than any tool prints, but for a log of single messages.
LARGEST = 256 << 20
# A value of JSON takes twenty times its length, and no log of single messages is one.
_LONGEST_JSON = 64 << 20
# Characters within which a tool says what it is: to look for all tools in a long log takes minutes.
_HEAD = 1 << 20
# Of a number, and of what is quoted of a line in a message.
_MOST_DIGITS = 40
_QUOTED = 60
_LARGEST_NUMBER = 1e18
LARGEST_WINDOW = 10**6
# Above 0: what is smaller may be 0 after a division, and is nothing that a tool has measured.
_SMALLEST_NUMBER = 1e-100
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)


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


class Lines:
    """The lines of a text, without their ends; the first is number 1."""

    def __init__(self, content: bytes) -> None:
        """Raises WrongLineError for what no tool prints."""
        if len(content) > LARGEST:
            wrong(0, f"longer than {LARGEST >> 20} MiB, which is no output of these tools")
        try:
            self.text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            wrong(content.count(b"\n", 0, error.start) + 1, "not UTF-8")
        for character, what, advice in (
            ("\0", "a zero byte", "it is no text"),
            ("\r", "a carriage return", "remove them all, as dos2unix does"),
        ):
            place = self.text.find(character)
            if place >= 0:
                line = self.text.count("\n", 0, place) + 1
                wrong(line, f"it has {what}: {advice}")
        self._lines = self.text.split("\n")
        # Whether the last line has its end, as all have that were printed whole.
        self.is_whole = not self._lines[-1]
        if self.is_whole:
            self._lines.pop()
        # Whether it was read as a value of JSON, which shows its end by itself.
        self.is_value = False

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> str:
        return self._lines[number - 1]

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Each line, behind its number."""
        return iter(enumerate(self._lines, 1))

    def first(self, pattern: str, after: int = 0) -> int | None:
        """The number of the first line after that one which matches a pattern from its begin."""
        compiled = re.compile(pattern)
        numbers = range(after + 1, len(self) + 1)
        return next((number for number in numbers if compiled.match(self[number])), None)

    def need(self, pattern: str, lacks: str, line: int | None = None) -> int:
        """As `first`, of all lines. Raises WrongLineError, which says what the text `lacks`, at a
        line (None: the last)."""
        found = self.first(pattern)
        if found is None:
            wrong(len(self) if line is None else line, lacks)
        return found

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
        self, pattern: re.Pattern[str], before: int | None = None
    ) -> Iterator[tuple[int, re.Match[str]]]:
        """What the lines say that match, each behind its number, above the line number `before`."""
        for n in range(1, len(self) + 1 if before is None else before):
            if found := pattern.fullmatch(self[n]):
                yield n, found

    def rows(
        self, heading: int, again: re.Pattern[str], row: str = r".*\S"
    ) -> Iterator[tuple[int, str]]:
        """The lines below that heading which begin with the pattern `row`, each behind its number.
        Raises WrongLineError for a line that begins a second table, as `again` says."""
        begin = re.compile(row)
        for n, line in self.below(heading):
            if again.match(line):
                wrong(n, "a second table: import each by itself")
            if begin.match(line):
                yield n, line

    def next(
        self, line: int, pattern: re.Pattern[str], skipped: str, other: str, end: str
    ) -> tuple[int, re.Match[str]]:
        """The first line below that one which matches, behind its number. Raises WrongLineError
        for a line before it that is not `skipped`, which is a pattern, and where there is none;
        `other` and `end` say so."""
        for n, text in self.below(line):
            if found := pattern.fullmatch(text):
                return n, found
            if not re.match(skipped, text):
                wrong(n, other)
        return wrong(len(self), end)

    @cached_property
    def head(self) -> Lines:
        """The first lines, by which a text is recognised; all of them where there are few."""
        end = self.text.rfind("\n", 0, _HEAD) + 1 or _HEAD
        return self if len(self.text) <= _HEAD else Lines(self.text[:end].encode())

    @property
    def is_json(self) -> bool:
        """Whether it begins as an object of JSON, whole or not."""
        return self.text[:_HEAD].lstrip().startswith("{")

    @cached_property
    def json(self) -> Value:
        """The text as a value of JSON. Raises WrongLineError, which says where it stops to be JSON,
        if it is none."""
        if len(self.text) > _LONGEST_JSON:
            wrong(0, f"longer than {_LONGEST_JSON >> 20} MiB, which is no JSON of these tools")
        try:
            found = json.loads(
                self.text, parse_constant=_no_constant, parse_float=_Digits, parse_int=_Digits
            )
        except json.JSONDecodeError as error:
            wrong(error.lineno, f"no JSON: {error.msg}")
        except RecursionError:
            wrong(1, "JSON that is nested too deep")
        except ValueError as error:
            wrong(1, f"no JSON: {error}")
        self.is_value = True
        return Value("", found)


def layout(line: str, **fields: str) -> re.Pattern[str]:
    """Matches a line that is printed by this format string: a field has its pattern, or is a word,
    and blanks may follow."""
    said = re.split(r"\{(\w+)\}", line)
    for n in range(len(said)):
        of_field = fields.get(said[n], r"\S+")
        said[n] = f"(?P<{said[n]}>{of_field})" if n % 2 else re.escape(said[n])
    return re.compile("".join(said).rstrip("\\ ") + r"\s*")


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


def size_by(bandwidth: tuple[float, float], rate: tuple[float, float]) -> int | None:
    """The size of messages by bytes and messages per second, each with the unit of its last digit:
    the only whole number that both can be of, else the only power of two. None: there are several,
    or none."""
    least, most = (
        (bandwidth[0] + sign * bandwidth[1] / 2) / max(rate[0] - sign * rate[1] / 2, 1e-9)
        for sign in (-1, 1)
    )
    first, last = max(math.ceil(least), 1), math.floor(min(most, 1 << 60))
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
