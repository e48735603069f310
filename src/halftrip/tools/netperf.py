"""netperf: the classic text of TCP_RR, UDP_RR and the STREAM tests, and what is selected of the
omni output with -o (CSV), -O (columns, below four lines of names) or -k (keys).

A transaction is a request and its response: its latency and all others are halved. Where only the
rate of transactions is printed, a message takes half of its inverse. A request and its response
must have one size, as else neither has a time of its own. A burst has several transactions at once
and is refused, and so are tests that connect for each. The time of a stream is that of a message at
the bandwidth that has arrived where netperf says it; latencies are those of calls then, and stay
figures. KBytes are 2^10 bytes, MBytes 2^20 and GBytes 2^30.

-o, -O and -k print what their user has selected. Where nothing says which kind of test it is,
figures of latency are read as those of transactions, as they are of use there; a throughput beside
the mean latency must then be its inverse. A throughput of a stream without a unit is not read. A
size that is not selected is unknown. The message size of a stream is that of the calls which send.
Several rows of -o are those of one call each (-P 0), which nothing but a result tag (-B) tells
apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.results.configuration import UNKNOWN
from halftrip.results.reported import StatedInterval, Statistic
from halftrip.tools import netperf_text
from halftrip.tools.lines import (
    Lines,
    last_place,
    number,
    positive,
    quoted,
    whole,
    wrong,
)
from halftrip.tools.netperf_text import (
    BANNER,
    INVERSE,
    LATENCIES,
    NUMBERS,
    SPREADS,
    TIMES,
    TRANSACTIONS,
    UNITS,
    Said,
)
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    by_bandwidth,
    by_rate,
    settings,
    spreads,
)

TOOL = "netperf"
_BURST = re.compile(r".*: first burst (?P<burst>\d+)\b")
# netperf prints two decimals of them, or three.
_WITH_DECIMALS = (
    "MEAN_LATENCY", "RT_LATENCY", "TRANSACTION_RATE", "THROUGHPUT", "REMOTE_RECV_THROUGHPUT",
)  # fmt: skip
_TESTS = {"REQUEST/RESPONSE": "RR", "STREAM": "STREAM", "MAERTS": "MAERTS"}
_DIRECTIONS = {"SEND": "STREAM", "RECV": "MAERTS"}
_PEER = re.compile(r".* to (?P<peer>\S+) \(")
_LEVEL = re.compile(r" @ (\d+)% conf\.")


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    banner = BANNER.fullmatch(lines[first])
    burst = _BURST.match(lines[first]) if banner else None
    for n, line in lines.below(first):
        if line.startswith("netperf: ") or "send_omni: " in line:
            wrong(n, "netperf has failed, as it says here")
    found = netperf_text.said(lines, first)
    if not found:
        wrong(first, "it ends before a result that is read here: classic text, -o, -O or -k")
    for each in found:
        at, in_flight = first, whole(first, burst["burst"]) if burst else 0
        if "BURST_SIZE" in each.values and each.of("BURST_SIZE") != "-1":
            at, in_flight = each.line, whole(*each.values["BURST_SIZE"])
        if in_flight:
            wrong(at, f"a burst of {in_flight}: several transactions are on their way at once")
    return [_table(each, banner) for each in found]


def _table(said: Said, banner: re.Match[str] | None) -> ToolTable:
    for key in sorted(NUMBERS & said.values.keys()):
        number(*said.values[key], where=f"{key} ")
        if key in _WITH_DECIMALS and last_place(said.of(key)) > 0.01:
            wrong(said.values[key][0], f"{key} has lost its decimals")
    protocol = said.of("PROTOCOL") or (banner["protocol"] if banner else "")
    protocol = "" if protocol == "OMNI" else protocol.lower()
    kind = _kind(said, banner)
    size = _size(said, kind)
    statistic: Statistic = "mean"
    if kind == "RR":
        row, statistic = _transactions(said, size)
    else:
        row = _stream(said, size)
    # The time is the inverse of the throughput.
    others = "MEAN_LATENCY" if kind == "RR" else "REMOTE_RECV_THROUGHPUT"
    if statistic == "mean" and others not in said.values:
        row = row._replace(interval=_interval(said, banner, row.ns))
    test = f"{protocol.upper()}_{kind}" if protocol else UNKNOWN
    tag = said.of("RESULT_BRAND").strip()
    variant = (*((("result tag", tag),) if tag else ()), ("test", test))
    pattern = settings(
        protocol or UNKNOWN, "pingpong" if kind == "RR" else "stream", variant=variant
    )
    named = _PEER.match(banner.string) if banner else None
    peer = named["peer"] if named else ""
    return ToolTable(TOOL, said.line, pattern, statistic, [row], peer=peer)


def _interval(said: Said, banner: re.Match[str] | None, ns: float) -> StatedInterval | None:
    """That of a time, ns, by the mean throughput of several iterations (-I): the whole width of its
    interval is said as a share, in per cent; -1 where there is none."""
    line, cell = said.values.get("THROUGHPUT_CONFID", (0, "-1"))
    found = _LEVEL.search(banner.string) if banner else None
    level = said.of("CONFIDENCE_LEVEL") or (found[1] if found else "")
    if cell.startswith("-") or not level:
        return None
    half, share = number(line, cell) / 200, number(line, level) / 100
    if not 0 < half < 1 or not 0 < share < 1:
        wrong(line, f"no interval: {cell} % wide at {level} %")
    return StatedInterval(low=ns / (1 + half), high=ns / (1 - half), level=share, of="mean")


def _kind(said: Said, banner: re.Match[str] | None) -> str:
    """``RR``, ``STREAM`` or ``MAERTS``, which is a stream from the remote."""
    test = banner["test"].upper() if banner else ""
    direction = said.of("DIRECTION").upper()
    if "CONN" in test or "CONN" in direction:
        wrong(said.line, "each of its transactions connects, which is no message alone")
    if banner and banner["protocol"] != "OMNI":
        if test not in _TESTS:
            wrong(said.line, f"{quoted(test)} is not read here: {', '.join(_TESTS)} are")
        return _TESTS[test]
    # The title of an omni test is its direction.
    direction = direction or test
    return _DIRECTIONS.get(direction, "RR") if direction else _kind_by_figures(said)


def _kind_by_figures(said: Said) -> str:
    unit = _unit(said)
    if unit == TRANSACTIONS or "TRANSACTION_RATE" in said.values:
        return "RR"
    if unit:
        return "STREAM"
    if not any(key in said.values for key in LATENCIES):
        wrong(said.line, "it says neither THROUGHPUT_UNITS nor which test it is")
    if "THROUGHPUT" in said.values and "MEAN_LATENCY" in said.values:
        share = float(said.of("THROUGHPUT")) * float(said.of("MEAN_LATENCY")) / 1e6
        if not abs(share - 1) <= INVERSE:
            wrong(said.line, "its throughput may be of bits or transactions: add THROUGHPUT_UNITS")
    return "RR"


def _unit(said: Said) -> str:
    return said.of("THROUGHPUT_UNITS").partition("/")[0].strip()


def _size(said: Said, kind: str) -> int | None:
    """The size of a message; None where it is not said."""
    if kind != "RR":
        key = "LOCAL_SEND_SIZE" if kind == "STREAM" else "REMOTE_SEND_SIZE"
        # The classic text has the size that is sent, wherever that is.
        key = key if key in said.values else "LOCAL_SEND_SIZE"
        return whole(*said.values[key]) if key in said.values else None
    found = [
        whole(*said.values[key]) for key in ("REQUEST_SIZE", "RESPONSE_SIZE") if key in said.values
    ]
    if len(set(found)) > 1:
        wrong(said.line, f"a request of {found[0]} and a response of {found[1]} bytes: two sizes")
    return found[0] if found else None


def _transactions(said: Said, size: int | None) -> tuple[TableRow, Statistic]:
    unit = _unit(said)
    for key in TIMES:
        if key not in said.values or (key == "THROUGHPUT" and unit not in ("", TRANSACTIONS)):
            continue
        line, cell = said.values[key]
        value = positive(line, cell, f"{key} of 0")
        is_rate = key in ("TRANSACTION_RATE", "THROUGHPUT")
        ns = 1e9 / value / 2 if is_rate else 1e3 * value / 2
        cells = {key: said.of(key) for key in said.values}
        spread = spreads(said.line, cells, SPREADS, 1e3 / 2)
        row = by_rate(said.line, size, ns, cell, said.figures, spread=spread)
        return row, "median" if key == "P50_LATENCY" else "mean"
    return wrong(said.line, f"none of {', '.join(TIMES)}: select one")


def _stream(said: Said, size: int | None) -> TableRow:
    keys = ("REMOTE_RECV_THROUGHPUT", "THROUGHPUT")
    key = next((key for key in keys if key in said.values), None)
    if key is None:
        wrong(said.line, "no THROUGHPUT of a stream: select it")
    line, cell = said.values[key]
    unit = _unit(said)
    if not unit:
        wrong(line, f"{key} in a unit that is not said: select THROUGHPUT_UNITS, too")
    if unit not in UNITS:
        wrong(line, f"a throughput in {quoted(unit)}")
    bandwidth = UNITS[unit] * positive(line, cell, f"{key} of 0")
    step = UNITS[unit] * last_place(cell)
    return by_bandwidth(said.line, size, bandwidth, step, said.figures)


FORMAT = Format(
    "netperf", _read, begins=BANNER,
    heading=netperf_text.HEADING,
    marks=(
        " TEST ", "(?:secs|per sec)", "_LATENCY=", "THROUGHPUT", "TRANSACTION_RATE=",
        "(?:REQUEST|RESPONSE)_SIZE=", "ELAPSED_TIME=", "DIRECTION=", " Latency ", "Throughput",
        "Transaction Rate", "Elapsed Time",
    ),
)  # fmt: skip
