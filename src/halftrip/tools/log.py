"""A log, as a scheduler, a shell or an editor has left it, becomes sections: the lines of a table,
with those above it that may say what it is of. Nothing of this is known to a reader.

A table's lines have a prefix in common: indentation, marks of a quotation or of a comment in a
program, time stamps, and labels of ranks (``srun -l``, ``mpirun --tag-output``). Lines with another
label are of another stream, and belong to none of its sections. All this takes linear time.
"""

from __future__ import annotations

import codecs
import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from halftrip.tools import mail, wrapped
from halftrip.tools.lines import Lines, Value, WrongLineError, decoder, wrong
from halftrip.tools.tables import Format

# Bytes: far more than any tool prints, but for a log of single messages.
LARGEST = 256 << 20
_ENCODINGS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[()][\w])"
)
# Of HTML, what stands in and around tables; sockperf's <MAX> and labels such as <stdout> are none.
_CELL = re.compile(r"</?t[dh](?: [^<>\n]{0,200})?>", re.IGNORECASE)
_LINE_ELEMENT = re.compile(r"<br ?/?>|</(?:tr|p|div|li|pre)>", re.IGNORECASE)
_ELEMENT = re.compile(
    r"</?(?:pre|code|span|tr|table|tbody|thead|p|div|html|head|body|font|b|i|tt|samp|li|ul|ol|a)"
    r"(?: [^<>\n]{0,200})?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(lt|gt|amp|quot|nbsp|#x27|#39);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "nbsp": " ", "#x27": "'", "#39": "'"}
# The wide forms of ASCII, as where an editor of Chinese or Japanese had the text.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
_WIDE = re.compile(r"[\uff01-\uff5e\u3000]")
_LINE_BREAK = "\v"
_ENDS = re.compile(r"[\n\v]")
_STAMP = (
    r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:?"
    r"(?:[ \t]|$)"
    r"|\[ *\d{1,9}\.\d{1,9}\](?:[ \t]|$)"
    r"|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?(?:<std\w{2,4}>:? ?| |$)"
)
_PIECE = re.compile(
    r"(?P<blank>[ \t]+)|(?P<quote>> ?)|(?P<comment>(?://|[#*%])(?=[ \t]))"
    r"|(?P<label>\[[\w.@-]{0,80}?\d{1,7},\d{1,7}\](?:<std\w{2,4}>)?:? ?"
    r"|\[(?:rank )?\d{1,7}\](?: |$)|\d{1,7}:(?: |$))"
    rf"|(?P<stamp>{_STAMP})"
)
_MOST_PIECES = 8
# Lines above a table in which its reader looks for what it is of.
_MOST_ABOVE = 1000
# Lines above the mark of JSON in which its object may begin, and objects that may end nowhere.
_MOST_ABOVE_MARK = 200
_MOST_BROKEN = 50
# A value of JSON takes twenty times its length, and no log of single messages is one.
_LONGEST_JSON = 64 << 20
Key = tuple[str, ...]


class Section(NamedTuple):
    """The lines of a table by `tool`, the name of a format, which begins in line number `at` of
    these; a `problem` in place of them: they are not even lines of it."""

    tool: str
    lines: Lines
    at: int
    problem: WrongLineError | None = None


class _Event(NamedTuple):
    """A line that begins a table of a tool, or (`heading`: which one) goes on with it."""

    number: int
    tool: str
    heading: str | None
    prefix: tuple[str, re.Pattern[str] | None]
    key: Key


class Log:
    """The lines of a text; the first is number 1."""

    def __init__(self, content: bytes) -> None:
        """Raises WrongLineError for what is too long."""
        if len(content) > LARGEST:
            wrong(0, f"longer than {LARGEST >> 20} MiB, which is no output of these tools")
        self.text = _cleaned(_decoded(content))
        if self.text and not self.text.endswith("\n"):
            self.is_whole = False
            self.text += "\n"
        else:
            self.is_whole = True
        self.text = wrapped.joined(self.text)
        self._starts = array("Q", [0])
        self._starts.extend(found.end() for found in _ENDS.finditer(self.text))
        # Where lines were broken, the numbers are still those of the text.
        self._has_breaks = _LINE_BREAK in self.text

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self.text[self._starts[number - 1] : self._starts[number] - 1]

    def number_at(self, place: int) -> int:
        """The number of the line in which this character of the text is."""
        return bisect_right(self._starts, place)

    def start(self, number: int) -> int:
        """The place of the first character of a line."""
        return self._starts[number - 1]

    def original(self, number: int) -> int:
        """The number of a line in the text as it was."""
        if not self._has_breaks:
            return number
        return self.text.count("\n", 0, self._starts[number - 1]) + 1

    @cached_property
    def _of_key(self) -> dict[Key, list[int]]:
        """The numbers of the lines of each stream."""
        found: dict[Key, list[int]] = {}
        for number in range(1, len(self) + 1):
            *_, (_, _, key) = _prefixes(self[number])
            # What follows a label may look like another one.
            for length in range(1, len(key) + 1):
                found.setdefault(key[:length], []).append(number)
        return found

    def numbers(self, key: Key, first: int, last: int) -> Sequence[int]:
        """The lines of a stream from one to another."""
        if not key:
            return range(first, last + 1)
        of_key = self._of_key.get(key, [])
        return of_key[bisect_left(of_key, first) : bisect_right(of_key, last)]

    @cached_property
    def _marked(self) -> dict[str, list[int]]:
        return {}

    def with_mark(self, mark: str) -> list[int]:
        """The numbers of the lines that have a mark, which is a pattern."""
        found = self._marked.get(mark)
        if found is None:
            found = self._marked[mark] = []
            for each in re.compile(mark, re.MULTILINE).finditer(self.text):
                number = self.number_at(each.start())
                if not found or found[-1] != number:
                    found.append(number)
        return found

    def above(
        self, number: int, mark: str, pattern: re.Pattern[str]
    ) -> Iterator[tuple[int, re.Match[str]]]:
        """The lines at or above that one which have a mark and match, the nearest first."""
        marked = self.with_mark(mark)
        for place in range(bisect_right(marked, number) - 1, -1, -1):
            line = self[marked[place]]
            for begin, _, _ in _prefixes(line):
                if found := pattern.match(line, begin):
                    yield marked[place], found
                    break


def _decoded(content: bytes) -> str:
    if b"=" in content:
        content = mail.decoded(content)
    for mark, encoding in _ENCODINGS.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _cleaned(text: str) -> str:
    """The text without what is no part of its lines."""
    for character, into in (("\r\n", "\n"), ("\r", "\n"), ("\v", " "), ("\f", " "), ("\xa0", " ")):
        if character in text:
            text = text.replace(character, into)
    if _WIDE.search(text):
        text = text.translate(_NARROW)
    if "\x1b" in text:
        text = _CONTROL.sub("", text)
    if _ELEMENT.search(text):
        text = _LINE_ELEMENT.sub(_LINE_BREAK, _CELL.sub(" ", text))
        text = _ELEMENT.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: _ENTITIES[found[1]], text)
    return text


def _prefixes(line: str) -> Iterator[tuple[int, str, Key]]:
    """Where a line may begin: behind no prefix or a longer one, its pattern, and its labels."""
    place, pattern = 0, ""
    key: Key = ()
    yield place, pattern, key
    for _ in range(_MOST_PIECES):
        found = _PIECE.match(line, place)
        if found is None or found.end() == place:
            return
        said = found[0]
        match found.lastgroup:
            # A blank behind it is its own where the first line has one.
            case "label":
                pattern += re.escape(said.strip()) + " ?" * said.endswith(" ")
                key = (*key, said.strip())
            case "stamp":
                pattern += rf"(?:{_STAMP})" + r"(?<!\s)" * (not said.endswith((" ", "\t")))
            case "quote" | "comment":
                pattern += "> ?" if said.startswith(">") else re.escape(said)
                key = (*key, said.strip())
            case _:
                pattern += rf"[ \t]{{0,{len(said)}}}"
        place = found.end()
        yield place, pattern, key


def sections(log: Log, formats: Mapping[str, Format], test: str | None = None) -> Iterator[Section]:
    """The sections of a log, in the order of their lines; `test` is what the user says they are."""
    found = [*_json_sections(log, formats)]
    extents = [
        (log_of[0], log_of[-1])
        for each in found
        if (log_of := each.lines.numbers) and not each.problem
    ]
    found += _text_sections(log, formats, extents)
    for each in sorted(found, key=lambda each: each.lines.number(each.at)):
        each.lines.test = test
        yield each


# Text.


def _text_sections(
    log: Log, formats: Mapping[str, Format], extents: Sequence[tuple[int, int]]
) -> Iterator[Section]:
    opened: dict[Key, tuple[_Event, int, set[str]]] = {}
    events = [
        each
        for each in _events(log, formats)
        if not any(first <= each.number <= last for first, last in extents)
    ]
    # JSON ends what stands above it.
    ends = [_Event(first, "", str(last), ("", None), ()) for first, last in extents]
    for event in sorted([*events, *ends], key=lambda each: each.number):
        before = opened.get(event.key)
        if before is not None and before[0].tool == event.tool:
            is_first = event.heading is not None and event.heading not in before[2]
            if is_first or formats[event.tool].joined:
                before[2].add(event.heading or "")
                continue
        above = 1
        if before is not None:
            above = before[0].number + 1
            if before[0].tool:
                yield _section(log, *before[:2], event.number - 1)
            else:
                above = int(before[0].heading or "0") + 1
        seen = set() if event.heading is None else {event.heading}
        opened[event.key] = (event, max(above, event.number - _MOST_ABOVE), seen)
    for event, above, _ in opened.values():
        if event.tool:
            yield _section(log, event, above, len(log))


def _section(log: Log, event: _Event, above: int, last: int) -> Section:
    numbers = log.numbers(event.key, above, last)
    lines = Lines(log, numbers, event.prefix[1])
    return Section(event.tool, lines, bisect_left(numbers, event.number) + 1)


def _events(log: Log, formats: Mapping[str, Format]) -> list[_Event]:
    """The lines that begin a table, each once, in order."""
    found: dict[int, _Event] = {}
    prefixes: dict[str, re.Pattern[str] | None] = {"": None}
    for tool, each in formats.items():
        for mark in each.marks:
            for number in log.with_mark(mark):
                if number in found:
                    continue
                line = log[number]
                if number > 1 and log[number - 1] == line:
                    # It was printed twice, as by two ranks.
                    continue
                # Behind the longest prefix, as some patterns match whatever is before.
                for place, prefix, key in reversed([*_prefixes(line)]):
                    begins = each.begins.match(line, place) if each.begins else None
                    heading = each.heading.match(line, place) if each.heading else None
                    if begins is None and heading is None:
                        continue
                    if prefix not in prefixes:
                        prefixes[prefix] = re.compile(prefix)
                    which = None
                    if begins is None and heading is not None:
                        which = heading[heading.lastindex] if heading.lastindex else ""
                    found[number] = _Event(number, tool, which, (prefix, prefixes[prefix]), key)
                    break
    return sorted(found.values(), key=lambda event: event.number)


# JSON.


def _json_sections(log: Log, formats: Mapping[str, Format]) -> Iterator[Section]:
    """The objects of JSON that have the mark of a format."""
    marks = sorted(
        (number, tool)
        for tool, each in formats.items()
        if each.json
        for number in log.with_mark(each.json)
    )
    end, broken = 0, 0
    for number, tool in marks:
        if number <= end or broken > _MOST_BROKEN:
            continue
        problem = None
        for first in range(max(end + 1, number - _MOST_ABOVE_MARK), number + 1):
            line = log[first]
            *_, (place, prefix, key) = _prefixes(line)
            if not line.startswith("{", place):
                continue
            try:
                value, last = _object(log, first, place, prefix, key)
                follows = formats[tool].follows
                if last >= number and follows and re.match(follows, line[place:]):
                    value, last = _followed(log, value, last, formats[tool], prefix, key)
            except WrongLineError as error:
                problem, broken = error, broken + 1
                if broken > _MOST_BROKEN:
                    break
                continue
            if last >= number:
                end = last
                numbers = log.numbers(key, first, last)
                lines = Lines(log, numbers, re.compile(prefix) if prefix else None, value)
                yield Section(tool, lines, 1)
                problem = None
                break
        if problem is not None:
            yield Section(tool, Lines(log, range(number, number + 1)), 1, problem)


def _followed(
    log: Log, value: Value, last: int, of: Format, prefix: str, key: Key
) -> tuple[Value, int]:
    """The list of an object and of those that go on with it below its `last` line, each in a line
    of its own, up to the next one with the mark, and the number of the last line. Raises
    WrongLineError for one that is none."""
    values = [value]
    marked = log.with_mark(of.json or "")
    place = bisect_right(marked, last)
    end = marked[place] if place < len(marked) else len(log) + 1
    going_on = log.with_mark(of.follows or "")
    begin = re.compile(f"{prefix}(?={of.follows})")
    for number in going_on[bisect_right(going_on, last) : bisect_left(going_on, end)]:
        if found := begin.match(log[number]):
            value, last = _object(log, number, found.end(), prefix, key)
            values.append(value)
    return Value.listed(values), last


def _object(log: Log, first: int, place: int, prefix: str, key: Key) -> tuple[Value, int]:
    """The object that begins in that line, and the number of its last line. Raises WrongLineError,
    by a number of the log, where it is none."""
    numbers: Sequence[int] = range(first, len(log) + 1)
    text, begin = log.text, log.start(first) + place
    if text[log.start(first) : begin].strip():
        numbers = log.numbers(key, first, len(log))
        text, begin = Lines(log, numbers, re.compile(prefix)).text, 0
    if len(text) - begin > _LONGEST_JSON:
        text, begin = text[begin : begin + _LONGEST_JSON], 0
    try:
        held, stop = decoder().raw_decode(text, begin)
    except json.JSONDecodeError as error:
        at = min(text.count("\n", begin, error.pos), len(numbers) - 1)
        wrong(numbers[at], f"no JSON: {error.msg}")
    except RecursionError:
        wrong(first, "JSON that is nested too deep")
    except ValueError as error:
        wrong(first, f"no JSON: {error}")
    last = numbers[text.count("\n", begin, stop)]
    return Value("", held), last
