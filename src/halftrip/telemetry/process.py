"""What a rank spends, and how its core is used: read before and after timed code."""

from __future__ import annotations

import os
import re
import resource
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from halftrip.kernel_files import Reader
from halftrip.results.usage import BusiestTask, CoreUse, Usage
from halftrip.telemetry.busiest_task import busiest_task
from halftrip.telemetry.processors import read_core

_ZONES = "/sys/class/powercap"
# A zone of a whole package, such as intel-rapl:0; those of its parts have two numbers. AMD's zones
# have the same names.
_PACKAGE = re.compile(r"intel-rapl:\d+")


class Energy:
    """The energy counter of the package that core `core` is in."""

    def __init__(self, reader: Reader, core: int) -> None:
        self._reader = reader
        self._zone = self._zone_of(core)

    def _zone_of(self, core: int) -> str | None:
        zones = [name for name in self._reader.names(_ZONES) if _PACKAGE.fullmatch(name)]
        if not zones:
            return None
        topology = f"/sys/devices/system/cpu/cpu{core}/topology"
        package = self._reader.number(f"{topology}/physical_package_id")
        die = self._reader.number(f"{topology}/die_id")
        # The second name is used where a package has several dies, each with its own zone.
        names = (f"package-{package}", f"package-{package}-die-{die}")
        for zone in zones if package is not None else ():
            name = self._reader.text(f"{_ZONES}/{zone}/name")
            if name and name.strip() in names:
                return f"{_ZONES}/{zone}"
        return None

    def read(self) -> int | None:
        """The counter, uJ; None where it cannot be read. Usually only root may."""
        return None if self._zone is None else self._reader.number(f"{self._zone}/energy_uj")

    def joules(self, before: int | None, after: int | None) -> float | None:
        """J between two readings. After its largest value the counter begins again at 0."""
        if before is None or after is None:
            return None
        if after < before:
            largest = self._reader.number(f"{self._zone}/max_energy_range_uj")
            if largest is None:
                return None
            after += largest + 1
        return (after - before) * 1e-6


_Result = TypeVar("_Result")
_SCHEDULED = "/proc/thread-self/schedstat"
# In a shorter time the kernel's steps of 10 ms do not tell whether it counts at all.
_LEAST_SECONDS = 0.1
# The busiest task of a core is looked for no more often.
_LOOK_SECONDS = 1.0
# A kernel that counts at all counts at least this share of the time, idle included.
_LEAST_COUNTED = 0.5


class UsageReading(NamedTuple):
    """The counters at one moment; `at` and `waited` are ns. `spent` is of the process or of the
    thread, see `Meter`; the others are of the thread."""

    at: int
    spent: resource.struct_rusage
    thread: resource.struct_rusage
    waited: int | None


class Meter:
    """Reads what this process spends: the whole of it or, if not `whole`, the calling thread."""

    def __init__(self, reader: Reader, whole: bool) -> None:
        self.reader = reader
        self._whole = whole
        self._who = resource.RUSAGE_SELF if whole else resource.RUSAGE_THREAD
        self._threads = threading.local()
        self._energies: dict[int, Energy] = {}
        self._busiest: dict[int, tuple[float, BusiestTask | None]] = {}
        # When a core was first watched, and its times then.
        self._since: dict[int, tuple[float, dict[str, float]]] = {}

    def _waited(self) -> int | None:
        """For how long this thread was ready to run but had no core, ns; None where the kernel does
        not say."""
        if not hasattr(self._threads, "scheduled"):
            self._threads.scheduled = self.reader.kept(_SCHEDULED)
        texts = (self._threads.scheduled.text() or "").split()
        figures = self.reader.counts(_SCHEDULED, "", ("ran", "waited", "turns"), texts)
        # The reading thread has had a turn: where turns are not counted, nothing is.
        return figures.get("waited") if figures.get("turns") else None

    def read(self) -> UsageReading:
        waited = self._waited()
        thread, spent = resource.getrusage(resource.RUSAGE_THREAD), resource.getrusage(self._who)
        return UsageReading(time.perf_counter_ns(), spent, thread, waited)

    def spent(self, call: Callable[[], _Result], iterations: int) -> tuple[_Result, Usage]:
        """The result of `call`, which does so many iterations, and the resources that it used."""
        before = self.read()
        # Between the readings nothing is looked up by name: where the interpreter does that, it
        # writes to pages of its own that a fork shares at first. A reading that nobody keeps leaves
        # the memory that the next one takes.
        getrusage, who = resource.getrusage, self._who
        getrusage(who)
        began = getrusage(who)
        result = call()
        ended = getrusage(who)
        return result, self.since(before._replace(spent=began), iterations, ended)

    def since(
        self, before: UsageReading, iterations: int, ended: resource.struct_rusage | None = None
    ) -> Usage:
        """The resources used since the reading `before`, on this number of iterations; what is
        `spent` until `ended`, if that was read already."""
        # In the opposite order: what `read` reads first is read last here.
        at, spent = time.perf_counter_ns(), ended or resource.getrusage(self._who)
        thread = resource.getrusage(resource.RUSAGE_THREAD)
        waited = self._waited()
        known = waited is not None and before.waited is not None
        return Usage(
            iterations=iterations,
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
        )

    def watch_core(self, core: int | None = None) -> CoreWatch | None:
        """Watches a core from now on (None: the one that this thread is pinned to). None if the
        thread is not pinned."""
        cores = os.sched_getaffinity(0) if core is None else {core}
        return CoreWatch(self, next(iter(cores))) if len(cores) == 1 else None

    def energy(self, core: int) -> Energy:
        """The energy counter of a core's package."""
        if core not in self._energies:
            self._energies[core] = Energy(self.reader, core)
        return self._energies[core]

    def counts(self, core: int, at: float, times: dict[str, float]) -> bool:
        """Whether the kernel counts the `times` of a core, as they are now, at the moment `at`, by
        time.perf_counter. Some kernels, such as those of sandboxes, have the columns but do not."""
        since, before = self._since.setdefault(core, (at, times))
        counted = sum(times.values()) - sum(before.values())
        return at - since < _LEAST_SECONDS or counted >= _LEAST_COUNTED * (at - since)

    def busiest_task(self, core: int) -> BusiestTask | None:
        """The task of another process that runs most on a core; looked for at most once a second,
        as that takes 20 ms."""
        now = time.monotonic()
        if core not in self._busiest or now - self._busiest[core][0] > _LOOK_SECONDS:
            self._busiest[core] = now, busiest_task(core)
        return self._busiest[core][1]

    def own_seconds(self) -> float | None:
        """The CPU time of this process; None where its threads run on several cores."""
        if not self._whole:
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
        meter.counts(core, self._began, self._times)

    def close(self) -> CoreUse:
        """The use of the core so far, without its `busiest_task`. The kernel counts in steps, so
        the figures of a short time mean something only as part of a sum; `others` may be below
        0."""
        reader, energy = self._meter.reader, self._meter.energy(self.core)
        now = time.perf_counter()
        watched = now - self._began
        own = self._meter.own_seconds()
        times = read_core(reader, self.core)
        joules = energy.joules(self._joules, energy.read())
        kilohertz = reader.number(
            f"/sys/devices/system/cpu/cpu{self.core}/cpufreq/scaling_cur_freq"
        )
        passed = {}
        if self._meter.counts(self.core, now, times):
            # Some counters may decrease a little, see proc(5).
            passed = {
                kind: max(times[kind] - before, 0.0)
                for kind, before in self._times.items()
                if kind in times
            }
        others = None
        if own is not None and self._own is not None and "idle" in passed:
            # Idle, waiting for a disk, or steal: no task of this host had the core.
            unused = sum(passed.get(kind, 0.0) for kind in ("idle", "iowait", "steal"))
            others = watched - unused - (own - self._own)
        return CoreUse(
            number=self.core,
            watched=watched,
            others=others,
            steal=passed.get("steal"),
            hertz=None if kilohertz is None else kilohertz * 1e3,
            joules=joules,
        )
