"""Where a run file enters, which anybody may have written: its bytes become records that make
sense, or lines that say what is wrong with them.

Whoever reads a record after this can compute with it: it fits `bounds`, and its figures fit each
other. The time and the memory that this takes are in proportion to the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache, singledispatch
from typing import Any, BinaryIO, Literal, NamedTuple, TypeGuard

import msgspec

from halftrip.errors import NotARunError, UsageError
from halftrip.results import records
from halftrip.results.block import Block, decode_array
from halftrip.results.bounds import LONGEST_NS
from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.network_path import Connection
from halftrip.results.records import Record
from halftrip.results.threshold import Threshold
from halftrip.texts import printable

# The newest version of the format. Every one that was released is read.
FORMAT = 1

# Bytes. A slice of a million samples, with the times of both ends, takes less than half of this.
LONGEST_LINE = 128 << 20
# The first line has the command, which Linux limits to 2 MiB by default, and the plan.
_LONGEST_HEADER = 16 << 20
_PART = 1 << 20
# Of a file that is no run file, one line more or less says nothing.
_MOST_PROBLEMS = 100
# Messages of msgspec quote what they read.
_LONGEST_REASON = 200


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    """Made when it is first needed: that takes as long as to import ten modules."""
    return msgspec.json.Decoder(Record, dec_hook=decode_array)


class Content(NamedTuple):
    """The records of a run file, and a line about each that was left out."""

    header: records.Header
    found: list[Record]
    problems: list[str]


def decode(line: bytes) -> Record:
    """The record in a line of a run file. Raises msgspec.DecodeError if it is none."""
    return _decoder().decode(line)


def read(file: BinaryIO, name: str) -> Content:
    """The content of a run file; `name` is how messages call it. Raises UsageError if it is no run
    file."""
    name = printable(name)
    header = _header(file.readline(_LONGEST_HEADER), name)
    found: list[Read] = []
    problems = _Problems(name)
    configurations: dict[Configuration, Configuration] = {}
    for number, line in _lines(file):
        try:
            record = _record(line)
            if type(record) is records.Measurement:
                # All slices of a configuration have the same: it takes as much memory as a slice.
                own = record.configuration
                known = configurations.setdefault(own, own)
                if known is not own:
                    msgspec.structs.force_setattr(record, "configuration", known)
            found.append(Read(number, record))
        except _CutOffError:
            problems.add_cut_off(number)
        except _NoRecordError as error:
            problems.add(number, str(error))
    # A rank may have been described in a line that is lost.
    reasons = dict(_misplaced(found, ranks_known=not problems.count))
    for number, reason in reasons.items():
        problems.add(number, reason)
    return Content(
        header, [each.record for each in found if each.number not in reasons], problems.lines()
    )


class _NoRecordError(Exception):
    """A line is no record that makes sense; the message says why."""


class _CutOffError(Exception):
    """The last line was being written."""


class _Problems:
    """The lines that were left out, as far as anybody reads them."""

    def __init__(self, name: str) -> None:
        self.count = 0
        self._name = name
        self._lines: list[tuple[int, str]] = []

    def add(self, number: int, reason: str) -> None:
        shown = printable(reason, _LONGEST_REASON)
        self._add(number, f"{self._name}: line {number} was left out: {shown}")

    def add_cut_off(self, number: int) -> None:
        said = f"{self._name}: line {number}, the last, is cut off; it was left out"
        self._add(number, said)

    def _add(self, number: int, line: str) -> None:
        self.count += 1
        if self.count <= _MOST_PROBLEMS:
            self._lines.append((number, line))

    def lines(self) -> list[str]:
        """In the order of the file."""
        shown = [line for _, line in sorted(self._lines)]
        if self.count > _MOST_PROBLEMS:
            more = self.count - _MOST_PROBLEMS
            shown.append(f"{self._name}: {more:,} more lines were left out")
        return shown


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines after the first, each with its number; None for one that is longer than any
    record, which is not kept."""
    number = 1
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        is_long = len(line) > LONGEST_LINE
        while is_long and line and not line.endswith(b"\n"):
            line = file.readline(_PART)
        yield number, None if is_long else line


def _record(line: bytes | None) -> Record:
    """The record in a line, which makes sense by itself. Raises _NoRecordError, or _CutOffError
    for the last line of a file that ends in it."""
    if line is None:
        raise _NoRecordError(f"it has more than {LONGEST_LINE:,} bytes")
    try:
        record = decode(line)
        check(record)
        return record
    except RecursionError:
        raise _NoRecordError("it is nested too deep") from None
    except (msgspec.DecodeError, ValueError) as error:
        # A line without its newline is the last. What is whole, but wrong, was not being written.
        is_whole = isinstance(error, msgspec.ValidationError)
        if not line.endswith(b"\n") and not is_whole:
            raise _CutOffError from None
        raise _NoRecordError(str(error)) from None


def _header(line: bytes, name: str) -> records.Header:
    """The header in the first line. Raises UsageError if this is no run file, or one that is newer
    than this halftrip, or older than its first release."""
    try:
        head = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("record") != "run":
        head = {}
    # The name of the field then: its numbers are not those of versions.
    if "version" not in head and _is_version(head.get("format")):
        raise UsageError(f"{name}: written before the first release of halftrip; it is not read")
    version = head.get("version")
    if not _is_version(version):
        raise NotARunError(f"{name}: not a run file of halftrip")
    if version > FORMAT:
        newer = printable(str(version), 20) if version < 1 << 64 else "of many digits"
        raise UsageError(f"{name}: format {newer} is newer than {FORMAT}; update halftrip")
    try:
        header = msgspec.convert(head, records.Header)
        check(header)
    except (msgspec.ValidationError, ValueError) as error:
        reason = printable(str(error), _LONGEST_REASON)
        raise UsageError(f"{name}: line 1 is not a record: {reason}") from None
    return header


def _is_version(value: Any) -> TypeGuard[int]:
    # A bool is an int.
    return type(value) is int and value >= 1


# Iterations of a sample times messages of an iteration fit a number of 64 bits.
_MOST_MESSAGES = 1 << 62
# The plan is a value of JSON of any shape; no plan of halftrip's has more levels.
_DEEPEST_PLAN = 6
# The years in which a computer can have run this: others do not fit the dates of data frames.
_YEARS = range(1971, 2200)


class _PlanThatViewsRead(msgspec.Struct):
    """The keys of a plan by which views compute, where a value of another type could be."""

    slices: int = 0
    placement_state: Literal["near", "far"] | None = None


class Read(NamedTuple):
    """A record, and the number of its line, from 1."""

    number: int
    record: records.Record


@singledispatch
def check(record: object) -> None:
    """Raises ValueError, which says what is wrong, for a record whose figures do not fit each
    other."""


@check.register
def _(header: records.Header) -> None:
    try:
        started = datetime.fromisoformat(header.started)
    except ValueError:
        raise ValueError("when it was started is no date") from None
    if started.year not in _YEARS:
        raise ValueError(f"started in the year {started.year}")
    if _depth(header.plan) > _DEEPEST_PLAN:
        raise ValueError("its plan is nested too deep")
    try:
        msgspec.convert(header.plan, _PlanThatViewsRead)
    except msgspec.ValidationError as error:
        raise ValueError(f"its plan is none: {error}") from None


@check.register
def _(measurement: records.Measurement) -> None:
    if measurement.configuration.size and not measurement.configuration.size_known:
        raise ValueError("a size that is not known")
    messages = measurement.iterations * measurement.configuration.messages_per_iteration
    if messages > _MOST_MESSAGES:
        raise ValueError(f"a sample of {messages:,} messages")
    # Those of one block were looked at when it was read.
    is_one = len(measurement.blocks) == 1 and not measurement.blocks[0].timed_out
    if not is_one and sum(block.elapsed for block in measurement.blocks) > LONGEST_NS:
        raise ValueError("its blocks are longer than any run")
    if measurement.delivery is not None and measurement.delivery.lost > measurement.delivery.sent:
        raise ValueError("more datagrams were lost than sent")
    for block in measurement.blocks:
        _check_arrivals(block)


def _check_arrivals(block: Block) -> None:
    if not block.arrivals.size:
        return
    if block.arrivals.size != block.times.size:
        raise ValueError("times and arrivals are not as many")
    if block.start is None or block.end is None or block.peer_start is None:
        raise ValueError("arrivals without the moments that they are counted from")


@check.register
def _(comparison: records.ClockComparison) -> None:
    if comparison.rank not in comparison.ranks or 0 in comparison.ranks:
        raise ValueError("a clock that is compared is that of its own ranks, and not rank 0's")


@check.register
def _(aggregate: records.Aggregate) -> None:
    if not aggregate.pairs:
        raise ValueError("an aggregate of no pairs")
    if len(aggregate.spans) != len(aggregate.messages):
        raise ValueError("spans and messages are not as many")
    if sum(aggregate.spans) > LONGEST_NS:
        raise ValueError("its spans are longer than any run")


def _depth(value: Any) -> int:
    """How deep a value of JSON is nested: 0 of a number or a text."""
    deepest, left = 0, [(value, 0)]
    while left:
        each, depth = left.pop()
        deepest = max(deepest, depth)
        if isinstance(each, dict):
            left += [(inner, depth + 1) for inner in each.values()]
        elif isinstance(each, list):
            left += [(inner, depth + 1) for inner in each]
    return deepest


def _misplaced(found: Sequence[Read], ranks_known: bool) -> Iterator[tuple[int, str]]:
    """The records that do not fit the others: the number of the line of each, and why. With
    `ranks_known`, every rank is described in one of them, if any is."""
    described = {each.record.rank for each in found if isinstance(each.record, records.Environment)}
    for number, record in found:
        if isinstance(record, records.Header):
            yield number, "a run begins once"
        elif ranks_known and described:
            unknown = set(_ranks(record)) - described
            if unknown:
                yield number, f"rank {min(unknown)} is none of this run"


def _ranks(record: records.Record) -> Sequence[int]:
    """The ranks that a record has figures of."""
    match record:
        case records.Measurement() | records.Failure():
            return record.configuration.pair
        case records.Aggregate():
            return [rank for pair in record.pairs for rank in pair]
        case Connection() | Carrier():
            return (record.rank, record.peer)
        case Threshold() | Device() | DeviceCopy() | DeviceLatency():
            return (record.rank,)
        case records.ClockComparison():
            return record.ranks
        case _:
            return ()
