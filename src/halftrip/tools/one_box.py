"""A report on a ping-pong on one box and on two, which gives its figures in sentences: the average
time of one integer of 4 bytes and of so many, s one way, by a clock that resolves 1 us. A run has
every size that was measured below its sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.tools.lines import Lines, WrongLineError, last_place, positive, whole, wrong
from halftrip.tools.printing import PrintedCurve, curves, is_pingpong, texts
from halftrip.tools.tables import Format, TableRow, ToolTable, settings

TOOL = "one-box"
_INT_BYTES = 4
_TIME = "time (s)"
_HEADING = re.compile(r"(?P<boxes>\w+ Box(es)?)\s*")
_BOXES = ("One Box", "Two Boxes")
_SENTENCE = re.compile(
    r"on average (?P<first>\S+) s for one int, and (?P<last>\S+) s for (?P<many>[\d,]+) ints"
)
_BEGINS = re.compile(r".*on average .{0,80}\bfor one int\b")
_COMMAND = re.compile(r'running "(?P<command>srun [^"]+)"')
# The clock that the times were read from resolves so much, ns, whatever digits an average has.
_CLOCK_NS = 1000.0
# Sizes that the sentence has.
_SAID_SIZES = 2


# Reads.


def _read(lines: Lines, _: int) -> Sequence[ToolTable]:
    tables: list[ToolTable] = []
    boxes = ""
    for n, line in lines:
        if heading := _HEADING.fullmatch(line):
            boxes = heading["boxes"]
        if not _BEGINS.match(line):
            continue
        try:
            tables.append(_table(n, line, boxes))
        except WrongLineError as error:
            lines.doubt(error)
    return tables


def _table(line: int, text: str, boxes: str) -> ToolTable:
    sentence = _SENTENCE.search(text)
    if sentence is None or len(_SENTENCE.findall(text)) > 1:
        wrong(line, "not one sentence with the times of one int and of so many")
    command = _COMMAND.search(text)
    facts = {"command": command["command"]} if command is not None else {}
    many = whole(line, sentence["many"].replace(",", ""))
    if many < 2:
        wrong(line, f"{sentence['many']} ints")
    rows = [_row(line, 1, sentence["first"]), _row(line, many, sentence["last"])]
    variant = (("boxes", boxes),) if boxes else ()
    configuration = settings("mpi", "pingpong", variant=variant, places="own")
    return ToolTable(TOOL, line, configuration, "mean", rows, facts=facts)


def _row(line: int, ints: int, seconds: str) -> TableRow:
    time = positive(line, seconds, "integers that took no time")
    step = max(1e9 * last_place(seconds), _CLOCK_NS)
    return TableRow(line, _INT_BYTES * ints, 1e9 * time, {_TIME: seconds}, step=step)


# Prints.


def render(document: Document) -> str:
    """A paragraph and a table for each curve. Raises UsageError for a run without a ping-pong of
    whole integers."""
    found = curves(
        document, TOOL, _is_of_ints, "ping-pong of integers, 4 bytes each",
        "halftrip run one-box-two-boxes, or -p pingpong -s 4..4000+4",
    )  # fmt: skip
    return texts(map(_lines, found))


def _is_of_ints(configuration: Configuration) -> bool:
    whole = configuration.size > 0 and configuration.size % _INT_BYTES == 0
    return is_pingpong(configuration) and whole


def _lines(curve: PrintedCurve) -> list[str]:
    times = {row.configuration.size // _INT_BYTES: _seconds(curve, row) for row in curve.rows}
    ints = list(times)
    said = f"on average {times[ints[0]]} s for {_ints(ints[0])}"
    if len(ints) > 1:
        said += f", and {times[ints[-1]]} s for {_ints(ints[-1])}"
    command = curve.source.facts.get("command") if curve.source is not None else None
    how = f'By running "{command}"' if command else f"Over {curve.configuration.transport}"
    lines = [_boxes(curve), "", f"{how}, integers take {said}."]
    if len(ints) > _SAID_SIZES:
        lines += ["", "ints\tseconds", *(f"{n}\t{time}" for n, time in times.items())]
    return lines


def _boxes(curve: PrintedCurve) -> str:
    """Where both ranks ran, as a heading."""
    known = dict(curve.configuration.variant).get("boxes")
    if known is not None:
        return known
    hosts = curve.document.run.names.hosts
    pair = [hosts.get(rank) for rank in curve.configuration.pair]
    return _BOXES[pair[0] != pair[1]]


def _ints(count: int) -> str:
    return "one int" if count == 1 else f"{count:,} ints"


def _seconds(curve: PrintedCurve, row: Row) -> str:
    """The time of a message as it was printed, or with three digits: ``1.44E-4``."""
    if curve.is_own:
        return curve.cells(row, (_TIME,))[0]
    mantissa, _, exponent = f"{curve.mean(row) / 1e9:.2E}".partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(exponent)}"


FORMAT = Format(
    "one box, two boxes", _read, marks=("on average ",), joined=True,
    begins=_BEGINS,
)  # fmt: skip
