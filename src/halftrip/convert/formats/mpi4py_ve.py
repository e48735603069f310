"""The ping-pong of mpi4py-ve, the mpi4py of NEC's Vector Engine: one table for each call of it.

One buffer is sent and received into, and there is no warm-up. The average is elapsed time / (2 x
loops), one way, and "GB/s" is bytes / 2^30 per second. Its clock is a double of Unix seconds, whose
step was 2^-22 s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.convert.tables import Format, Row, Table, settings
from halftrip.convert.text import Lines, last_place, number, whole, wrong
from halftrip.report.styles.mpi4py_ve import HEADING, NAMES, RULE, TOOL

_ARGUMENTS = re.compile(
    r"\s*(\{'dev1': '(?P<dev1>[\w@.:-]{2,80})', 'dev2': '(?P<dev2>[\w@.:-]{2,80})', "
    r"'n': (?P<n>\d+), "
    r"'loop_count': (?P<loops>\d+)\})\s*"
)
_TITLE = re.compile(r"\s*(Issuing .* between|Measured by .+? with) (?P<between>.+?)::\s*")
_COMMAND = re.compile(r"\s*\$ (?P<command>.*\S)\s*")
# Said below some tables of devices: memory copy within one, DMA between two.
_MOVED_BY = re.compile(r"\s*(?P<moved>Data transfer is performed with .*\S)\s*")
_ROW = re.compile(r"\s*\|([^|]*)\|([^|]*)\|([^|]*)\|\s*")
# The vector host's memory is that of an ordinary host; other devices have halftrip's names.
_MEMORIES = {"vh": "host"}
_BYTES_OF_GB = float(1 << 30)


def _recognised(lines: Lines) -> int | None:
    return lines.first(r"\s*\{'dev1': ")


def _read(lines: Lines) -> Sequence[Table]:
    facts: dict[str, str] = {}
    tables: list[Table] = []
    n = 0
    while (n := n + 1) <= len(lines):
        line = lines[n]
        if title := _TITLE.fullmatch(line):
            facts = {"between": title["between"], "title": line.strip()}
        elif command := _COMMAND.fullmatch(line):
            facts["command"] = command["command"]
        elif _ARGUMENTS.fullmatch(line):
            tables.append(_table(lines, n, facts))
            facts = {}
            # Behind its heading, its rows and its three rules.
            n += len(tables[-1].rows) + 3
        elif (moved := _MOVED_BY.fullmatch(line)) and tables:
            last = tables.pop()
            tables.append(last._replace(facts={**last.facts, "moved": moved["moved"]}))
        elif line.lstrip().startswith("{'dev1'"):
            wrong(n, "no arguments of ping-pong.py that are known")
        elif _ROW.fullmatch(line):
            wrong(n, "a row without the arguments and the heading above it")
    if len(tables) > 1 and len({table.configuration.variant for table in tables}) < len(tables):
        wrong(tables[1].line, "a second table, and no text that says what tells it from the first")
    return tables


def _table(lines: Lines, first: int, facts: dict[str, str]) -> Table:
    """The table below the line with the arguments."""
    arguments = _ARGUMENTS.fullmatch(lines[first])
    assert arguments is not None
    count, loops = whole(first, arguments["n"]), whole(first, arguments["loops"])
    if not loops:
        wrong(first, "a loop_count of 0")
    for place, said in enumerate((HEADING, RULE), 1):
        if first + place > len(lines) or lines[first + place].strip() != said:
            wrong(min(first + place, len(lines)), f"not the line {said!r}")
    rows: list[Row] = []
    for n in range(first + 3, first + 3 + count):
        if n > len(lines):
            wrong(len(lines), f"it ends after {len(rows)} of {count} rows")
        rows.append(_row(n, lines[n], loops))
    end = first + 3 + count
    if end > len(lines) or lines[end].strip() != RULE:
        wrong(min(end, len(lines)), f"the rule that ends {count} rows is not there")
    between = facts.get("between")
    initiator, responder = (
        _MEMORIES.get(arguments[name], arguments[name]) for name in ("dev1", "dev2")
    )
    memory = (initiator, responder)
    variant = (("between", between),) if between is not None else ()
    configuration = settings(
        "mpi4py", "pingpong", memory=memory, variant=variant, buffers="same", cache="hot",
        places="own",
    )  # fmt: skip
    facts = {"arguments": arguments[1], **facts}
    return Table(TOOL, first, configuration, "mean", rows, warm_up=0, facts=facts)


def _row(line: int, text: str, loops: int) -> Row:
    cells = _ROW.fullmatch(text)
    if cells is None:
        wrong(line, "not a row of three cells between bars")
    figures = {name: cell.strip() for name, cell in zip(NAMES, cells.groups(), strict=True)}
    size, seconds, rate = figures.values()
    time = number(line, seconds)
    if not time > 0:
        wrong(line, "a message that took no time")
    return Row(
        line, whole(line, size), 1e9 * time, figures, iterations=loops,
        step=1e9 * last_place(seconds), bandwidth=_BYTES_OF_GB * number(line, rate),
    )  # fmt: skip


FORMAT = Format("mpi4py-ve's ping-pong.py", _recognised, _read)
