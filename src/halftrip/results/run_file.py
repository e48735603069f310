"""The run file: JSON Lines, one record a line, each written as soon as it exists.

Records, in the order in which they come:

- ``run`` (Head): format version, plan, command; always the first line;
- ``environment``: one for each rank;
- ``skip``: what was asked for and cannot be measured, with the reason;
- ``measurement``: a case in one repetition, with its samples;
- ``failure``: a case that went wrong;
- ``together``: pairs that talked at the same time, after the measurements of each;
- ``copy``: a bound;
- ``system``: what the counters of a host have counted, before, after each case, and after all;
- ``notice``: what was found odd, and left out;
- ``end``: complete, or why not. A file without one was cut off.

Format versions, newest first; every one that was ever released can be read:

- 4: ``usage`` and ``preemptions`` in ``measurement``, ``logged`` in ``end``; records ``system`` and
  ``notice``. What an older file says of switches is not read.
- 3: launches: a number in most records, and cores of threads in ``environment``; blocks of samples,
  and the line after each, in ``measurement``. Of older files there is one launch, 0.
- 2: patterns other than ping-pong, and what they need; records ``failure`` and ``together``.
- 1: the first. What is new since has defaults that say what was meant.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from halftrip.errors import HalftripError, UsageError
from halftrip.results.records import (
    CopyBound,
    End,
    Environment,
    Failure,
    Head,
    Measurement,
    Notice,
    Skip,
    System,
    Together,
)
from halftrip.results.run import Run

FORMAT = 4

Record = (
    Head | Environment | Skip | Measurement | Failure | Together | CopyBound | System | Notice | End
)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """One line of a run file, its newline included."""
    return _encoder.encode(record) + b"\n"


def default_name(now: datetime | None = None) -> str:
    """A name for a run file that sorts by time and is new: ``halftrip-20260131-120000.jsonl``."""
    stem = (now or datetime.now()).strftime("halftrip-%Y%m%d-%H%M%S")
    name = f"{stem}.jsonl"
    count = 1
    while os.path.exists(name):
        count += 1
        name = f"{stem}-{count}.jsonl"
    return name


def utc_now() -> str:
    """The time of day in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RunFile:
    """A run file that is being written. What has been appended is out, in whole lines."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Creates the file; raises UsageError if it exists already or cannot be created."""
        self.path = Path(path)
        self._ended = False
        self._size = 0
        # A watch may end the file while the main thread is still writing to it.
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(
                self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666
            )
        except FileExistsError:
            raise UsageError(f"{path}: exists already; choose another name") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{path}: cannot be written: {reason}") from None

    def append(self, line: bytes, last: bool = False) -> None:
        """Writes one line, `last` if it is the end: a second end is not written. Raises
        HalftripError if it cannot be written (a full disk); then nothing of it is."""
        with self._lock:
            if last and self._ended:
                return
            rest = line
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError as error:
                os.ftruncate(self._descriptor, self._size)
                raise HalftripError(f"{self.path}: {(error.strerror or str(error))}") from None
            self._size += len(line)
            self._ended = self._ended or last

    def end(self, end: End) -> None:
        """Writes how the run ended, unless that has been said already."""
        self.append(encode(end), last=True)

    def close(self) -> None:
        os.close(self._descriptor)

    def discard(self) -> None:
        """Removes the file: what was asked for was a mistake, and nothing came of it."""
        self.path.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Run:
    """Reads a run file.

    A last line that was cut off is left out and named in the run's `problems`. Raises UsageError if
    the file cannot be read, is no run file, or has a line in its midst that is no record.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    *whole, last = content.split(b"\n")
    _check_head(path, whole[0] if whole else last)
    records: list[Record] = []
    problems = []
    for number, line in enumerate(whole, start=1):
        try:
            records.append(_decoder.decode(line))
        except msgspec.DecodeError as error:
            raise UsageError(f"{path}: line {number} is not a record: {error}") from None
    if last:
        try:
            records.append(_decoder.decode(last))
        except msgspec.DecodeError:
            problems.append(f"{path}: line {len(whole) + 1}, the last, is cut off; it was left out")
    return _assemble(records, problems)


def _check_head(path: str | os.PathLike[str], line: bytes) -> None:
    """Raises UsageError unless the line begins a run file of a format that is known here."""
    try:
        head = msgspec.json.decode(line)
    except msgspec.DecodeError:
        head = None
    if not isinstance(head, dict) or head.get("record") != "run":
        raise UsageError(f"{path}: not a run file of halftrip")
    version = head.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise UsageError(f"{path}: format {version} is newer than {FORMAT}; update halftrip")


def _assemble(records: list[Record], problems: list[str]) -> Run:
    head = records[0]
    if not isinstance(head, Head):  # _check_head saw to it
        raise TypeError("a run file begins with its head")
    ends = _those(records, End)
    return Run(
        head=head,
        environments=_those(records, Environment),
        skips=_those(records, Skip),
        measurements=_those(records, Measurement),
        failures=_those(records, Failure),
        togethers=_those(records, Together),
        copies=_those(records, CopyBound),
        systems=_those(records, System),
        notices=_those(records, Notice),
        end=ends[-1] if ends else None,
        problems=tuple(problems),
    )


_Kind = TypeVar("_Kind")


def _those(records: list[Record], kind: type[_Kind]) -> tuple[_Kind, ...]:
    return tuple(record for record in records if isinstance(record, kind))
