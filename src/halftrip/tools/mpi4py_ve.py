"""The ping-pong of mpi4py-ve, the mpi4py of NEC's Vector Engine: its arguments and a table for each
call of it.

One buffer is sent and received into, and there is no warm-up. The average is elapsed time / (2 x
loops), one way, and "GB/s" is bytes / 2^30 per second. Its clock is a double of Unix seconds, whose
step was 2^-22 s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.report.document import Document
from halftrip.tools.lines import Lines, WrongLineError, count, number, whole, wrong
from halftrip.tools.printing import PrintedCurve, curves, exchanges, is_pingpong, texts
from halftrip.tools.tables import Format, TableRow, ToolTable, settings, timed

TOOL = "mpi4py-ve"
_NAMES = ("Data Size (B)", "Avg Transfer Time (s)", "Bandwidth (GB/s)")
_WIDTHS = (15, 23, 18)
_HEADING = f"| {' | '.join(_NAMES)} |"
_RULE = f"|{'|'.join('-' * width for width in _WIDTHS)}|"
_ROW = re.compile(r"\s*\|([^|]*)\|([^|]*)\|([^|]*)\|\s*")
_ARGUMENTS = re.compile(
    r"\s*(\{'dev1': '(?P<dev1>[\w@.:-]{2,80})', 'dev2': '(?P<dev2>[\w@.:-]{2,80})', "
    r"'n': (?P<n>\d+), 'loop_count': (?P<loops>\d+)\})\s*"
)
_ARGUMENTS_BEGIN = re.compile(r"\s*\{'dev1': ")
_ROW_BEGIN = re.compile(r"\s*\|[^-|A-Z]")
_TITLE = re.compile(r"\s*(Issuing .* between|Measured by .+? with) (?P<between>.+?)::\s*")
_COMMAND = re.compile(r"\s*\$ (?P<command>.*\S)\s*")
# Said below some tables of devices: memory copy within one, DMA between two.
_MOVED_BY = re.compile(r"\s*(?P<moved>Data transfer is performed with .*\S)\s*")
# The vector host's memory is that of an ordinary host; other devices have halftrip's names.
_DEVICES = {"host": "vh"}
_MEMORIES = {device: memory for memory, device in _DEVICES.items()}
_BYTES_OF_GB = float(1 << 30)


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    arguments = _ARGUMENTS.fullmatch(lines[first])
    if arguments is None:
        wrong(first, "no arguments of ping-pong.py that are known")
    facts: dict[str, str] = {}
    for n in range(1, first):
        if title := _TITLE.fullmatch(lines[n]):
            facts = {"between": title["between"], "title": lines[n].strip()}
        elif command := _COMMAND.fullmatch(lines[n]):
            facts["command"] = command["command"]
    table = _table(lines, first, arguments, facts)
    ends = (_TITLE, _MOVED_BY)
    moved = (line for _, line in lines.below(first) if any(each.fullmatch(line) for each in ends))
    if found := _MOVED_BY.fullmatch(next(moved, "")):
        table = table._replace(facts={**table.facts, "moved": found["moved"]})
    return [table]


def _table(lines: Lines, first: int, arguments: re.Match[str], facts: dict[str, str]) -> ToolTable:
    """The table below the line with the arguments."""
    rows_said = whole(first, arguments["n"])
    loops = count(first, arguments["loops"], "a loop_count of 0")
    lacks = f"no line {_HEADING!r}"
    heading, _ = lines.next(first, _indented(_HEADING), _ROW, lacks)
    rows = lines.rows(heading, lambda n, line: _row(n, line, loops), looks=_ROW_BEGIN)
    if len(rows) != rows_said:
        lines.doubt(WrongLineError(first, f"{len(rows)} rows, where it says {rows_said}"))
    between = facts.get("between")
    initiator, responder = (
        _MEMORIES.get(arguments[name], arguments[name]) for name in ("dev1", "dev2")
    )
    variant = (("between", between),) if between is not None else ()
    configuration = settings(
        "mpi4py", "pingpong", memory=(initiator, responder), variant=variant, buffers="same",
        cache="hot", places="own",
    )  # fmt: skip
    facts = {"arguments": arguments[1], **facts}
    return ToolTable(TOOL, first, configuration, "mean", rows, warm_up=0, facts=facts)


def _indented(line: str) -> re.Pattern[str]:
    return re.compile(rf"\s*{re.escape(line)}\s*")


def _row(line: int, text: str, loops: int) -> TableRow:
    cells = _ROW.fullmatch(text)
    if cells is None:
        wrong(line, "not a row of three cells between bars")
    figures = {name: cell.strip() for name, cell in zip(_NAMES, cells.groups(), strict=True)}
    size, seconds, rate = figures.values()
    row = timed(line, None, seconds, 1e9, figures, iterations=loops)
    return row._replace(size=whole(line, size), bandwidth=_BYTES_OF_GB * number(line, rate))


# Prints.


def render(document: Document) -> str:
    """A table for each curve. Raises UsageError for a run without a ping-pong."""
    found = curves(document, TOOL, is_pingpong, "ping-pong", "-p pingpong -n 2")
    # The tool's own tables as they were printed; ours with the host's memory first, as it has them.
    found.sort(key=lambda curve: 0 if curve.source is not None else _devices(curve))
    has_titles = len(found) > 1
    return texts(_lines_of(each, has_titles) for each in found)


def _devices(curve: PrintedCurve) -> int:
    """How many of the ends are in another memory than the host's."""
    return sum(end.memory not in _DEVICES for end in curve.configuration.ends)


def _lines_of(curve: PrintedCurve, has_title: bool) -> list[str]:
    if curve.source is not None and curve.is_own:
        facts = curve.source.facts
        said = [facts["title"]] if "title" in facts else []
        said += [f"$ {facts['command']}"] if "command" in facts else []
        rows = [curve.cells(row, _NAMES) for row in curve.rows]
        moved = ["", facts["moved"]] if "moved" in facts else []
        return [*said, *_printed(curve.fact("arguments"), rows), *moved]
    rows, loops = [], set()
    for row in curve.rows:
        found = curve.measurements(row)
        seconds = curve.mean(row) / 1e9
        rate = row.configuration.size / seconds / _BYTES_OF_GB if seconds > 0 else 0.0
        rows.append([str(row.configuration.size), f"{seconds:.9f}", f"{rate:.9f}"])
        loops.add(exchanges(found))
    devices = [_DEVICES.get(end.memory, end.memory) for end in curve.configuration.ends]
    # Rows of a time, and not of a count, have their own number of iterations each: the least.
    arguments = (
        f"{{'dev1': {devices[0]!r}, 'dev2': {devices[1]!r}, 'n': {len(rows)}, "
        f"'loop_count': {min(loops)}}}"
    )
    title = f"Measured by {curve.measured_by()} with {curve.says()}::"
    return [*([title] if has_title else []), *_printed(arguments, rows)]


def _printed(arguments: str, rows: list[list[str]]) -> list[str]:
    made = [
        f"|{'|'.join(f'{cell:>{width}s}' for cell, width in zip(row, _WIDTHS, strict=True))}|"
        for row in rows
    ]
    return [arguments, _HEADING, _RULE, *made, _RULE]


FORMAT = Format("mpi4py-ve's ping-pong.py", _read, marks=("'dev1'",), begins=_ARGUMENTS_BEGIN)
