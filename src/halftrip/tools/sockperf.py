"""sockperf: the summary of a ping-pong, of a test under load or of a throughput test, and the full
log of either of the first two, whose rows are single exchanges, are read. The summary of a
ping-pong is printed, with a line of the log that says the size.

sockperf has halved its round trips itself. A MB of it is 2^20 bytes. A log says the size of
messages, and a throughput test in a note, or by its bandwidth and rate. The summary of a latency
says nothing of it: its size is not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import UNKNOWN, Configuration
from halftrip.results.counts import add_deliveries
from halftrip.results.patterns import Pattern
from halftrip.results.reported import Spread, StatedInterval
from halftrip.tools.commands import Program, told
from halftrip.tools.lines import (
    Lines,
    WrongLineError,
    last_place,
    number,
    positive,
    size_by,
    whole,
    wrong,
)
from halftrip.tools.printing import (
    PrintedCurve,
    StyleError,
    as_it_was,
    curves,
    is_pingpong,
    single_times,
    texts,
    whole_text,
)
from halftrip.tools.tables import (
    Format,
    TableRow,
    ToolTable,
    by_rate,
    settings,
    timed,
)

TOOL = "sockperf"
_SAYS = "sockperf: "
_LATENCY = re.compile(r"Summary: Latency is (\S+) usec\s*")
# Of 3.8 and later, with an interval of the mean at some level.
_AVERAGE = re.compile(
    r"====> avg-latency=(\S+) \(std-dev=([^\s,)]+)(?:.* (\S+)% ci=\[(\S+), (\S+)\]|.*)\)\s*"
)
# Of messages in several packets, these as well.
_RATE = re.compile(r"Summary: Message Rate is (\S+) \[msg/sec\](?:, Packet Rate is about .*)?\s*")
_BANDWIDTH = re.compile(r"Summary: BandWidth is (\S+) MBps \((\S+) Mbps\)\s*")
_COUNT = re.compile(r"Total (\d+) observations;.*")
_PERCENTILE = re.compile(r"---> (?:(<MAX>|<MIN>) observation|percentile (\S+)) =\s*(\S+)\s*")
_SIZE = re.compile(r"test was performed using the following parameters: .*--msg-size=(\d+)\b.*")
_NOTE = re.compile(r"NOTE: test was performed, using msg-size=(\d+)\..*")
_MODES = {"under-load": "under-load", "ul": "under-load", "playback": "playback", "pb": "playback",
          "ping-pong": None, "pp": None}  # fmt: skip
_PROGRAM = Program(r"sockperf(?=\s+[a-z])", "sockperf", "Summary: ")
_MESSAGE = r"(?<!\S)(?:-m *|--msg-size[= ])(\d{1,9})(?!\S)"
_MODE = re.compile(rf".*\bsockperf\s+({'|'.join(_MODES)})\b.*")
_SENT = re.compile(r"\[Valid Duration\] RunTime=.* SentMessages=(\d+); ReceivedMessages=(\d+)\s*")
_PROTOCOL = re.compile(r"\[ *\d+\] IP = .* # (TCP|UDP)\s*")
_VERSION = re.compile(r"== version #(\S+) ==\s*")
# A line of the log, as sockperf prints nearly all of them.
_USUAL = re.compile(
    r"(\d{1,15}), (\d{1,12}\.\d{1,9}), (\d{1,12}\.\d{1,9}), (\d{1,12}\.\d{1,9})", re.ASCII
)
_HEADING = "packet, txTime(sec), rxTime(sec), latency(usec)"
# Of the last figure in a line of the log.
_DECIMALS = 3
_LOG_ROW = re.compile(r"\s*[-+]?\d+,")
_BEGIN = re.compile(r".*sockperf: == version #")
# Without a version above, the first of these begins a test, and so does one that is there again.
_GOES_ON = re.compile(
    rf"(?:.*{_SAYS})?(====> avg-latency|Summary: Latency|Summary: Message|Summary: Band|Total )"
    rf"|({re.escape(_HEADING)})"
)
# How the lines with figures begin: one that goes on in another way was cut off or changed.
_FIGURES = re.compile(
    r"Summary: (?:Latency|Message Rate|BandWidth) is|====> avg-latency=|Total \d+ observations|"
    r"---> "
)
_MEGABYTE = float(1 << 20)
_SPREADS: dict[str, Spread] = {
    "<MIN>": "min", "<MAX>": "max", "50.000": "p50", "90.000": "p90", "99.000": "p99",
    "99.900": "p99.9",
}  # fmt: skip
_MOST_MESSAGES = 10**12
# A ping-pong waits for each reply: fewer than this share of what is sent are a load's.
_FEWEST_REPLIES = 0.75
_PRINTED_VERSION = "3.7-no.git"
_PROTOCOLS = {"tcp": "TCP", "udp": "UDP"}
_PERCENTILES = (99.999, 99.99, 99.9, 99, 90, 75, 50, 25)


# Reads.


class _Text:
    """What the lines of a test say, each behind its number."""

    def __init__(self, lines: Lines, first: int) -> None:
        self.lines = lines
        self.log: int | None = None
        self.said: dict[re.Pattern[str], tuple[int, tuple[str, ...]]] = {}
        self.percentiles: dict[str, tuple[int, str]] = {}
        # What stands above may be of another test.
        figures = (_FIGURES.pattern, rf".*{_SAYS}({_FIGURES.pattern})", _LOG_ROW.pattern)
        other = re.compile("|".join(figures))
        above = next((n for n in range(first - 1, 0, -1) if other.match(lines[n])), 0)
        for n, line in lines.below(above):
            self._take(n, line)
            if self.log is not None:
                break

    def _take(self, n: int, line: str) -> None:
        text = line
        if text.rstrip() == _HEADING:
            self.log = n
            return
        text = text.partition(_SAYS)[2] or text
        if text.startswith("ERROR"):
            wrong(n, "sockperf has failed, as it says here")
        if found := _PERCENTILE.fullmatch(text):
            name = found[1] or found[2]
            if name in self.percentiles:
                wrong(n, f"percentile {name} a second time: import each test by itself")
            self.percentiles[name] = n, found[3]
            return
        for pattern in (
            _LATENCY, _AVERAGE, _RATE, _BANDWIDTH, _COUNT, _SIZE, _NOTE, _PROTOCOL, _VERSION, _SENT,
        ):  # fmt: skip
            found = pattern.fullmatch(text)
            if found is None:
                continue
            said = tuple(each or "" for each in found.groups())
            before = self.said.get(pattern)
            if before is not None and pattern not in (_SIZE, _NOTE, _PROTOCOL, _VERSION):
                wrong(n, "a second summary: import each test by itself")
            self.said[pattern] = n, said
            return
        if _FIGURES.match(text):
            wrong(n, "no line of a summary as sockperf prints it: changed, or cut off")


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    text = _Text(lines, first)
    line = 0
    size: int | None = None
    if _SIZE in text.said:
        line, (cell,) = text.said[_SIZE]
        size = whole(line, cell)
    elif (asked := told(lines, first, _PROGRAM, _MESSAGE)) not in (None, UNKNOWN):
        size = int(asked)
    pattern: Pattern = "pingpong"
    if text.log is not None:
        line, row = text.log, _log(text, text.log, size)
    elif _LATENCY in text.said or _AVERAGE in text.said:
        line, row = _summary(text, size)
    elif _RATE in text.said:
        line, row = _throughput(text, size)
        pattern = "stream"
    else:
        wrong(len(lines), "it ends before a summary: sockperf was interrupted")
    protocol = text.said[_PROTOCOL][1][0].lower() if _PROTOCOL in text.said else UNKNOWN
    version = text.said[_VERSION][1][0] if _VERSION in text.said else None
    mode = _mode(text, first) if pattern == "pingpong" else None
    configuration = settings(protocol, pattern, variant=(("mode", mode),) if mode else ())
    facts = whole_text(lines)
    return [ToolTable(TOOL, line, configuration, "mean", [row], version=version, facts=facts)]


def _mode(text: _Text, first: int) -> str | None:
    """The mode of a test of latency that is no ping-pong: one that sends without waiting for each
    reply, by its command where that stands above, or by how few replies there are."""
    if (found := text.lines.last(_MODE, first + 1)) is not None:
        return _MODES[found[1]]
    if _SENT in text.said:
        at, (sent, received) = text.said[_SENT]
        if whole(at, received) < _FEWEST_REPLIES * whole(at, sent):
            return "under-load"
    return None


def _summary(text: _Text, size: int | None) -> tuple[int, TableRow]:
    spread: dict[Spread, float] = {}
    interval = None
    if _COUNT not in text.said:
        wrong(len(text.lines), "it ends before the number of observations")
    line, (count,) = text.said[_COUNT]
    observations = whole(line, count)
    if not 0 < observations <= _MOST_MESSAGES:
        wrong(line, f"{count} observations")
    line, cells = text.said.get(_LATENCY) or text.said[_AVERAGE]
    figures = {"latency (usec)": cells[0], "observations": count}
    mean = positive(line, cells[0], "messages that took no time")
    if _AVERAGE in text.said:
        at, (average, deviation, *stated) = text.said[_AVERAGE]
        if number(at, average) != mean:
            wrong(at, f"an average of {average}, but a latency of {cells[0]}")
        figures["std-dev (usec)"] = deviation
        spread["stddev"] = 1e3 * number(at, deviation)
        interval = _interval(at, mean, *stated) if stated[0] else None
    _percentiles(text, figures, spread)
    if not spread["min"] <= 1e3 * mean + 1 or not spread["max"] >= 1e3 * mean - 1:
        wrong(line, "a mean that is not between the least and the most")
    row = timed(line, size, cells[0], 1e3, figures, iterations=observations, spread=spread)
    return line, row._replace(interval=interval)


def _interval(line: int, mean: float, *cells: str) -> StatedInterval:
    """That of the mean, us, by its level, in per cent, and its ends."""
    level, low, high = (number(line, each) for each in cells)
    if not 0 < level < 100 or not low <= mean <= high:
        wrong(line, f"no interval of {mean:g}: {low:g} to {high:g} at {level:g} %")
    return StatedInterval(low=1e3 * low, high=1e3 * high, level=level / 100, of="mean")


def _percentiles(text: _Text, figures: dict[str, str], spread: dict[Spread, float]) -> None:
    """Adds the percentiles to the figures and the spread of a summary."""
    for name, (at, cell) in text.percentiles.items():
        value = 1e3 * number(at, cell)
        if name in _SPREADS:
            figures[f"percentile {name}"] = cell
            spread[_SPREADS[name]] = value
    for name in ("<MAX>", "<MIN>"):
        if name not in text.percentiles:
            wrong(len(text.lines), f"it ends before the line with {name}")


def _throughput(text: _Text, asked: int | None) -> tuple[int, TableRow]:
    line, (cell,) = text.said[_RATE]
    if _BANDWIDTH not in text.said:
        wrong(line, "a message rate, but no bandwidth below it")
    at, (megabytes, bits) = text.said[_BANDWIDTH]
    rate, bandwidth = number(line, cell), _MEGABYTE * number(at, megabytes)
    # Both are rounded, from the same figure.
    most = 8 * last_place(megabytes) + last_place(bits)
    if not abs(number(at, bits) - 8 * number(at, megabytes)) <= most:
        wrong(at, f"{megabytes} MBps are not {bits} Mbps")
    if not rate > 0 or not bandwidth > 0:
        wrong(line, "nothing was sent")
    size: int | None
    steps = _MEGABYTE * last_place(megabytes), last_place(cell)
    if _NOTE in text.said:
        noted, (digits,) = text.said[_NOTE]
        size = whole(noted, digits)
        if not abs(bandwidth - float(digits) * rate) <= steps[0] + float(digits) * steps[1]:
            wrong(at, f"bandwidth and message rate are not of {digits} bytes, as a note says")
    else:
        size = size_by((bandwidth, steps[0]), (rate, steps[1]), asked)
    figures = {"messages/s": cell, "MBps": megabytes, "Mbps": bits}
    return at, by_rate(at, size, 1e9 / rate, cell, figures, bandwidth=bandwidth, rate=rate)


def _exchange(n: int, line: str, before: int) -> tuple[int, int]:
    """The packet of a line of the log, and the time of its exchange, ns."""
    # A log has millions of lines: those that are as usual take a fraction of the time.
    if usual := _USUAL.fullmatch(line):
        cells = list(usual.groups())
        packet, sent, received, half = int(cells[0]), *map(float, cells[1:])
    else:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 4:
            wrong(n, f"{len(cells)} figures below {_HEADING}")
        packet = whole(n, cells[0])
        sent, received, half = (number(n, cell) for cell in cells[1:])
    if packet <= before or received < sent:
        wrong(n, "a packet out of order, or received before it was sent")
    # Of the whole exchange: its figure is half of that.
    exchange = 2e3 * half
    if not exchange <= 1e15:
        wrong(n, f"{half:g} us is longer than any run")
    return packet, round(exchange)


def _log(text: _Text, heading: int, size: int | None) -> TableRow:
    """The row of the log below this line: a sample for each exchange."""
    lines, times, before, decimals = text.lines, [], -1, _DECIMALS
    for n, line in lines.below(heading):
        if not _LOG_ROW.match(line):
            continue
        last = len(line.rpartition(",")[2].partition(".")[2])
        decimals = max(decimals, last)
        try:
            if last < decimals:
                wrong(n, "its last figure has lost digits")
            before, exchange = _exchange(n, line, before)
        except WrongLineError as error:
            lines.doubt(error)
            continue
        times.append(exchange)
    if not times:
        wrong(len(lines), "it ends without a row of the log")
    if not lines.is_whole and times:
        lines.doubt(WrongLineError(len(lines), "the last line is cut off: it has no end"))
        times.pop()
        lines.is_whole = True
    if _COUNT in text.said:
        at, (count,) = text.said[_COUNT]
        if whole(at, count) > len(times):
            reason = f"it ends after {len(times)} of {count} rows"
            lines.doubt(WrongLineError(len(lines), reason))
    return TableRow(heading, size, 0.0, {}, samples=np.array(times, dtype=np.int64))


# Prints.


def render(document: Document) -> str:
    """A summary for each row. Raises UsageError for a run without a ping-pong over sockets, and for
    samples of several messages."""
    before = as_it_was(document, TOOL)
    if before is not None:
        return before
    found = curves(document, TOOL, _is_sockperf, "ping-pong over tcp or udp", "-t udp -s 14")
    return texts(_test(curve, row) for curve in found for row in curve.rows)


def _is_sockperf(configuration: Configuration) -> bool:
    return is_pingpong(configuration) and configuration.transport in _PROTOCOLS


def _test(curve: PrintedCurve, row: Row) -> list[str]:
    """What a test of one size prints."""
    measured = curve.measurements(row)
    times = single_times(measured)
    if times is None or not times.size:
        title = row.configuration.title
        raise StyleError(TOOL, f"{title}: percentiles are of single messages; measure it with -i")
    us = times / 1e3
    seconds = sum(int(each.samples.sum()) for each in measured) / 1e9
    delivery = add_deliveries(each.delivery for each in measured)
    lost, reordered = (0, 0) if delivery is None else (delivery.lost, delivery.reordered)
    mean = f"{us.mean():.3f}"
    counts = f"SentMessages={us.size + lost}; ReceivedMessages={us.size}"
    others = f"# duplicated messages = 0; # out-of-order messages = {reordered}"
    hundredth = f"each percentile contains {us.size / 100:.2f} observations"
    every = [
        ("<MAX> observation", us.max()),
        *((f"percentile {p:.3f}", np.percentile(us, p)) for p in _PERCENTILES),
        ("<MIN> observation", us.min()),
    ]
    return [
        f"{_SAYS}== version #{_PRINTED_VERSION} == ",
        f"{_SAYS}Measured by {curve.measured_by()}: {curve.says()}",
        f"[ 0] IP = {_host(curve)} # {_PROTOCOLS[row.configuration.transport]}",
        f"test was performed using the following parameters: --msg-size={row.configuration.size}",
        f"{_SAYS}[Valid Duration] RunTime={seconds:.3f} sec; {counts}",
        f"{_SAYS}====> avg-latency={mean} (std-dev={us.std():.3f})",
        f"{_SAYS}# dropped messages = {lost}; {others}",
        f"{_SAYS}Summary: Latency is {mean} usec",
        f"{_SAYS}Total {us.size} observations; {hundredth}",
        *(f"{_SAYS}---> {name} = {value:8.3f}" for name, value in every),
    ]


def _host(curve: PrintedCurve) -> str:
    """That of the responder, sockperf's server."""
    responder = curve.configuration.pair[1]
    ranks = curve.document.run.first_ranks
    return next((each.host for each in ranks if each.rank == responder), UNKNOWN)


FORMAT = Format(
    "sockperf", _read, begins=_BEGIN, heading=_GOES_ON,
    marks=("== version #", "avg-latency=", "Summary: ", " observations", re.escape(_HEADING)),
)  # fmt: skip
