"""iperf3, as it prints with --json: the bandwidth of TCP or UDP connections in all.

Bits are those that the receiver got, of all streams, over the whole test; those of each interval,
which the client has counted at its end, are slices of a second curve. With --bidir, the figure is
the mean of both directions, which send at once. Times that were omitted at the start are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from halftrip.results.patterns import Pattern
from halftrip.tools.lines import Lines, Value, last_place, number, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, settings

TOOL = "iperf3"
_REVERSE = "_bidir_reverse"
_ENDS = ("local_host", "remote_host")
_LATEST = 1 << 40


def _recognised(lines: Lines) -> int | None:
    return lines.first(r'.*"version":\s*"iperf 3')


def _read(lines: Lines) -> Sequence[ToolTable]:
    found = lines.json
    error = found.get("error")
    if error is not None:
        wrong(lines.first(r'.*"error":') or 0, f"iperf3 has failed: {error.text}")
    start, end = found["start"], found["end"]
    test = start["test_start"]
    size, streams = test["blksize"].whole, test["num_streams"].whole
    transport = test["protocol"].text.lower()
    if transport not in ("tcp", "udp") or not streams or not size:
        wrong(0, f"{streams} streams of {transport} with blocks of {size}")
    both = end.get(f"sum_received{_REVERSE}") is not None
    direction = "both" if both else "to client" if _says(test, "reverse") else "to server"
    pattern: Pattern = "bidirectional" if both else "stream"
    facts = {"protocol": test["protocol"].text, "streams": str(streams), "direction": direction}
    version = start["version"].text.removeprefix("iperf ")
    date = _date(start)
    connection = next(iter(start["connected"]), None)
    hosts = [connection[end_].text for end_ in _ENDS] if connection is not None else []
    whole = end.get("sum_received") or end["sum"]
    suffixes = ("", _REVERSE) if both else ("",)
    totals = [whole, *(end[f"sum_received{each}"] for each in suffixes[1:])]
    _check_streams(end, found["intervals"])
    intervals = [
        [each[f"sum{suffix}"] for suffix in suffixes]
        for each in found["intervals"]
        if not _omitted(each)
    ]
    rows_of = {"whole test": [_row(size, totals, 0)]}
    if len(intervals) > 1:
        rows_of["intervals"] = [_row(size, each, n) for n, each in enumerate(intervals)]
    line = _recognised(lines) or 1
    return [
        ToolTable(
            TOOL, line,
            settings(
                transport, pattern,
                variant=(("direction", direction), ("over", over), ("streams", str(streams))),
            ),
            "mean", rows, version=version, hosts=hosts, date=date, facts=facts,
        )
        for over, rows in rows_of.items()
    ]  # fmt: skip


def _says(test: Value, name: str) -> bool:
    found = test.get(name)
    return found is not None and found.whole == 1


def _check_streams(whole: Value, intervals: Value) -> None:
    """Raises WrongLineError where the bandwidth of a stream, in all or in an interval, is no
    number: sums beside it are not to be trusted."""
    streams = [stream for each in intervals for stream in each.get("streams") or ()]
    for stream in whole.get("streams") or ():
        ends = [stream.get(end) for end in ("sender", "receiver", "udp")]
        streams += [end for end in ends if end is not None]
    for stream in streams:
        bits = stream.get("bits_per_second")
        if bits is not None:
            number(0, bits.digits, f"{bits.path}: ")


def _omitted(interval: Value) -> bool:
    omitted = interval["sum"].get("omitted")
    return omitted is not None and omitted.is_true


def _row(size: int, sums: Sequence[Value], slice_: int) -> TableRow:
    """The row of these sums, one of each direction."""
    figures: dict[str, str] = {}
    bits, step = 0.0, 0.0
    for each in sums:
        cell = each["bits_per_second"]
        figures[cell.path] = cell.digits
        lost = each.get("lost_percent")
        share = 0.0
        if lost is not None:
            figures[lost.path] = lost.digits
            # A sum that does not name the receiver counts what was sent.
            share = lost.number / 100 if each.path == "end.sum" else 0.0
        if not cell.number > 0 or not share < 1:
            wrong(0, f"{cell.path}: nothing was received")
        bits += cell.number * (1 - share)
        step = max(step, last_place(cell.digits))
    bandwidth = bits / 8 / len(sums)
    ns = 1e9 * size / bandwidth
    return TableRow(
        0, size, ns, figures, slice=slice_, step=ns * step / bits, bandwidth=bandwidth
    )  # fmt: skip


def _date(start: Value) -> str | None:
    stamp = start.get("timestamp")
    if stamp is None:
        return None
    seconds = stamp["timesecs"].whole
    if seconds > _LATEST:
        wrong(0, f"timesecs: {seconds} is no date")
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        wrong(0, f"timesecs: {seconds} is no date")


FORMAT = Format("iperf3 --json", _recognised, _read)
