"""netperf: the classic text of TCP_RR, UDP_RR and the STREAM tests, and what is selected of the
omni output with -o (CSV) or -k (keys). The columns of -O are not read.

A transaction is a request and its response: its latency and all others are halved. Where only the
rate of transactions is printed, a message takes half of its inverse. A request and its response
must have one size, as else neither has a time of its own. A burst has several transactions at once
and is refused, and so are tests that connect for each. The time of a stream is that of a message at
the bandwidth that has arrived where netperf says it; latencies are those of calls then, and stay
figures. KBytes are 2^10 bytes, MBytes 2^20 and GBytes 2^30.

-o and -k print what their user has selected. Where nothing says which kind of test it is, figures
of latency are read as those of transactions, as they are of use there; a throughput beside the mean
latency must then be its inverse. A size that is not selected is 0 in a request/response test, and
a stream without one is refused. The message size of a stream is that of the calls which send.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.results.configuration import UNKNOWN
from halftrip.results.reported import Spread, StatedInterval, Statistic
from halftrip.tools.lines import (
    Lines,
    WrongLineError,
    last_place,
    number,
    positive,
    quoted,
    whole,
    wrong,
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
_BANNER = re.compile(
    r"(?:MIGRATED )?(?P<protocol>[A-Z]{2,5}) (?P<test>[A-Za-z|/ ]{4,60}) TEST (?:from|to) .*"
)
_BURST = re.compile(r".*: first burst (?P<burst>\d+)\b")
_UNIT = r"(?P<unit>10\^[369]bits|[KMG]?Bytes) */s(?:ec)?"
# The last line of a heading, the columns below it, and those that -c and -C add.
_CLASSIC = (
    (
        re.compile(r"bytes +[Bb]ytes +bytes +bytes +secs\. +per sec\b.*"),
        ("Send Socket Size", "Recv Socket Size", "REQUEST_SIZE", "RESPONSE_SIZE", "ELAPSED_TIME",
         "TRANSACTION_RATE"),
    ),
    (
        re.compile(rf"bytes +bytes +bytes +secs\. +{_UNIT}.*"),
        ("Recv Socket Size", "Send Socket Size", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT"),
    ),
    (
        re.compile(rf"bytes +bytes +secs +# +# +{_UNIT}.*"),
        ("Socket Size", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "Messages Okay", "Messages Errors",
         "THROUGHPUT"),
    ),
)  # fmt: skip
_ARRIVED = ("Remote Socket Size", "Remote Elapsed Time", "Remote Messages Okay",
            "REMOTE_RECV_THROUGHPUT")  # fmt: skip
_LOAD = ("CPU local", "CPU remote", "Service Demand local", "Service Demand remote")
_NOT_MEASURED = "-1.00"
# The names of -o, by those of -k.
_NAMES = {
    "THROUGHPUT": "Throughput",
    "THROUGHPUT_UNITS": "Throughput Units",
    "REMOTE_RECV_THROUGHPUT": "Remote Recv Throughput",
    "TRANSACTION_RATE": "Transaction Rate Tran/s",
    "RT_LATENCY": "Round Trip Latency usec/tran",
    "MIN_LATENCY": "Minimum Latency Microseconds",
    "MAX_LATENCY": "Maximum Latency Microseconds",
    "P50_LATENCY": "50th Percentile Latency Microseconds",
    "P90_LATENCY": "90th Percentile Latency Microseconds",
    "P99_LATENCY": "99th Percentile Latency Microseconds",
    "MEAN_LATENCY": "Mean Latency Microseconds",
    "STDDEV_LATENCY": "Stddev Latency Microseconds",
    "REQUEST_SIZE": "Request Size Bytes",
    "RESPONSE_SIZE": "Response Size Bytes",
    "BURST_SIZE": "Initial Burst Requests",
    "LOCAL_SEND_SIZE": "Local Send Size",
    "REMOTE_SEND_SIZE": "Remote Send Size",
    "ELAPSED_TIME": "Elapsed Time (sec)",
    "CONFIDENCE_LEVEL": "Confidence Level Percent",
    "THROUGHPUT_CONFID": "Throughput Confidence Width (%)",
    "PROTOCOL": "Protocol",
    "DIRECTION": "Direction",
}
_KEYS = {name: key for key, name in _NAMES.items()}
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{2,60})=(?P<value>.*?)\s*")
_SPREADS: dict[str, Spread] = {
    "MIN_LATENCY": "min", "P50_LATENCY": "p50", "P90_LATENCY": "p90", "P99_LATENCY": "p99",
    "MAX_LATENCY": "max", "STDDEV_LATENCY": "stddev",
}  # fmt: skip
_TIMES = ("MEAN_LATENCY", "RT_LATENCY", "TRANSACTION_RATE", "THROUGHPUT", "P50_LATENCY")
_LATENCIES = ("MEAN_LATENCY", "RT_LATENCY", *_SPREADS)
_NUMBERS = {*_TIMES, *_SPREADS, "REMOTE_RECV_THROUGHPUT", "ELAPSED_TIME"}
# A line of -k with one of these is netperf's, and so is a heading of -o with one of their names.
_OWN = (*_LATENCIES, "TRANSACTION_RATE", "THROUGHPUT_UNITS", "THROUGHPUT", "ELAPSED_TIME")
_OWN_KEY = re.compile(rf"({'|'.join((*_OWN, 'REQUEST_SIZE', 'RESPONSE_SIZE', 'DIRECTION'))})=")
_SELECTED = re.compile(
    rf"(?:[^,]+,)*(?:{'|'.join(re.escape(_NAMES[key]) for key in _OWN)})(?:,[^,]+)*\s*"
)
_FIGURES = re.compile(r"\s*[-+.\"]?\d\S*(?:\s+[-+.]?\d\S*)*\s*")
_NEXT_TEST = re.compile(_BANNER.pattern)
# netperf prints two decimals of them, or three.
_WITH_DECIMALS = (
    "MEAN_LATENCY", "RT_LATENCY", "TRANSACTION_RATE", "THROUGHPUT", "REMOTE_RECV_THROUGHPUT",
)  # fmt: skip
_UNITS = {
    "10^3bits": 125.0, "10^6bits": 1.25e5, "10^9bits": 1.25e8, "Bytes": 1.0,
    "KBytes": float(1 << 10), "MBytes": float(1 << 20), "GBytes": float(1 << 30),
}  # fmt: skip
_TRANSACTIONS = "Trans"
_TESTS = {"REQUEST/RESPONSE": "RR", "STREAM": "STREAM", "MAERTS": "MAERTS"}
_DIRECTIONS = {"SEND": "STREAM", "RECV": "MAERTS"}
_LEVEL = re.compile(r" @ (\d+)% conf\.")
# Of the classic text: what was asked for; where that was not reached, a warning says what was.
_ASKED = re.compile(r" \+/-(?P<half>\d+\.\d+)% @ ")
_REACHED = re.compile(r"!!! Confidence intervals: Throughput +: *(?P<width>\d+\.\d+)%\s*")
# How far a rate and the mean latency may be from each other's inverse.
_INVERSE = 0.1


class _Said(NamedTuple):
    """What a text says: its figures by the keys of -k and their lines, the cells as they were
    printed, and the line of the row."""

    line: int
    values: dict[str, tuple[int, str]]
    figures: dict[str, str]

    def of(self, key: str) -> str:
        return self.values[key][1] if key in self.values else ""


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    banner = _BANNER.fullmatch(lines[first])
    burst = _BURST.match(lines[first]) if banner else None
    for n, line in lines.below(first):
        if line.startswith("netperf: ") or "send_omni: " in line:
            wrong(n, "netperf has failed, as it says here")
    said = _classic(lines, first) or _selected(lines, first) or _keys(lines, first)
    if said is None:
        wrong(first, "it ends before a result that is read here: classic text, -o or -k")
    at, in_flight = first, whole(first, burst["burst"]) if burst else 0
    if "BURST_SIZE" in said.values and said.of("BURST_SIZE") != "-1":
        at, in_flight = said.line, whole(*said.values["BURST_SIZE"])
    if in_flight:
        wrong(at, f"a burst of {in_flight}: several transactions are on their way at once")
    return [_table(said, banner)]


# The layouts.


def _classic(lines: Lines, first: int) -> _Said | None:
    found = [
        (n, match, columns)
        for n, line in lines.below(first - 1)
        for heading, columns in _CLASSIC
        if (match := heading.fullmatch(line))
    ]
    if not found:
        return None
    at, match, names = found[0]
    n = _next(lines, at)
    cells = _cells(lines, n, names)
    values = {name: (n, cell) for name, cell in cells.items()}
    unit = match.groupdict().get("unit")
    values["THROUGHPUT_UNITS"] = at, f"{unit or _TRANSACTIONS}/s"
    if width := _width(lines, first, at):
        values["THROUGHPUT_CONFID"] = width
    if "Messages Okay" in names:
        n = _next(lines, n)
        arrived = _cells(lines, n, _ARRIVED)
        lasted = [float(each) for each in (cells["ELAPSED_TIME"], arrived["Remote Elapsed Time"])]
        came = float(arrived["Remote Messages Okay"]) * float(cells["LOCAL_SEND_SIZE"])
        told = _UNITS[unit or "Bytes"] * float(arrived["REMOTE_RECV_THROUGHPUT"]) * lasted[1]
        if abs(came - told) > _INVERSE * came:
            wrong(n, "its messages, time and throughput do not fit each other")
        if abs(lasted[0] - lasted[1]) > _INVERSE * lasted[0]:
            wrong(n, f"it lasted {lasted[0]:g} s, and {lasted[1]:g} s at the other end")
        values.update({name: (n, cell) for name, cell in arrived.items()})
        cells |= arrived
    return _Said(n, values, cells)


def _width(lines: Lines, first: int, heading: int) -> tuple[int, str] | None:
    """The whole width of the interval of the throughput, per cent of it, behind its line."""
    for n, found in lines.matches(_REACHED, heading, first):
        return n, found["width"]
    asked = _ASKED.search(lines[first])
    if asked is None or any(lines[n].startswith("!!!") for n in range(first, heading)):
        return None
    return first, repr(2 * float(asked["half"]))


def _next(lines: Lines, at: int) -> int:
    """The number of the next line that begins with a figure."""
    lacks = "it ends before the figures: netperf was interrupted"
    return lines.next(at, _FIGURES, _NEXT_TEST, lacks)[0]


def _cells(lines: Lines, line: int, names: Sequence[str]) -> dict[str, str]:
    """The cells of a row of the classic text; the last of them are of the processors, if any."""
    cells = lines[line].split()
    more = len(cells) - len(names)
    if more not in (0, 2, 4):
        wrong(line, f"{len(cells)} figures below {len(names)} columns")
    for n, cell in enumerate(cells):
        if n < len(names) or cell != _NOT_MEASURED:
            number(line, cell)
    return dict(zip((*names, *_LOAD[:more]), cells, strict=True))


def _selected(lines: Lines, first: int) -> _Said | None:
    at = next((n for n, line in lines.below(first - 1) if _SELECTED.fullmatch(line)), None)
    if at is None:
        return None
    names = lines[at].rstrip().split(",")
    n = _next(lines, at)
    try:
        (cells,) = csv.reader([lines[n].rstrip()], strict=True)
    except csv.Error as error:
        wrong(n, f"no CSV: {error}")
    if len(cells) != len(names) or len(set(names)) != len(names):
        wrong(n, f"{len(cells)} figures below {len(set(names))} names")
    for more, line in lines.below(n):
        if _FIGURES.match(line) and line.count(",") == len(names) - 1:
            lines.doubt(WrongLineError(more, "a second row below one heading"))
    figures = dict(zip(names, cells, strict=True))
    return _Said(n, {_KEYS.get(name, name): (n, cell) for name, cell in figures.items()}, figures)


def _keys(lines: Lines, first: int) -> _Said | None:
    """The keys from that line down to where one is there again, and those right above it."""
    values: dict[str, tuple[int, str]] = {}
    last = first
    for n, line in lines.below(first - 1):
        if found := _KEY.fullmatch(line):
            if values.get(found["key"], (0, found["value"]))[1] != found["value"]:
                break
            last = n
            values[found["key"]] = n, found["value"]
    for n in range(first - 1, 0, -1):
        found = _KEY.fullmatch(lines[n])
        if found is None or found["key"] in values:
            break
        values[found["key"]] = n, found["value"]
    if not values:
        return None
    return _Said(last, values, {key: value for key, (_, value) in values.items()})


# All of them.


def _table(said: _Said, banner: re.Match[str] | None) -> ToolTable:
    for key in sorted(_NUMBERS & said.values.keys()):
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
    pattern = settings(
        protocol or UNKNOWN, "pingpong" if kind == "RR" else "stream", variant=(("test", test),)
    )
    return ToolTable(TOOL, said.line, pattern, statistic, [row])


def _interval(said: _Said, banner: re.Match[str] | None, ns: float) -> StatedInterval | None:
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


def _kind(said: _Said, banner: re.Match[str] | None) -> str:
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


def _kind_by_figures(said: _Said) -> str:
    unit = _unit(said)
    if unit == _TRANSACTIONS or "TRANSACTION_RATE" in said.values:
        return "RR"
    if unit:
        return "STREAM"
    if not any(key in said.values for key in _LATENCIES):
        wrong(said.line, "it says neither THROUGHPUT_UNITS nor which test it is")
    if "THROUGHPUT" in said.values and "MEAN_LATENCY" in said.values:
        share = float(said.of("THROUGHPUT")) * float(said.of("MEAN_LATENCY")) / 1e6
        if not abs(share - 1) <= _INVERSE:
            wrong(said.line, "its throughput may be of bits or transactions: add THROUGHPUT_UNITS")
    return "RR"


def _unit(said: _Said) -> str:
    return said.of("THROUGHPUT_UNITS").partition("/")[0].strip()


def _size(said: _Said, kind: str) -> int | None:
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


def _transactions(said: _Said, size: int | None) -> tuple[TableRow, Statistic]:
    unit = _unit(said)
    for key in _TIMES:
        if key not in said.values or (key == "THROUGHPUT" and unit not in ("", _TRANSACTIONS)):
            continue
        line, cell = said.values[key]
        value = positive(line, cell, f"{key} of 0")
        is_rate = key in ("TRANSACTION_RATE", "THROUGHPUT")
        ns = 1e9 / value / 2 if is_rate else 1e3 * value / 2
        cells = {key: said.of(key) for key in said.values}
        spread = spreads(said.line, cells, _SPREADS, 1e3 / 2)
        row = by_rate(said.line, size, ns, cell, said.figures, spread=spread)
        return row, "median" if key == "P50_LATENCY" else "mean"
    return wrong(said.line, f"none of {', '.join(_TIMES)}: select one")


def _stream(said: _Said, size: int | None) -> TableRow:
    keys = ("REMOTE_RECV_THROUGHPUT", "THROUGHPUT")
    key = next((key for key in keys if key in said.values), None)
    if key is None:
        wrong(said.line, "no THROUGHPUT of a stream: select it")
    line, cell = said.values[key]
    unit = _unit(said) or "10^6bits"
    if unit not in _UNITS:
        wrong(line, f"a throughput in {quoted(unit)}")
    bandwidth = _UNITS[unit] * positive(line, cell, f"{key} of 0")
    if not size:
        wrong(line, f"{key} without LOCAL_SEND_SIZE says nothing of a message: select both")
    step = _UNITS[unit] * last_place(cell)
    return by_bandwidth(said.line, size, bandwidth, step, said.figures)


_BY_LAYOUT = "|".join(
    (*(f"{each.pattern.replace('?P<unit>', '')}$" for each, _ in _CLASSIC), f"{_SELECTED.pattern}$")
)
FORMAT = Format(
    "netperf", _read, begins=_BANNER,
    heading=re.compile(f"{_OWN_KEY.pattern}|(?=(?:{_BY_LAYOUT}))"),
    marks=(
        " TEST ", "(?:secs|per sec)", "_LATENCY=", "THROUGHPUT", "TRANSACTION_RATE=",
        "(?:REQUEST|RESPONSE)_SIZE=", "ELAPSED_TIME=", "DIRECTION=", " Latency ", "Throughput",
        "Transaction Rate", "Elapsed Time",
    ),
)  # fmt: skip
