"""What this rank spends, and what becomes of its core: read before and after what is timed."""

from __future__ import annotations

import os
import resource
import threading
import time
from typing import NamedTuple

from halftrip.kernel_files import Reader
from halftrip.results.usage import CoreUse, Usage
from halftrip.telemetry.energy import Energy
from halftrip.telemetry.perf_counters import HardwareCounters, HardwareReading, counted_between
from halftrip.telemetry.processors import read_core

_SCHEDULED = "/proc/thread-self/schedstat"
# In less the kernel's steps of 10 ms say nothing of what became of a core.
_LEAST_SECONDS = 0.1
# Of the time that passes so much is counted as something, idle included, where anything is.
_LEAST_COUNTED = 0.5


class Reading(NamedTuple):
    """Where counters stand at one moment; `at` and `waited` are ns. `spent` is of the process or
    the thread, the others are of the thread."""

    at: int
    spent: resource.struct_rusage
    thread: resource.struct_rusage
    waited: int | None
    hardware: HardwareReading | None


class Meter:
    """Reads what is spent: by the whole process, or where it is not `whole`, by each thread."""

    def __init__(self, reader: Reader, whole: bool) -> None:
        self.reader = reader
        self.whole = whole
        self._who = resource.RUSAGE_SELF if whole else resource.RUSAGE_THREAD
        self._threads = threading.local()
        self._energies: dict[int, Energy] = {}

    @property
    def _hardware(self) -> HardwareCounters:
        """Those of this thread, which go with it."""
        if not hasattr(self._threads, "hardware"):
            self._threads.hardware = HardwareCounters()
        counters: HardwareCounters = self._threads.hardware
        return counters

    def _waited(self) -> int | None:
        """For how long this thread could have run, but had no core, ns; None where the kernel does
        not say."""
        texts = (self.reader.text(_SCHEDULED) or "").split()
        figures = self.reader.counts(_SCHEDULED, "", ("ran", "waited", "turns"), texts)
        # Whoever reads this has had a turn: where that is not counted, nothing is.
        return figures.get("waited") if figures.get("turns") else None

    def read(self) -> Reading:
        hardware, waited = self._hardware.read(), self._waited()
        thread, spent = resource.getrusage(resource.RUSAGE_THREAD), resource.getrusage(self._who)
        return Reading(time.perf_counter_ns(), spent, thread, waited, hardware)

    def since(self, before: Reading, exchanges: int) -> Usage:
        """What has been spent since then on so many exchanges."""
        # In the opposite order, so that what is read first then is read last now.
        at, spent = time.perf_counter_ns(), resource.getrusage(self._who)
        thread = resource.getrusage(resource.RUSAGE_THREAD)
        waited, hardware = self._waited(), self._hardware.read()
        instructions = cycles = None
        if hardware is not None and before.hardware is not None:
            instructions = counted_between(before.hardware.instructions, hardware.instructions)
            cycles = counted_between(before.hardware.cycles, hardware.cycles)
        known = waited is not None and before.waited is not None
        return Usage(
            exchanges=exchanges,
            elapsed=(at - before.at) * 1e-9,
            user=spent.ru_utime - before.spent.ru_utime,
            system=spent.ru_stime - before.spent.ru_stime,
            voluntary=thread.ru_nvcsw - before.thread.ru_nvcsw,
            involuntary=thread.ru_nivcsw - before.thread.ru_nivcsw,
            minor_faults=spent.ru_minflt - before.spent.ru_minflt,
            major_faults=spent.ru_majflt - before.spent.ru_majflt,
            # The kernel counts in KiB.
            peak_memory=spent.ru_maxrss * 1024,
            waited=((waited or 0) - (before.waited or 0)) * 1e-9 if known else None,
            instructions=instructions,
            cycles=cycles,
            counted=None if instructions is None else self._hardware.counted,
        )

    def watch_core(self, core: int | None = None) -> CoreWatch | None:
        """Watches a core from now on, or the one that this thread is pinned to; None where it is
        not."""
        cores = os.sched_getaffinity(0) if core is None else {core}
        return CoreWatch(self, next(iter(cores))) if len(cores) == 1 else None

    def energy(self, core: int) -> Energy:
        if core not in self._energies:
            self._energies[core] = Energy(self.reader, core)
        return self._energies[core]

    def own_seconds(self) -> float | None:
        """CPU time of this process; None where it runs on several cores."""
        if not self.whole:
            return None
        spent = resource.getrusage(resource.RUSAGE_SELF)
        return spent.ru_utime + spent.ru_stime


class CoreWatch:
    """Watches core `core` until `close`, from any thread."""

    def __init__(self, meter: Meter, core: int) -> None:
        self.core = core
        self._meter = meter
        self._joules = meter.energy(core).read()
        self._times = read_core(meter.reader, core)
        self._own = meter.own_seconds()
        self._began = time.perf_counter()

    def close(self) -> CoreUse:
        """What became of it; nobody is blamed yet."""
        reader, energy = self._meter.reader, self._meter.energy(self.core)
        watched = time.perf_counter() - self._began
        own = self._meter.own_seconds()
        times = read_core(reader, self.core)
        joules = energy.joules(self._joules, energy.read())
        kilohertz = reader.number(
            f"/sys/devices/system/cpu/cpu{self.core}/cpufreq/scaling_cur_freq"
        )
        passed = {}
        if watched >= _LEAST_SECONDS:
            # Some may become a little less, see proc(5).
            passed = {k: max(times[k] - t, 0.0) for k, t in self._times.items() if k in times}
            if sum(passed.values()) < _LEAST_COUNTED * watched:
                # What has the columns does not count in all kernels, sandboxes among them.
                passed = {}
        others = None
        if own is not None and self._own is not None and "idle" in passed:
            # What it rested, waited for a disk or was stolen, nobody had; the rest we had, or
            # others.
            nobody = sum(passed.get(kind, 0.0) for kind in ("idle", "iowait", "steal"))
            others = max(watched - nobody - (own - self._own), 0.0)
        return CoreUse(
            number=self.core,
            watched=watched,
            others=others,
            stolen=passed.get("steal"),
            hertz=None if kilohertz is None else kilohertz * 1e3,
            joules=joules,
        )
