"""perftest (linux-rdma): ib_send_lat, ib_write_lat, ib_read_lat and the same with _bw.

It prints half round trips of send and write, which answer each other, and the whole time of a read,
which is one exchange that brings data one way: halftrip's get. t_typical is the median. MB and MiB
are 2^20 bytes, Gb 10^9 bits, and Mpps 10^6 messages per second. JSON does not say which of them its
BW_average is in, so that only its MsgRate counts. The window and the queue pairs of a bandwidth are
unknown where no line says the TX depth and their number. A send in both directions at once prints
the sum of both, and so do writes and reads. Atomic operations are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from halftrip.results.configuration import UNKNOWN, Configuration
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.reported import Spread, Statistic, Variant
from halftrip.tools.lines import Lines, count, number, quoted, whole, wrong
from halftrip.tools.tables import (
    End,
    Format,
    TableRow,
    ToolTable,
    below,
    by_rate,
    settings,
    spreads,
    timed,
)

TOOL = "perftest"


class _Test(NamedTuple):
    """What a test measures. The verb of both ways is a variant: halftrip's sends."""

    pattern: Pattern
    mode: Mode
    variant: Variant = ()


_TESTS = {
    "Send Latency Test": _Test("pingpong", "blocking"),
    "RDMA_Write Latency Test": _Test("put-pingpong", "onesided"),
    "RDMA_Read Latency Test": _Test("get", "onesided"),
    "Send BW Test": _Test("stream", "nonblocking"),
    "Send Bidirectional BW Test": _Test("bidirectional", "nonblocking"),
    "RDMA_Write BW Test": _Test("put", "onesided"),
    "RDMA_Write Bidirectional BW Test": _Test("bidirectional", "nonblocking", (("verb", "write"),)),
    "RDMA_Read Bidirectional BW Test": _Test("bidirectional", "nonblocking", (("verb", "read"),)),
    "RDMA_Read BW Test": _Test("get", "onesided"),
}
_TITLE = re.compile(r"\s+(?P<title>\S.{0,80} (Latency|BW) Test)\s*$")
_NAME = re.compile(
    r"\s*(#bytes|#iterations|t_\w+\[usec\]|99(?:\.9)?% percentile\[usec\]"
    r"|BW (?:peak|average)\[[^\]]+\]|MsgRate\[Mpps\]|CPU_Util\[%\]|tps average)\s*"
)
# Printed by an end whose buffers are on a device; nothing says where those of the other one are.
_DEVICE = re.compile(r"(?:allocated GPU buffer address|cuMemAlloc\(\) of a) .*")
_POST_LIST = " Post List"
_HEADING_BEGIN = re.compile(r"\s*#bytes +#iterations ")
_DEPTH = re.compile(r"\s*TX depth\s*: (?P<depth>\d+)\b.*")
# The usual one, which is reliable, makes no variant.
_CONNECTION, _USUAL = re.compile(r"\s*Connection type *: (?P<type>\w+)\b.*"), "RC"
_PAIRS = re.compile(r"\s*Number of qps\s*: (?P<pairs>\d+)\b.*")
# Of each queue pair, at both ends; the other end has both the other way round.
_ADDRESS = re.compile(r"\s*(?P<end>local|remote) address: (?P<pair>LID \S+ QPN \S+ PSN \S+).*")
_HEADING = re.compile(rf"{_HEADING_BEGIN.pattern}.*")
_ROW_BEGIN = re.compile(r"\s*\d+ +\d+ +\d")
_JSON = r'"test_info"\s*:'
_LARGEST_DEPTH = 10**6
# Names of the columns: those of JSON as well, the latter by those of the text.
_SPREADS: dict[str, Spread] = {
    "t_min[usec]": "min",
    "t_max[usec]": "max",
    "t_typical[usec]": "p50",
    "t_stdev[usec]": "stddev",
    "99% percentile[usec]": "p99",
    "99.9% percentile[usec]": "p99.9",
}
_OF_JSON = {
    "MsgSize": "#bytes",
    "n_iterations": "#iterations",
    "t_min": "t_min[usec]",
    "t_max": "t_max[usec]",
    "t_typical": "t_typical[usec]",
    "t_avg": "t_avg[usec]",
    "t_stdev": "t_stdev[usec]",
    "percentile_99": "99% percentile[usec]",
    "percentile_99.9": "99.9% percentile[usec]",
    "BW_peak": "BW_peak",
    "BW_average": "BW_average",
    "MsgRate": "MsgRate[Mpps]",
}
_UNITS = {"MB/sec": float(1 << 20), "MiB/sec": float(1 << 20), "Gb/sec": 1.25e8}
_MOST_NAMES = 20


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    if lines.is_json:
        return [_json(lines, lines.first(f".*{_JSON}") or first)]
    return [_text(lines, first)]


# Text.


def _text(lines: Lines, first: int) -> ToolTable:
    found = _TITLE.fullmatch(lines[first])
    title = found["title"] if found is not None else lines.test
    if title is None:
        wrong(first, "no line above says which test it is; --test NAME does")
    lacks = "it ends before the heading #bytes #iterations"
    heading, _ = lines.next(first - 1, _HEADING, _ROW_BEGIN, lacks)
    depths = [whole(n, found["depth"]) for n, found in lines.matches(_DEPTH, before=heading)]
    pairs = [whole(n, found["pairs"]) for n, found in lines.matches(_PAIRS, before=heading)]
    types = [found["type"] for _, found in lines.matches(_CONNECTION, before=heading)]
    on_device = any(True for _ in lines.matches(_DEVICE, before=heading))
    depth, qps = (next(reversed(each), None) for each in (depths, pairs))
    connection = next(reversed(types), UNKNOWN)
    configuration = _configuration(first, title, depth, qps, connection, on_device)
    names = _columns(heading, lines[heading])
    rows = lines.rows(
        heading, lambda n, line: _row(n, below(n, names, line.split()), configuration),
        decimals=True,
    )  # fmt: skip
    return _table(first, configuration, rows, title)._replace(end=_end(lines, first, heading))


def _end(lines: Lines, first: int, heading: int) -> End | None:
    """The end by the addresses of its queue pairs, which hold for one measurement."""
    pairs: dict[str, list[str]] = {"local": [], "remote": []}
    for _, found in lines.matches(_ADDRESS, heading, first):
        pairs[found["end"]].append(found["pair"])
    local, remote = (" ".join(each) for each in pairs.values())
    return End(" ".join(sorted((local, remote))), local) if local and remote else None


def _columns(line: int, text: str) -> list[str]:
    """The names of the columns, of which some have a space in them."""
    names: list[str] = []
    place = 0
    while place < len(text) and len(names) < _MOST_NAMES:
        found = _NAME.match(text, place)
        if found is None:
            wrong(line, f"{quoted(text[place:].strip())} is no column of perftest that is known")
        names.append(found[1])
        place = found.end()
    if len(set(names)) < len(names) or place < len(text):
        wrong(line, "a heading that names a column twice")
    return names


# JSON.


def _json(lines: Lines, first: int) -> ToolTable:
    content = lines.json
    info, results = content["test_info"], content["results"]
    test, said = info.get("test"), info.get("TX_depth")
    title = "" if test is None else test.text.strip()
    title = title if title.endswith("Test") else f"{title} Test"
    depth, pairs = (
        None if each is None else each.whole for each in (said, info.get("Number_of_qps"))
    )
    connection = info.get("Connection_type")
    named = UNKNOWN if connection is None else connection.text
    configuration = _configuration(first, title, depth, pairs, named)
    figures = {
        column: cell.cell
        for name, column in _OF_JSON.items()
        if (cell := results.get(name)) is not None
    }
    line = lines.first(r'.*"MsgSize"\s*:') or first
    return _table(first, configuration, [_row(line, figures, configuration)], title)


# Both.


def _configuration(
    line: int,
    title: str,
    depth: int | None,
    pairs: int | None,
    connection: str,
    on_device: bool = False,
) -> Configuration:
    # JSON has underscores where the text has spaces.
    title = " ".join(title.replace("_", " ").split()).replace("RDMA ", "RDMA_")
    is_list, title = _POST_LIST in title, title.replace(_POST_LIST, "")
    if title not in _TESTS:
        wrong(line, f"{quoted(title)} is not read here: {', '.join(_TESTS)} are")
    test = _TESTS[title]
    if depth is not None and not 1 <= depth <= _LARGEST_DEPTH:
        wrong(line, f"a TX depth of {depth}")
    # A latency is of one message and one pair.
    window, qps = (depth, pairs) if "BW" in title else (1, 1)
    places = "own" if window == 1 else UNKNOWN
    several = (("queue pairs", UNKNOWN if qps is None else str(qps)),) if qps != 1 else ()
    how = (("connection", connection),) if connection != _USUAL else ()
    variant = (*how, *((("post list", "several"),) if is_list else ()), *several, *test.variant)
    memory = ("cuda", UNKNOWN) if on_device else ("host", "host")
    return settings("verbs", test.pattern, test.mode, memory, variant, window=window, places=places)


def _row(line: int, figures: dict[str, str], configuration: Configuration) -> TableRow:
    for name in ("#bytes", "#iterations"):
        if name not in figures:
            wrong(line, f"no {name}")
    size = whole(line, figures["#bytes"])
    iterations = count(line, figures["#iterations"], "no iterations")
    values = {name: number(line, cell) for name, cell in figures.items()}
    main = next((each for each in ("t_typical[usec]", "t_avg[usec]") if each in values), None)
    if main is not None:
        spread = spreads(line, figures, _SPREADS)
        return timed(line, size, figures[main], 1e3, figures, iterations=iterations, spread=spread)
    return _rate(line, size, figures, values, configuration)


def _rate(
    line: int,
    size: int,
    figures: dict[str, str],
    values: Mapping[str, float],
    configuration: Configuration,
) -> TableRow:
    """A row of a bandwidth. Its iterations are messages, of which a window has many."""
    rate = 1e6 * values.get("MsgRate[Mpps]", 0.0) / configuration.directions
    name = next((each for each in values if each.startswith("BW average")), None)
    if name is None:
        name, bandwidth = "MsgRate[Mpps]", rate * size
    else:
        unit = name[name.index("[") + 1 : -1]
        if unit not in _UNITS:
            wrong(line, f"bandwidth in {quoted(unit)}")
        bandwidth = _UNITS[unit] * values[name] / configuration.directions
    if not bandwidth > 0:
        wrong(line, "neither a latency nor a bandwidth")
    ns = 1e9 * size / bandwidth
    return by_rate(line, size, ns, figures[name], figures, bandwidth=bandwidth, rate=rate or None)


def _table(
    line: int, configuration: Configuration, rows: Sequence[TableRow], title: str
) -> ToolTable:
    is_median = any("t_typical[usec]" in row.figures for row in rows)
    statistic: Statistic = "median" if is_median else "mean"
    return ToolTable(TOOL, line, configuration, statistic, rows, facts={"title": title})


FORMAT = Format(
    "perftest", _read, marks=(" Test", "#iterations"), begins=_TITLE, heading=_HEADING, json=_JSON
)
