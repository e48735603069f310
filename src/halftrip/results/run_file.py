"""The run file: JSON Lines, one record a line, each written as soon as it exists.

Records (`records`), in the order in which they come:

- ``run``: the format's version, plan, command; always the first line;
- ``source``: a table of another tool's output that was imported;
- ``environment``: one for each rank;
- ``skip``: a request that cannot be measured, with the reason;
- ``launch``: a launch of a run that varies something begins: its round, and what it has;
- ``launch-failure``: a launch of such a run that could not begin or go on, so that others did;
- ``measurement``: one slice of a configuration, with its samples;
- ``again``: from which launch on measurements replace older ones of the same configurations;
- ``lost``: a host that was lost, so that the others go on without it;
- ``failure``: a configuration that went wrong;
- ``aggregate``: pairs that talked at the same time, after the measurements of each;
- ``connection``: the path of a transport between two hosts, at each end;
- ``threshold``: a size from which on messages are handled in another way;
- ``clocks``: how far the clock of a host is ahead of rank 0's;
- ``copy``: the time of a memcpy;
- ``device``: a device whose memory the plan names, after the environments;
- ``device-copy``, ``device-latency``: the times of its copies and of waiting for it;
- ``system``: the counters of a host, before all configurations, after each or after several short
  ones, and after all;
- ``hardware-counters``: what both ends of a configuration took in a slice that was counted, not
  timed;
- ``notice``: what could not be read in the kernel's files and was left out, or what the kernel gave
  less of than was asked for;
- ``end``: complete, or why not. A file without one was cut off.

The first release writes version 1 of the format. Every version that was released is read.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, get_args, get_origin, get_type_hints

import msgspec

from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.results import records
from halftrip.results.block import encode_array
from halftrip.results.reading import FORMAT, decode, read
from halftrip.results.records import Record
from halftrip.results.run import Run
from halftrip.texts import printable

__all__ = [
    "FORMAT",
    "RunFile",
    "assemble",
    "decode",
    "default_name",
    "encode",
    "environments_in",
    "load",
    "newest",
    "utc_now",
]

# How the line of an environment begins.
_ENVIRONMENT = b'{"record":"environment"'
_encoder = msgspec.json.Encoder(enc_hook=encode_array)


def encode(record: Record) -> bytes:
    """One line of a run file, its newline included."""
    return _encoder.encode(record) + b"\n"


def newest() -> Path:
    """The newest run file with a name of halftrip's in this directory that has a row, or, where
    none has, the newest. Raises UsageError if there is none."""
    files = [path for path in Path().glob("halftrip-*.jsonl") if path.is_file()]
    found = sorted(files, key=lambda path: -path.stat().st_mtime)
    if not found:
        raise UsageError("no run file (halftrip-*.jsonl) in this directory; name one")
    return next(filter(_has_rows, found), found[0])


def _has_rows(path: Path) -> bool:
    """Whether a run file has a row; also where it cannot be read, which is said then."""
    try:
        with open(path, "rb") as file:
            return any(line.startswith(b'{"record":"measurement"') for line in file)
    except OSError:
        return True


def default_name(now: datetime | None = None) -> str:
    """A name for a run file that sorts by time and is new: ``halftrip-20260131-120000.jsonl``."""
    stem = (now or moment()).strftime("halftrip-%Y%m%d-%H%M%S")
    name = f"{stem}.jsonl"
    count = 1
    while os.path.exists(name):
        count += 1
        name = f"{stem}-{count}.jsonl"
    return name


def utc_now() -> str:
    """The time of day in UTC, ISO 8601, to the second."""
    return moment(UTC).isoformat(timespec="seconds")


def moment(zone: tzinfo | None = None) -> datetime:
    """Now. Raises HalftripError where the machine's clock is wrong by thousands of years."""
    try:
        return datetime.now(zone)
    except (ValueError, OverflowError, OSError) as error:
        raise HalftripError(f"the clock of this machine: {error}; set it, as with date") from None


class RunFile:
    """A run file that is being written, in whole lines and without a buffer."""

    def __init__(self, path: str | os.PathLike[str], resumed: bool = False) -> None:
        """Creates the file; raises UsageError if it exists already or cannot be created. With
        `resumed`, it goes on with a file that exists, without its last line if that is cut off."""
        self.path = Path(path)
        self._ended = False
        create = 0 if resumed else os.O_CREAT | os.O_EXCL
        self._size = _whole_bytes(path) if resumed else 0
        # What a resumed file had before.
        self._former_size = self._size if resumed else None
        # The watchdog's thread may end the file while the main thread writes to it.
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(
                self.path, os.O_WRONLY | create | os.O_APPEND | os.O_CLOEXEC, 0o666
            )
            os.ftruncate(self._descriptor, self._size)
        except FileExistsError:
            raise UsageError(f"{path}: exists already; choose another name") from None
        except OSError as error:
            reason = system_reason(error).lower()
            raise UsageError(f"{path}: cannot be written: {reason}") from None

    def append(self, lines: bytes, last: bool = False) -> None:
        """Writes whole lines; `last` marks the end, and a second end is not written. Raises
        HalftripError if it cannot be written (a full disk); then no part of it stays."""
        with self._lock:
            if last and self._ended:
                return
            rest = lines
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
                self._size += len(lines)
            except BaseException as error:
                # A signal may raise between two writes.
                os.ftruncate(self._descriptor, self._size)
                if isinstance(error, OSError):
                    raise HalftripError(f"{self.path}: {system_reason(error)}") from None
                raise
            self._ended = self._ended or last

    def end(self, end: records.RunEnd) -> None:
        """Writes how the run ended, unless the file has an end already."""
        self.append(encode(end), last=True)

    def end_early(self, reason: str) -> None:
        """Writes why the run ended early, if that can be written: the disk may be full."""
        with contextlib.suppress(HalftripError):
            self.end(records.RunEnd(reason=reason))

    def close(self) -> None:
        os.close(self._descriptor)

    def discard(self) -> None:
        """Removes the file, for a run that failed before it measured anything; of a resumed one,
        what was added."""
        if self._former_size is None:
            self.path.unlink(missing_ok=True)
        else:
            os.truncate(self.path, self._former_size)


def _whole_bytes(path: str | os.PathLike[str]) -> int:
    """How many bytes of a file are whole lines. Raises UsageError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return sum(len(line) for line in file if line.endswith(b"\n"))
    except OSError as error:
        raise UsageError(f"{path}: {system_reason(error).lower()}") from None


def load(path: str | os.PathLike[str]) -> Run:
    """Reads a run file, one line at a time.

    A line that is no record, or one that makes no sense, is left out and named in the run's
    `problems`, as is a last line that was cut off. Raises UsageError if the file cannot be read, or
    is not a run file.
    """
    name = printable(os.fsdecode(path)) or "''"
    try:
        with _opened(path) as file:
            return assemble(*read(file, name))
    except OSError as error:
        raise UsageError(f"{name}: {system_reason(error).lower()}") from None


def hosts(path: str | os.PathLike[str]) -> set[str]:
    """The names of the hosts in a run file that halftrip has just written: much less work than to
    load it."""
    with _opened(path) as file:
        return {found.host for found in environments_in(file)}


def environments_in(lines: Iterable[bytes]) -> Iterator[records.Environment]:
    """The environments in lines of a run file that halftrip has just written."""
    for line in lines:
        if line.startswith(_ENVIRONMENT):
            found = decode(line)
            assert isinstance(found, records.Environment)
            yield found


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open(path, "rb")
    except ValueError:
        # With a zero byte in it.
        raise UsageError(f"{printable(os.fsdecode(path))}: no file can have this name") from None


@cache
def _fields() -> dict[type, str]:
    """The field of a run that has the records of each kind."""
    hints = get_type_hints(Run)
    return {get_args(hint)[0]: name for name, hint in hints.items() if get_origin(hint) is tuple}


def assemble(header: records.Header, found: Iterable[Record], problems: Iterable[str] = ()) -> Run:
    """The run that consists of these records."""
    fields = _fields()
    by_field: dict[str, list[Any]] = {}
    end = None
    for record in found:
        if isinstance(record, records.RunEnd):
            end = record
        elif type(record) in fields:
            by_field.setdefault(fields[type(record)], []).append(record)
    return Run(
        header=header,
        end=end,
        problems=tuple(problems),
        **{name: tuple(of_kind) for name, of_kind in by_field.items()},
    )
