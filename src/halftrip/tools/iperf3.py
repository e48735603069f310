"""iperf3, as it prints with --json or --json-stream: the bandwidth of TCP or UDP connections in all
is read, that of TCP is printed. What it prints without either is read in `iperf3_text`.

Bits are those that the receiver got, of all streams, over the whole test; those of each interval,
which the client has counted at its end, are slices of a second curve. With --bidir, the figure is
the mean of both directions, which send at once. Times that were omitted at the start are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.tools import iperf3_text
from halftrip.tools.lines import Lines, Value, last_place, number, wrong
from halftrip.tools.printing import PrintedCurve, as_it_was, curves, texts, whole_text
from halftrip.tools.tables import End, Format, TableRow, ToolTable, by_bandwidth

TOOL = iperf3_text.TOOL
_JSON = r'"version":\s*"iperf 3'
_REVERSE = "_bidir_reverse"
_ENDS = ("local_host", "remote_host")
_LATEST = 1 << 40
# Of intervals, s.
_OVERLAP = 0.01
_PRINTED_VERSION = "3.12"
_WAYS = {"stream": ("",), "bidirectional": ("", _REVERSE)}


# Reads.


class _Test(NamedTuple):
    """The objects of a test: those of its intervals, and what is said at its begin and end."""

    start: Value
    intervals: Sequence[Value]
    end: Value


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    return _json(lines, first) if lines.is_json else iperf3_text.read(lines, first)


def _test_of(lines: Lines) -> _Test:
    """The objects, as --json or --json-stream has them. Raises WrongLineError for a test that has
    failed."""
    found = lines.json
    if not found.is_list:
        _check_error(lines, found.get("error"))
        return _Test(found["start"], [*found["intervals"]], found["end"])
    events: dict[str, list[Value]] = {"start": [], "interval": [], "end": [], "error": []}
    for each in found:
        events.setdefault(each["event"].text, []).append(each["data"])
    _check_error(lines, next(iter(events["error"]), None))
    for name in ("start", "end"):
        if len(events[name]) != 1:
            wrong(0, f"{len(events[name])} events {name!r}, where a test has one: cut off or lost")
    intervals = [each.named(f"intervals[{n}]") for n, each in enumerate(events["interval"])]
    _check_order(intervals)
    return _Test(events["start"][0], intervals, events["end"][0].named("end"))


def _check_error(lines: Lines, error: Value | None) -> None:
    if error is not None:
        wrong(lines.first(r'.*"error"') or 0, f"iperf3 has failed: {error.text}")


def _json(lines: Lines, first: int) -> Sequence[ToolTable]:
    start, measured, end = _test_of(lines)
    test = start["test_start"]
    size, streams = test["blksize"].whole, test["num_streams"].whole
    transport = test["protocol"].text.lower()
    if transport not in ("tcp", "udp") or not streams or not size:
        wrong(0, f"{streams} streams of {transport} with blocks of {size}")
    both = end.get(f"sum_received{_REVERSE}") is not None
    direction = "both" if both else "to client" if _says(test, "reverse") else "to server"
    facts = {
        "protocol": test["protocol"].text, "streams": str(streams), "direction": direction,
        **whole_text(lines),
    }  # fmt: skip
    version = start["version"].text.removeprefix("iperf ")
    date = _date(start)
    # Of this test alone, at both ends, and behind --json-stream-full-output again.
    cookie = start.get("cookie")
    called = start.get("connecting_to")
    peer = "" if called is None else called["host"].text
    connection = next(iter(start["connected"]), None)
    hosts = [connection[end_].text for end_ in _ENDS] if connection is not None else []
    whole = end.get("sum_received") or end["sum"]
    suffixes = ("", _REVERSE) if both else ("",)
    totals = [whole, *(end[f"sum_received{each}"] for each in suffixes[1:])]
    _check_streams(end, measured)
    intervals = [
        [each[f"sum{suffix}"] for suffix in suffixes] for each in measured if not _omitted(each)
    ]
    rows_of = {"whole test": [_row(size, totals, 0)]}
    if len(intervals) > 1:
        rows_of["intervals"] = [_row(size, each, n) for n, each in enumerate(intervals)]
    line = lines.first(f".*{_JSON}") or first
    return [
        ToolTable(
            TOOL, line,
            iperf3_text.configuration(transport, direction, over, streams), "mean", rows,
            version=version, hosts=hosts, date=date, facts=facts,
            end=None if cookie is None else End(f"{cookie.text} {over}"), peer=peer,
        )
        for over, rows in rows_of.items()
    ]  # fmt: skip


def _says(test: Value, name: str) -> bool:
    found = test.get(name)
    return found is not None and found.whole == 1


def _check_order(intervals: Sequence[Value]) -> None:
    """Raises WrongLineError for an interval that begins before the last one ended, as one does
    whose line stands there twice."""
    ended = 0.0
    for each in intervals:
        if _omitted(each):
            continue
        begins = each["sum"]["start"]
        if begins.number < ended - _OVERLAP:
            wrong(0, f"{begins.path}: an interval at {begins.digits} s, behind one to {ended} s")
        ended = each["sum"]["end"].number


def _check_streams(whole: Value, intervals: Sequence[Value]) -> None:
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
    parts = 8 * len(sums)
    return by_bandwidth(0, size, bits / parts, step / parts, figures, slice=slice_)


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


# Prints.


def render(document: Document) -> str:
    """An object for each row. Raises UsageError for a run without a stream over TCP."""
    before = as_it_was(document, TOOL)
    if before is not None:
        return before
    found = curves(document, TOOL, _is_iperf3, "stream over tcp", "-t tcp -p stream -s 128K")
    return texts(_test(curve, row) for curve in found for row in curve.rows)


def _is_iperf3(configuration: Configuration) -> bool:
    return configuration.transport == "tcp" and configuration.pattern in _WAYS


def _test(curve: PrintedCurve, row: Row) -> list[str]:
    """What a test of one size prints; its intervals are our slices."""
    configuration = row.configuration
    measured = curve.measurements(row)
    ways = _WAYS[configuration.pattern]
    host_of = {each.rank: each.host for each in curve.document.run.first_ranks}
    hosts = [host_of[rank] for rank in configuration.pair if rank in host_of]
    connection = dict(zip(_ENDS, hosts, strict=True)) if len(hosts) == len(_ENDS) else None
    duration = sum(int(each.samples.sum()) for each in measured) / 1e9
    test = {
        "start": {
            "connected": [] if connection is None else [connection],
            "version": f"iperf {_PRINTED_VERSION}",
            "system_info": f"measured by {curve.measured_by()}: {curve.says()}",
            **_timestamp(curve.document.run.measured),
            "test_start": {
                "protocol": "TCP",
                "num_streams": configuration.tuning.streams,
                "blksize": configuration.size,
                "omit": 0,
                "duration": duration,
                "reverse": 0,
            },
        },
        "intervals": list(_intervals(measured, ways)),
        "end": {**_sums(measured, "sum_sent", ways), **_sums(measured, "sum_received", ways)},
    }
    return json.dumps(test, indent="\t").split("\n")


def _timestamp(measured: str | None) -> dict[str, Any]:
    if measured is None:
        return {}
    at = datetime.fromisoformat(measured)
    text = at.strftime("%a, %d %b %Y %H:%M:%S %Z")
    return {"timestamp": {"time": text, "timesecs": int(at.timestamp())}}


def _intervals(measured: Sequence[Measurement], ways: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One for each measurement, one after the other."""
    start = 0.0
    for each in measured:
        sums = _sums([each], "sum", ways, start)
        yield sums
        start = sums["sum"]["end"]


def _sums(
    found: Sequence[Measurement], name: str, ways: Sequence[str], start: float = 0.0
) -> dict[str, Any]:
    """What went each way in these measurements from `start` on, s, by the name of the sum of that
    way. A window and its acknowledgement are timed at the initiator, so that both ways have the
    same time."""
    time, messages, size = 0, 0, 0
    for each in found:
        size = each.configuration.size
        time += int(each.samples.sum())
        messages += each.samples.size * each.iterations * each.configuration.window
    sums = {
        "start": start,
        "end": start + time / 1e9,
        "seconds": time / 1e9,
        "bytes": size * messages,
        "bits_per_second": 8e9 * size * messages / time if time else 0.0,
    }
    return {f"{name}{way}": sums | {"omitted": False} for way in ways}


FORMAT = Format(
    "iperf3", _read, marks=iperf3_text.MARKS, begins=iperf3_text.BEGINS, joined=True, json=_JSON,
    follows=r'\{\s*"event"\s*:',
)  # fmt: skip
