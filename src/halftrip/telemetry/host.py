"""The counters of a host, and their growth between two moments."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Mapping
from typing import TypeVar

import msgspec
import psutil

from halftrip.clock import raw_now
from halftrip.kernel_files import Reader
from halftrip.telemetry.network import (
    InterfaceInterrupts,
    read_interfaces,
    read_protocols,
    read_softnet,
)
from halftrip.telemetry.processors import read_processors

_VMSTAT = "/proc/vmstat"
# The kernel's names and ours: KiB read from disks and written to them, pages from and to swap.
_PAGING = {
    "pgpgin": "kib_in",
    "pgpgout": "kib_out",
    "pswpin": "swapped_in",
    "pswpout": "swapped_out",
}
_PAGING_LINE = re.compile(rf"^({'|'.join(_PAGING)}) (.*)$", re.MULTILINE)
# psutil takes its path from a global variable, and warnings are global, too: one call at a time.
_psutil_lock = threading.Lock()

_Count = TypeVar("_Count", int, float)


class _Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that `results.counts.HostCounters` describes."""

    memory_used: int | None
    memory_total: int | None
    cpus: dict[str, dict[str, float]]
    counts: dict[str, int]
    interfaces: dict[str, dict[str, int]]
    interrupts: dict[str, dict[str, int]]
    softnet: dict[str, dict[str, int]]


class HostCounts(_Counts, frozen=True, kw_only=True):
    """The growth of a host's counters from `began` to `ended`, ns of its CLOCK_MONOTONIC_RAW.
    `memory_used` and `memory_total` are the values at the end, bytes."""

    began: int
    ended: int


class _Snapshot(_Counts, frozen=True, kw_only=True):
    """A host's counters at one moment, `at`, ns of its CLOCK_MONOTONIC_RAW."""

    at: int


class Counters:
    """The counters of the host whose files `reader` reads."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interrupts = InterfaceInterrupts(reader)
        self._last = self._take()

    def advance(self) -> HostCounts:
        """The growth since the last call, or since this object was made."""
        before, self._last = self._last, self._take()
        now = self._last
        return HostCounts(
            began=before.at,
            ended=now.at,
            memory_used=now.memory_used,
            memory_total=now.memory_total,
            cpus=_growth_of_each(before.cpus, now.cpus),
            counts=_growth(before.counts, now.counts),
            interfaces=_growth_of_each(before.interfaces, now.interfaces),
            interrupts=_growth_of_each(before.interrupts, now.interrupts),
            softnet=_growth_of_each(before.softnet, now.softnet),
        )

    def _take(self) -> _Snapshot:
        reader = self._reader
        # Read once: psutil would read this file three times, and it is long on many cores.
        processors = read_processors(reader)
        used, total = self._memory()
        return _Snapshot(
            at=raw_now(),
            memory_used=used,
            memory_total=total,
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

    def _memory(self) -> tuple[int, int] | tuple[None, None]:
        """What is used, without buffers and cache, and all there is, bytes; None, with a warning,
        if /proc/meminfo is malformed."""
        with _psutil_lock, warnings.catch_warnings():
            # psutil warns where a figure is missing, and takes it for 0.
            warnings.simplefilter("error", RuntimeWarning)
            saved, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(self._reader.root / "proc")
            try:
                memory = psutil.virtual_memory()
            except FileNotFoundError:
                return None, None
            except (OSError, ValueError, LookupError, RuntimeWarning) as error:
                self._reader.warn("/proc/meminfo", f"psutil cannot read it: {error}; left out")
                return None, None
            finally:
                psutil.PROCFS_PATH = saved
        used = int(memory.total - memory.free - memory.buffers - memory.cached)
        return used, int(memory.total)


def _growth(before: Mapping[str, _Count], now: Mapping[str, _Count]) -> dict[str, _Count]:
    """How much the counters in both have grown. One that became smaller was reset, and is left
    out."""
    # Times are whole ticks of 10 ms or so: rounding removes what the subtraction of floats adds.
    return {
        name: round(value - before[name], 6)
        for name, value in now.items()
        if name in before and value >= before[name]
    }


def _growth_of_each(
    before: Mapping[str, Mapping[str, _Count]], now: Mapping[str, Mapping[str, _Count]]
) -> dict[str, dict[str, _Count]]:
    return {name: _growth(before[name], counts) for name, counts in now.items() if name in before}
