"""What a rank spends, and how its core is used: read before and after timed code."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from halftrip.kernel_files import Reader
from halftrip.results.usage import BusiestTask, Usage
from halftrip.telemetry.busiest_task import busiest_task
from halftrip.telemetry.core_watch import CoreFiles, CoreWatch

_Result = TypeVar("_Result")
_SCHEDULED = "/proc/thread-self/schedstat"
# The busiest task of a core is looked for no more often.
_LOOK_SECONDS = 1.0


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
        self._files: dict[int, CoreFiles] = {}
        self._busiest: dict[int, tuple[float, BusiestTask | None]] = {}

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

    def watch_core(
        self, core: int | None = None, counts_retransmits: bool = False
    ) -> CoreWatch | None:
        """Watches a core from now on (None: the one that this thread is pinned to). None if the
        thread is not pinned. `counts_retransmits`: also how often TCP sends again."""
        cores = os.sched_getaffinity(0) if core is None else {core}
        if len(cores) != 1:
            return None
        (number,) = cores
        if number not in self._files:
            self._files[number] = CoreFiles(self.reader, number)
        return CoreWatch(self._files[number], self._whole, counts_retransmits)

    def busiest_task(self, core: int) -> BusiestTask | None:
        """The task that runs most on a core beside this thread; looked for at most once a second,
        as that takes 20 ms."""
        now = time.monotonic()
        if core not in self._busiest or now - self._busiest[core][0] > _LOOK_SECONDS:
            self._busiest[core] = now, busiest_task(core)
        return self._busiest[core][1]
