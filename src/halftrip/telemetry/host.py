"""The counters of a host, and what they have counted between two moments."""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Mapping
from typing import TypeVar

import msgspec
import psutil

from halftrip.kernel_files import Reader
from halftrip.telemetry.network import (
    InterfaceInterrupts,
    read_interfaces,
    read_protocols,
    read_softnet,
)
from halftrip.telemetry.processors import read_processors

_VMSTAT = "/proc/vmstat"
# The kernel's names and ours: KiB that came from disks and went there, pages to and from swap.
_PAGING = {
    "pgpgin": "kib_in",
    "pgpgout": "kib_out",
    "pswpin": "swapped_in",
    "pswpout": "swapped_out",
}
_PAGING_LINE = re.compile(rf"^({'|'.join(_PAGING)}) (.*)$", re.MULTILINE)
# psutil is told where to look by a variable of all of the process, and how by its warnings.
_asking = threading.Lock()

_Count = TypeVar("_Count", int, float)


class _Counts(msgspec.Struct, frozen=True, kw_only=True):
    """As in `model.System`."""

    memory_used: int | None
    cpus: dict[str, dict[str, float]]
    counts: dict[str, int]
    interfaces: dict[str, dict[str, int]]
    interrupts: dict[str, dict[str, int]]
    softnet: dict[str, dict[str, int]]


class Counted(_Counts, frozen=True, kw_only=True):
    """What a host's counters have counted from `began` to `ended`, ns of its CLOCK_MONOTONIC_RAW.
    `memory_used` is that of the end, bytes."""

    began: int
    ended: int


class _Snapshot(_Counts, frozen=True, kw_only=True):
    """Where a host's counters stand at one moment."""

    at: int


class Counters:
    """The counters of this host, or of what is made up below the reader's root."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interrupts = InterfaceInterrupts(reader)
        self._last = self._take()

    def advance(self) -> Counted:
        """What has been counted since this was last called, or since the beginning."""
        before, self._last = self._last, self._take()
        now = self._last
        return Counted(
            began=before.at,
            ended=now.at,
            memory_used=now.memory_used,
            cpus=_each_passed(before.cpus, now.cpus),
            counts=_passed(before.counts, now.counts),
            interfaces=_each_passed(before.interfaces, now.interfaces),
            interrupts=_each_passed(before.interrupts, now.interrupts),
            softnet=_each_passed(before.softnet, now.softnet),
        )

    def _take(self) -> _Snapshot:
        reader = self._reader
        # In one go: psutil would read this file three times, and it is long where cores are many.
        processors = read_processors(reader)
        return _Snapshot(
            at=time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
            memory_used=self._memory_used(),
            cpus=processors.times,
            counts=processors.counts | self._paging() | read_protocols(reader),
            interfaces=read_interfaces(reader),
            interrupts=self._interrupts.read(),
            softnet=read_softnet(reader),
        )

    def _paging(self) -> dict[str, int]:
        found = _PAGING_LINE.findall(self._reader.text(_VMSTAT) or "")
        names, texts = [name for name, _ in found], [text for _, text in found]
        counts = self._reader.counts(_VMSTAT, "", names, texts)
        return {_PAGING[name]: count for name, count in counts.items()}

    def _memory_used(self) -> int | None:
        """Bytes, without buffers and cache; None, with a warning, where psutil finds it odd."""
        with _asking, warnings.catch_warnings():
            # That something is missing, and taken for 0.
            warnings.simplefilter("error", RuntimeWarning)
            usual, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(self._reader.root / "proc")
            try:
                memory = psutil.virtual_memory()
            except FileNotFoundError:
                return None
            except (OSError, ValueError, LookupError, RuntimeWarning) as error:
                self._reader.warn("/proc/meminfo", f"psutil cannot read it: {error}; left out")
                return None
            finally:
                psutil.PROCFS_PATH = usual
        return int(memory.total - memory.free - memory.buffers - memory.cached)


def _passed(before: Mapping[str, _Count], now: Mapping[str, _Count]) -> dict[str, _Count]:
    """By how much what is in both has grown; what has become less has begun anew."""
    # Times are in whole ticks; their differences are, too.
    return {
        name: round(value - before[name], 6)
        for name, value in now.items()
        if name in before and value >= before[name]
    }


def _each_passed(
    before: Mapping[str, Mapping[str, _Count]], now: Mapping[str, Mapping[str, _Count]]
) -> dict[str, dict[str, _Count]]:
    return {name: _passed(before[name], counts) for name, counts in now.items() if name in before}
