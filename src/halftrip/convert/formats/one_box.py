"""A report on a ping-pong on one box and on two, which gives its figures in sentences: the average
time of one integer of 4 bytes and of so many, by a clock that resolves 1 us."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.convert.tables import Format, Row, Table, settings
from halftrip.convert.text import Lines, last_place, number, whole, wrong
from halftrip.report.styles.one_box import INT_BYTES, TOOL

_SENTENCE = re.compile(
    r"on average (?P<first>\S+) s for one int, and (?P<last>\S+) s for (?P<many>[\d,]+) ints"
)
_HEADING = re.compile(r"(?P<boxes>\w+ Box(es)?)\s*")
_COMMAND = re.compile(r'running "(?P<command>srun [^"]+)"')
# The clock that the times were read from resolves so much, ns, whatever digits an average has.
_CLOCK_NS = 1000.0


def _recognised(lines: Lines) -> int | None:
    return lines.first(f".*{_SENTENCE.pattern}")


def _read(lines: Lines) -> Sequence[Table]:
    tables: list[Table] = []
    boxes, rows_of = "", set()
    for n, line in lines:
        if heading := _HEADING.fullmatch(line):
            boxes = heading["boxes"]
        sentences = list(_SENTENCE.finditer(line))
        if len(sentences) > 1:
            wrong(n, "two sentences with figures in one line")
        if not sentences:
            continue
        if boxes in rows_of:
            wrong(n, f"figures of {boxes or 'one place'} a second time")
        rows_of.add(boxes)
        tables.append(_table(n, line, sentences[0], boxes))
    return tables


def _table(line: int, text: str, sentence: re.Match[str], boxes: str) -> Table:
    command = _COMMAND.search(text)
    facts = {"command": command["command"]} if command is not None else {}
    many = whole(line, sentence["many"].replace(",", ""))
    if many < 2:
        wrong(line, f"{sentence['many']} ints")
    rows = [_row(line, 1, sentence["first"]), _row(line, many, sentence["last"])]
    variant = (("boxes", boxes),) if boxes else ()
    configuration = settings("mpi", "pingpong", variant=variant, places="own")
    return Table(TOOL, line, configuration, "mean", rows, facts=facts)


def _row(line: int, ints: int, seconds: str) -> Row:
    time = number(line, seconds)
    if not time > 0:
        wrong(line, "integers that took no time")
    step = max(1e9 * last_place(seconds), _CLOCK_NS)
    return Row(line, INT_BYTES * ints, 1e9 * time, {"time (s)": seconds}, step=step)


FORMAT = Format("one box, two boxes", _recognised, _read)
