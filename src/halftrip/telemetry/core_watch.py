"""What is seen of the core of a rank, and of what else keeps it from running, during a slice."""

from __future__ import annotations

import time
from functools import cached_property
from typing import NamedTuple, TypeVar

from halftrip.cpus import siblings_of
from halftrip.kernel_files import Reader
from halftrip.results.usage import CoreUse
from halftrip.telemetry import environment
from halftrip.telemetry.control_groups import Throttles
from halftrip.telemetry.energy import Energy
from halftrip.telemetry.processors import CoreTimes
from halftrip.telemetry.task_times import task_times

# In a shorter time the kernel's steps of 10 ms do not tell whether it counts at all.
_LEAST_SECONDS = 0.1
# A kernel that counts at all counts at least this share of the time, idle included.
_LEAST_COUNTED = 0.5
_UNUSED = ("idle", "iowait", "steal")
_SNMP = "/proc/net/snmp"


class CoreFiles:
    """The files that tell of core `number`, which stay open from slice to slice."""

    def __init__(self, reader: Reader, number: int) -> None:
        self.number = number
        self._siblings = [other for other in siblings_of(number, reader) if other != number]
        self._times = CoreTimes(reader, (number, *self._siblings))
        self._tasks = task_times(reader, number)
        self._throttles = Throttles(reader)
        self._snmp = reader.kept(_SNMP)
        self._hertz = reader.kept(f"/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_cur_freq")
        self.energy = Energy(reader, number)
        # When it was first watched, and its times then.
        self._since: tuple[float, dict[str, float]] | None = None
        self._reader = reader

    def read(self, whole: bool, retransmits: bool) -> CoreReading:
        """All counters at this moment. The time of this thread is read just before that of all
        tasks on the core, so that both are of the same moment. It is left out if not `whole`: then
        the reading thread may be another one than that which talks."""
        own = time.thread_time() if whole else None
        tasks = None if self._tasks is None or own is None else self._tasks()
        now = time.perf_counter()
        core, *siblings = self._times.read()
        return CoreReading(
            at=now,
            own=own,
            tasks=tasks,
            times=core if self._counts(now, core) else {},
            siblings=[
                sum(times.get(kind, 0.0) for kind in _UNUSED) if "idle" in times else None
                for times in siblings
            ],
            throttled=self._throttles.read(),
            retransmits=_retransmits(self._snmp.text()) if retransmits else None,
            microjoules=self.energy.read(),
        )

    def hertz(self) -> float | None:
        """The frequency of the core now."""
        text = (self._hertz.text() or "").strip()
        return int(text) * 1e3 if text.isdecimal() else None

    def steals(self, times: dict[str, float]) -> bool:
        """Whether steal time is counted: of hypervisors that count none it is 0 since boot."""
        return times.get("steal", 0.0) > 0 or not self._is_virtual

    @cached_property
    def _is_virtual(self) -> bool:
        # Read only where it matters: of many cores it takes some ms.
        return environment.hypervisor(self._reader) not in ("none", None)

    def _counts(self, at: float, times: dict[str, float]) -> bool:
        """Whether the kernel counts the `times` of the core, as they are now, at the moment `at`,
        by time.perf_counter. Some kernels, such as those of sandboxes, have the columns but do
        not."""
        if self._since is None:
            self._since = at, times
        since, before = self._since
        counted = sum(times.values()) - sum(before.values())
        return at - since < _LEAST_SECONDS or counted >= _LEAST_COUNTED * (at - since)


class CoreReading(NamedTuple):
    """The counters at one moment, s unless said otherwise: `at` by time.perf_counter; the CPU time
    of the thread that reads (`own`) and of all `tasks` on the core; its `times` by kind, and those
    for which each of its SMT `siblings` was not used; for how long a quota had `throttled` this
    process; the segments that TCP sent again. None: not known."""

    at: float
    own: float | None
    tasks: float | None
    times: dict[str, float]
    siblings: list[float | None]
    throttled: list[float | None]
    retransmits: int | None
    microjoules: int | None


class CoreWatch:
    """Watches the core of `files` until `close`; see `CoreFiles.read`."""

    def __init__(self, files: CoreFiles, whole: bool, counts_retransmits: bool) -> None:
        self._files = files
        self._whole = whole
        self._counts_retransmits = counts_retransmits
        self._before = files.read(whole, counts_retransmits)

    @property
    def core(self) -> int:
        return self._files.number

    def close(self) -> CoreUse:
        """The use of the core so far, without its `busiest_task`. The kernel counts in steps, so
        the figures of a short time mean something only as part of a sum; differences of them may
        be below 0."""
        before, after = self._before, self._files.read(self._whole, self._counts_retransmits)
        watched = after.at - before.at
        # Some counters may decrease a little, see proc(5).
        passed = {
            kind: max(after.times[kind] - seconds, 0.0)
            for kind, seconds in before.times.items()
            if kind in after.times
        }
        own, tasks = _difference(before.own, after.own), _difference(before.tasks, after.tasks)
        others = None if own is None or tasks is None else tasks - own
        interrupts = unaccounted = None
        if "softirq" in passed:
            interrupts = passed["softirq"] + passed.get("irq", 0.0)
            if own is not None:
                unused = sum(passed.get(kind, 0.0) for kind in _UNUSED)
                unaccounted = watched - unused - own - (others or 0.0) - interrupts
        unused_by_siblings = [
            seconds
            for each in zip(before.siblings, after.siblings, strict=True)
            if (seconds := _difference(*each)) is not None
        ]
        throttled = [
            seconds
            for each in zip(before.throttled, after.throttled, strict=True)
            if (seconds := _difference(*each)) is not None
        ]
        return CoreUse(
            number=self.core,
            watched=watched,
            others=others,
            interrupts=interrupts,
            unaccounted=unaccounted,
            steal=passed.get("steal") if self._files.steals(after.times) else None,
            sibling=watched - min(unused_by_siblings) if passed and unused_by_siblings else None,
            throttled=max(throttled, default=None),
            retransmits=_difference(before.retransmits, after.retransmits),
            hertz=self._files.hertz(),
            joules=self._files.energy.joules(before.microjoules, after.microjoules),
        )


_Number = TypeVar("_Number", int, float)


def _difference(before: _Number | None, after: _Number | None) -> _Number | None:
    return None if before is None or after is None else after - before


def _retransmits(text: str | None) -> int | None:
    """The segments that TCP has sent again, from the lines of names and of values."""
    lines = [line.split() for line in (text or "").splitlines() if line.startswith("Tcp:")]
    if len(lines) != 2:
        return None
    found = dict(zip(*lines, strict=False)).get("RetransSegs", "")
    return int(found) if found.isdecimal() else None
