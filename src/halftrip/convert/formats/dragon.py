"""The channel benchmarks of Dragon: ch_p2p_latency, ch_p2p_msg_rate and ch_p2p_bandwidth.

Each of two nodes prints what it has seen: node i talks with node i ^ 1. The latency is elapsed time
/ (2 x iterations), after 10 iterations of warm-up, printed to 1 us; a rate is over windows, with
one reply to each, after 8 windows. What ch_p2p_bandwidth prints is bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.convert.tables import Format, Row, Table, settings
from halftrip.convert.text import Lines, last_place, number, whole, wrong
from halftrip.report.styles.dragon import BANDWIDTH, LATENCY, RATE, TOOL

_ROW = re.compile(
    # What the runtime and a line of another node may have left before it.
    r".*?((?P<node>\d+)-stdout: )?(Iterations = (?P<n>\S+) )?MsgSize = (?P<size>[^\s,]+), "
    r"(WindowSize = (?P<window>[^\s,]+), Samps = (?P<samples>[^\s,]+), )?"
    r"((?P<name>Lat|Msg/Sec|Bandwidth) = (?P<value>\S+))( seconds)?\s*"
)
_LARGEST_NODE = 10**5
_LARGEST_WINDOW = 10**6
# A program is a launch of its own.
_PROGRAMS = {"Lat": (LATENCY, 0), "Msg/Sec": (RATE, 1), "Bandwidth": (BANDWIDTH, 2)}


def _recognised(lines: Lines) -> int | None:
    return lines.first(r".*\bMsgSize = ")


def _read(lines: Lines) -> Sequence[Table]:
    first = _recognised(lines)
    if first is None:
        wrong(len(lines), "no line with MsgSize = ")
    rows = []
    for n, line in lines:
        if "MsgSize = " in line:
            found = _ROW.fullmatch(line)
            if found is None:
                wrong(n, "no line of ch_p2p_latency, ch_p2p_msg_rate or ch_p2p_bandwidth")
            rows.append(_row(n, found))
    configuration = settings(TOOL, "pingpong", ownership="transfer", places="own")
    return [Table(TOOL, first, configuration, "mean", rows)]


def _row(line: int, found: re.Match[str]) -> Row:
    node = whole(line, found["node"] or "0")
    if node > _LARGEST_NODE:
        wrong(line, f"node {node}")
    size, value = whole(line, found["size"]), number(line, found["value"])
    if not value > 0:
        wrong(line, f"{found['name']} = {found['value']}")
    program, launch = _PROGRAMS[found["name"]]
    if (program == LATENCY) != (found["n"] is not None):
        wrong(line, f"not all that {program} prints")
    count = whole(line, found["n"] or found["samples"] or "0")
    if not count:
        wrong(line, "no samples")
    pair = {"pair": (node, node ^ 1)}
    step = last_place(found["value"])
    if program == LATENCY:
        figures = {"Iterations": found["n"], "MsgSize": found["size"], "Lat": found["value"]}
        return Row(
            line, size, 1e9 * value, figures, iterations=count, launch=launch, settings=pair,
            step=1e9 * step,
        )  # fmt: skip
    names = ("MsgSize", "WindowSize", "Samps", found["name"])
    cells = (found["size"], found["window"], found["samples"], found["value"])
    window = whole(line, found["window"])
    if not 1 <= window <= _LARGEST_WINDOW:
        wrong(line, f"a window of {window}")
    ns = 1e9 / value if program == RATE else 1e9 * size / value
    return Row(
        line, size, ns, dict(zip(names, cells, strict=True)), iterations=count, launch=launch,
        step=ns * step / value,
        bandwidth=value * size if program == RATE else value,
        rate=value if program == RATE else value / size if size else None,
        settings={"pattern": "stream", "window": window, "ownership": None, "places": "unknown"}
        | pair,
    )  # fmt: skip


FORMAT = Format("Dragon's channel benchmarks", _recognised, _read)
