"""qperf: several tests in one text, each with its name and figures below it.

A latency is that of a message one way, as its message rate shows, which counts both directions. So
does a bandwidth of both ways (rc_bi_bw, uc_bi_bw), of which a row has half. KB, MB and GB are
powers of 1000, KiB and MiB of 1024. The size is printed with -vu; else it is not known, and a
bandwidth has its message rate beside it (-vvs) or stands alone. Sizes of a loop (-oo msg_size)
ascend.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.results.patterns import Pattern
from halftrip.tools.lines import Lines, WrongLineError, last_place, positive, quoted, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, by_bandwidth, loops, settings

TOOL = "qperf"
_TEST = re.compile(r"(?P<name>[a-z][a-z0-9_]{0,40}_(lat|bw)|conf):\s*", re.ASCII)
_FIGURE = re.compile(r"\s+(?P<name>[a-z_]+)\s+=\s+(?P<value>\S.*?)\s*")
_TIMES = {"ns": 1.0, "us": 1e3, "ms": 1e6, "sec": 1e9}
_RATES = {"bytes/sec": 1.0, "KB/sec": 1e3, "MB/sec": 1e6, "GB/sec": 1e9, "TB/sec": 1e12}
_MESSAGES = {"/sec": 1.0, "K/sec": 1e3, "M/sec": 1e6, "G/sec": 1e9}
_SIZE = re.compile(r"(?P<size>\d+) bytes|\S+ [KMG]iB \((?P<exact>[\d,]+)\)", re.ASCII)
_RESULTS = ("latency", "bw", "recv_bw", "send_bw")
_BOTH_WAYS = "_bi_"
_HOSTS = ("loc_node", "rem_node")
_Figures = dict[str, tuple[int, str]]


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    tests: list[tuple[int, str, _Figures]] = []
    for n, line in lines.below(first - 1):
        if found := _TEST.fullmatch(line):
            tests.append((n, found["name"], {}))
        elif tests and (figure := _FIGURE.fullmatch(line)):
            # What is said twice, and a result behind settings, is of a test whose name is lost.
            value, said = (n, figure["value"]), tests[-1][2]
            if figure["name"] in said or (
                figure["name"] in _RESULTS and said.keys() & {"msg_size", "time"}
            ):
                tests.append((n, "", said := {}))
            said[figure["name"]] = value
        elif "failed" in line and tests:
            lines.doubt(WrongLineError(n, "qperf has failed, as it says here"))
    conf = next((figures for _, name, figures in tests if name == "conf"), {})
    hosts = [conf[name][1] for name in _HOSTS if name in conf]
    version = conf["loc_qperf"][1] if "loc_qperf" in conf else None
    rows_of: dict[str, list[TableRow]] = {}
    for at, name, figures in tests:
        if name == "conf" or not figures:
            continue
        try:
            row = _row(at, name, figures)
        except WrongLineError as error:
            lines.doubt(error)
            continue
        rows_of.setdefault(name, []).append(row)
    return [
        ToolTable(
            TOOL, rows[0].line,
            settings(
                name.partition("_")[0], _pattern(name),
                variant=(("test", name),),
            ),
            "mean", rows, version=version, hosts=hosts if len(hosts) == 2 else [],
        )
        for name, of_name in rows_of.items()
        for rows in loops(lines, of_name)
    ]  # fmt: skip


def _pattern(name: str) -> Pattern:
    if name.endswith("_lat"):
        return "pingpong"
    return "bidirectional" if _BOTH_WAYS in name else "stream"


def _row(line: int, name: str, figures: _Figures) -> TableRow:
    if not name:
        wrong(line, "figures without the name of their test")
    cells = {key: cell for key, (_, cell) in figures.items()}
    if ("latency" in figures) != name.endswith("_lat"):
        wrong(line, f"not the figures of {name}: lines are lost")
    size = _size(figures)
    if name.endswith("_lat"):
        at, value, step = _cell(line, figures, ("latency",), _TIMES)
        return TableRow(at, size, value, cells, step=step)
    # What arrived, where it says both.
    at, value, step = _cell(line, figures, ("recv_bw", "bw"), _RATES)
    ways = 2 if _BOTH_WAYS in name else 1
    value, step = value / ways, step / ways
    if size is not None or "msg_rate" not in figures:
        return by_bandwidth(at, size, value, step, cells)
    # How many messages there were, whatever size they had.
    _, rate, step = _cell(line, figures, ("msg_rate",), _MESSAGES)
    rate, step = rate / ways, step / ways
    return TableRow(
        at, None, 1e9 / rate, cells, step=1e9 * step / rate**2, bandwidth=value, rate=rate
    )


def _size(figures: _Figures) -> int | None:
    if "msg_size" not in figures:
        return None
    line, cell = figures["msg_size"]
    found = _SIZE.fullmatch(cell)
    if found is None:
        wrong(line, f"{quoted(cell)} is no size of a message")
    return whole(line, found["size"] or found["exact"].replace(",", ""))


def _cell(
    line: int, figures: _Figures, names: Sequence[str], units: dict[str, float]
) -> tuple[int, float, float]:
    """The first of these figures that is there: its line, value, and the unit of its last digit."""
    for name in names:
        if name in figures:
            at, cell = figures[name]
            text, _, unit = cell.partition(" ")
            if unit not in units:
                wrong(at, f"{quoted(cell)} is in none of {', '.join(units)}")
            value = units[unit] * positive(at, text, f"{name} of 0")
            return at, value, units[unit] * last_place(text)
    return wrong(line, f"no {' or '.join(names)} below it: cut off, or not finished")


FORMAT = Format(
    "qperf", _read, marks=("_lat:", "_bw:", "^conf:"), begins=re.compile(f"{_TEST.pattern}$"),
    joined=True,
)  # fmt: skip
