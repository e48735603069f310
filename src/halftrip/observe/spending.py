"""What this rank spends, and what becomes of its core: read before and after what is timed."""

from __future__ import annotations

import os
import resource
import threading
import time
from typing import NamedTuple

import msgspec

from halftrip.observe.culprit import culprit
from halftrip.observe.energy import Energy
from halftrip.observe.hardware import HardwareCounters
from halftrip.observe.processors import read_core
from halftrip.observe.reading import Reader
from halftrip.usage import CoreUse, Usage


class Reading(NamedTuple):
    """Where a thread's counters stand at one moment; `at` and `waited` are ns."""

    at: int
    spent: resource.struct_rusage
    waited: int | None
    hardware: tuple[int, int] | None


class _Thread:
    """What is kept open for a thread."""

    def __init__(self, root: str) -> None:
        self.hardware = HardwareCounters()
        self._scheduled: int | None = None
        try:
            self._scheduled = os.open(f"{root}/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._scheduled = None

    def waited(self) -> int | None:
        """For how long it could have run, but had no core, ns; None where the kernel does not
        say."""
        if self._scheduled is None:
            return None
        try:
            return int(os.pread(self._scheduled, 100, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return None

    def __del__(self) -> None:
        if self._scheduled is not None:
            os.close(self._scheduled)


class Meter:
    """Reads what is spent: by the whole process, or where it is not `whole`, by each thread."""

    def __init__(self, reader: Reader, whole: bool) -> None:
        self.reader = reader
        self.whole = whole
        self._who = resource.RUSAGE_SELF if whole else resource.RUSAGE_THREAD
        self._threads = threading.local()

    def _thread(self) -> _Thread:
        if not hasattr(self._threads, "own"):
            self._threads.own = _Thread(str(self.reader.root).rstrip("/"))
        own: _Thread = self._threads.own
        return own

    def read(self) -> Reading:
        own = self._thread()
        hardware, waited = own.hardware.read(), own.waited()
        return Reading(time.perf_counter_ns(), resource.getrusage(self._who), waited, hardware)

    def since(self, before: Reading, exchanges: int) -> Usage:
        """What has been spent since then on so many exchanges."""
        # In the opposite order, so that what is read first then is read last now.
        at, spent = time.perf_counter_ns(), resource.getrusage(self._who)
        own = self._thread()
        waited, hardware = own.waited(), own.hardware.read()
        both = (before.hardware, hardware)
        counted = None if None in both else [b - a for a, b in zip(*both, strict=True)]  # type: ignore[arg-type]
        return Usage(
            exchanges=exchanges,
            elapsed=(at - before.at) * 1e-9,
            user=spent.ru_utime - before.spent.ru_utime,
            system=spent.ru_stime - before.spent.ru_stime,
            voluntary=spent.ru_nvcsw - before.spent.ru_nvcsw,
            involuntary=spent.ru_nivcsw - before.spent.ru_nivcsw,
            minor_faults=spent.ru_minflt - before.spent.ru_minflt,
            major_faults=spent.ru_majflt - before.spent.ru_majflt,
            # The kernel counts in KiB.
            peak_memory=spent.ru_maxrss * 1024,
            waited=None
            if waited is None or before.waited is None
            else (waited - before.waited) * 1e-9,
            instructions=counted[0] if counted else None,
            cycles=counted[1] if counted else None,
            counted=own.hardware.counted if counted else None,
        )

    def watch_core(self) -> CoreWatch | None:
        """Watches the core that this thread is pinned to from now on; None where it is not."""
        cores = os.sched_getaffinity(0)
        return CoreWatch(self, next(iter(cores))) if len(cores) == 1 else None


class CoreWatch:
    """Watches core `core` until `close`."""

    def __init__(self, meter: Meter, core: int) -> None:
        self._meter = meter
        self._core = core
        self._energy = Energy(meter.reader, core)
        self._joules = self._energy.read()
        self._times = read_core(meter.reader, core)
        self._began = meter.read()

    def close(self, shared: bool) -> CoreUse:
        """What became of it. `shared`: with another rank, so that nobody else is to blame."""
        reader = self._meter.reader
        spent = self._meter.since(self._began, exchanges=0)
        times = read_core(reader, self._core)
        joules = self._energy.joules(self._joules, self._energy.read())
        kilohertz = reader.number(
            f"/sys/devices/system/cpu/cpu{self._core}/cpufreq/scaling_cur_freq"
        )
        passed = {
            kind: times[kind] - before for kind, before in self._times.items() if kind in times
        }
        others = None
        # A process of several threads runs on several cores.
        if self._meter.whole and "idle" in passed:
            # What it rested, waited for a disk or was stolen, nobody had; the rest we had, or
            # others.
            nobody = sum(passed.get(kind, 0.0) for kind in ("idle", "iowait", "steal"))
            others = max(spent.elapsed - nobody - spent.busy, 0.0)
        use = CoreUse(
            number=self._core,
            watched=spent.elapsed,
            others=others,
            stolen=max(passed["steal"], 0.0) if "steal" in passed else None,
            hertz=None if kilohertz is None else kilohertz * 1e3,
            joules=joules,
        )
        taken = msgspec.structs.replace(spent, core=use).taken_share
        if not taken or shared or not self._meter.whole:
            return use
        return msgspec.structs.replace(use, culprit=culprit(self._core))
