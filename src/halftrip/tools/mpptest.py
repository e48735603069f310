"""mpptest, the ping-pong of MPICH: its data, for C.It (the default) or in a file for gnuplot.

"ave time (us)" is one way, half of the mean round trip of the best of several repetitions; "rate",
in bytes per second, is made of it. The title names the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.results.reported import Spread, Variant
from halftrip.tools.lines import Lines, number, quoted, whole, wrong
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    settings,
    spreads,
    timed,
)

TOOL = "mpptest"
_HEADING = re.compile(r"#p0\s+p1\s+dist\s+len\s+ave time \(us\)\s+rate\s*")
_TYPE = re.compile(r".*\btype\s*=?\s*'?(?P<type>[\w-]+)['\"]?.*")
_NAMES = ("p0", "p1", "dist", "len", "ave time (us)", "rate")
_MORE: dict[str, Spread] = {"min": "min", "max": "max"}
# The protocols that are read: in all of them a reply is sent after its message has arrived.
_PROTOCOLS = ("blocking", "nonblocking", "persistent")
_LARGEST_RANK = 10**6


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    protocol = _protocol(lines, first)
    rows = lines.rows(first, _row, decimals=True)
    configuration = settings("mpi", "pingpong", variant=protocol, places="own")
    facts = {"heading": lines[first].strip()}
    return [ToolTable(TOOL, first, configuration, "mean", rows, facts=facts)]


def _protocol(lines: Lines, heading: int) -> Variant:
    """What the title says of the protocol: a variant, but for blocking, which is the usual one."""
    found = lines.last(_TYPE, heading)
    if found is not None:
        said = found["type"]
        if said not in _PROTOCOLS:
            wrong(heading, f"type {quoted(said)} is not read here: {', '.join(_PROTOCOLS)} are")
        return () if said == "blocking" else (("protocol", said),)
    return ()


def _row(line: int, text: str) -> TableRow:
    cells = text.split()
    if len(cells) not in (len(_NAMES), len(_NAMES) + len(_MORE)):
        wrong(line, f"{len(cells)} figures below {len(_NAMES)} columns")
    # With -givedy, the mean is in the fifth column, and the least and the most behind the rate.
    figures = dict(zip((*_NAMES, *_MORE), cells, strict=False))
    pair = whole(line, figures["p0"]), whole(line, figures["p1"])
    if max(pair) >= _LARGEST_RANK or pair[0] == pair[1]:
        wrong(line, f"ranks {pair[0]} and {pair[1]}")
    number(line, figures["dist"])
    size, time = whole(line, figures["len"]), figures["ave time (us)"]
    row = timed(line, size, time, 1e3, figures, settings={"pair": pair})
    number(line, figures["rate"])
    return row._replace(spread=spreads(line, figures, _MORE))


FORMAT = Format("mpptest", _read, marks=(r"ave time \(us\)",), begins=_HEADING)
