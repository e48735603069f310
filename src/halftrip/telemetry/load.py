"""Who has the cores: a look of a fifth of a second, or a longer one, at all that runs here."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import msgspec

from halftrip.cpus import siblings_of
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry.busiest_task import BusyTask, tasks, title
from halftrip.telemetry.processors import read_processors

LOOK_SECONDS = 0.2
# A longer look consists of several: then tasks that move from core to core, and such as end
# meanwhile, are seen, too.
_STEP_SECONDS = 0.25
# The kernel counts in steps of 10 ms, twenty in the shortest look: less may be chance.
_BUSY_SHARE = 0.2
_STEAL_SHARE = 0.1
# Programs with a smaller share of a core are left out, or not worth naming; nor are more of them.
_LEAST_SHARE = 0.01
_NAMED_SHARE = 0.05
_MOST_NAMED = 3
_MOST_CORES = 4
# A core that is busy for a smaller share of the time may be recommended.
_IDLE_SHARE = 0.05
# The kinds of time in which no task of this host has a core.
_UNUSED = ("idle", "iowait", "steal")
_INTERRUPTS = ("irq", "softirq")
# The task that handles soft interrupts where there are many: the kernel counts its time as theirs.
_SOFT_INTERRUPTS = "ksoftirqd/"
# What to do about steal.
NOT_RUN = (
    "the hypervisor did not run these cores: other guests had them, or the credits or the quota of "
    "this machine were used up; ask for dedicated cores"
)


class Program(msgspec.Struct, frozen=True):
    """A process, or a task of the kernel, and its share of a core, from 0 to 1."""

    name: str
    pid: int
    share: float
    is_kernel: bool = False

    @property
    def title(self) -> str:
        """Its name, and whose it is."""
        return title(self.name, self.pid, self.is_kernel)


class CoreLoad(msgspec.Struct, frozen=True):
    """What other programs had of a core, the hypervisor (None: the kernel does not say), and hard
    and soft interrupts, as shares of the time from 0 to 1. `programs` are those that were seen, the
    busiest first. `siblings` are the other logical processors of its physical core; not `allowed`
    is one that is here as a sibling only."""

    core: int
    busy: float
    steal: float | None
    programs: list[Program]
    irq: float = 0.0
    softirq: float = 0.0
    siblings: list[int] = []
    allowed: bool = True

    @property
    def is_busy(self) -> bool:
        return self.busy > _BUSY_SHARE

    @property
    def has_steal(self) -> bool:
        return self.steal is not None and self.steal > _STEAL_SHARE

    @property
    def interrupts(self) -> float:
        """The share of interrupts of both kinds."""
        return self.irq + self.softirq

    @property
    def has_interrupts(self) -> bool:
        return self.interrupts > _BUSY_SHARE

    @property
    def is_idle(self) -> bool:
        return self.busy + self.interrupts + (self.steal or 0.0) < _IDLE_SHARE

    def lines(self, beside: Collection[int] = ()) -> list[str]:
        """Who has this core; empty where nobody has much of it. `beside`: the siblings that are in
        use in its place, if any; what it lacks itself is then of no account."""
        name = f"core {self.core}"
        if beside:
            name += f", the sibling of {', '.join(map(str, sorted(beside)))},"
        found = []
        if self.is_busy:
            found.append(f"{name} is busy: {self._who()}")
        if self.has_interrupts:
            kinds = f"hard {self.irq:.0%}, soft {self.softirq:.0%}"
            found.append(f"{name} has interrupts {self.interrupts:.0%} of the time ({kinds})")
        if self.has_steal and not beside:
            found.append(f"{name}: the hypervisor has {self.steal:.0%} of it (steal)")
        return found

    def _who(self) -> str:
        named = [each for each in self.programs if each.share >= _NAMED_SHARE][:_MOST_NAMED]
        if not named:
            return f"programs that ended, or cannot be seen from here, have {self.busy:.0%} of it"
        first, *rest = named
        shares = [f"{first.title} has {first.share:.0%} of it"]
        shares += [f"{each.title} {each.share:.0%}" for each in rest]
        left = self.busy - sum(each.share for each in named)
        if left > _NAMED_SHARE:
            shares.append(f"others {left:.0%}")
        return ", ".join(shares)


class Load(msgspec.Struct, frozen=True):
    """What was seen of these cores within `seconds`, and the load average of the last minute, of
    five and of fifteen minutes; empty where the kernel does not tell it. `whole`: the allowed ones
    are all cores of the machine, which is what the load average is about."""

    seconds: float
    cores: list[CoreLoad]
    average: list[float]
    whole: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the kernel tells anything of what runs here."""
        return any(core.steal is not None or core.programs for core in self.cores)

    @property
    def allowed(self) -> list[int]:
        """The cores that may be used."""
        return [core.core for core in self.cores if core.allowed]

    def lines(self, used: Collection[int]) -> list[str]:
        """Who has the cores `used`, or their siblings; empty where nobody has much of one."""
        every = [core.lines(beside) for core, beside in self._concerning(used)]
        of_cores = [lines for lines in every if lines]
        found = [line for lines in of_cores[:_MOST_CORES] for line in lines]
        more = len(of_cores) - _MOST_CORES
        if more > 0:
            found.append(f"{more} more {'core is' if more == 1 else 'cores are'} busy")
        return found

    def _concerning(self, used: Collection[int]) -> Iterator[tuple[CoreLoad, list[int]]]:
        """The cores `used`, and those that are not, but have a sibling that is: with this one."""
        for core in self.cores:
            beside = [each for each in core.siblings if each in used]
            if core.core in used or beside:
                yield core, [] if core.core in used else beside

    def advice(self, used: Collection[int]) -> str:
        """What to do where some of the cores `used` are busy."""
        concerned = [core for core, _ in self._concerning(used)]
        has_interrupts = any(core.has_interrupts for core in concerned)
        if any(core.is_busy for core in concerned):
            todo, else_ = "end these programs", ", or wait until they have done"
        elif has_interrupts:
            todo, else_ = "move interrupts to other cores (/proc/irq/*/smp_affinity)", ""
        else:
            return NOT_RUN
        idle = self._idle(used)
        if len(idle) < len(used):
            return f"{todo}{else_}"
        return f"{todo}, or take idle cores: --cores {','.join(map(str, idle[: len(used)]))}"

    def _idle(self, used: Collection[int]) -> list[int]:
        """Other cores that nobody has, nor any of their siblings: one of each physical core."""
        working = {core.core for core in self.cores if not core.is_idle}
        found: list[int] = []
        for core in self.cores:
            taken = working.union(found).intersection([core.core, *core.siblings])
            if core.allowed and core.core not in used and not taken:
                found.append(core.core)
        return found


def _others_of(core: int, reader: Reader) -> list[int]:
    """The other logical processors of a core's physical core."""
    return [each for each in siblings_of(core, reader) if each != core]


def look(
    seconds: float = LOOK_SECONDS,
    own: Collection[int] = (),
    reader: Reader = HOST_FILES,
    cores: Collection[int] | None = None,
) -> Load:
    """Looks at these cores, and at their siblings, for so long (None: at those that this process
    may use). What this process needs, and the processes `own`, does not count."""
    allowed = set(os.sched_getaffinity(0) if cores is None else cores)
    beside = {core: _others_of(core, reader) for core in allowed}
    beside |= {core: _others_of(core, reader) for core in set().union(*beside.values()) - allowed}
    without = {os.getpid(), *own}
    proc = reader.root / "proc"
    counted, ran = _Counted(), _Ran(tasks(proc, without))
    left = seconds
    while left > 0.0:
        step = min(_STEP_SECONDS, left)
        left -= step
        # Between the two readings of its times a core has nothing of this process, which sleeps.
        before, began = read_processors(reader).times, time.perf_counter()
        time.sleep(step)
        after, ended = read_processors(reader).times, time.perf_counter()
        counted.add(before, after, ended - began)
        ran.add(tasks(proc, without))
    found = []
    for core, others in sorted(beside.items()):
        programs = ran.programs(core)
        # Short tasks have ended before they are seen; short steps are rounded.
        busy = max(counted.busy(core), sum(program.share for program in programs))
        found.append(
            CoreLoad(
                core=core,
                busy=min(busy, 1.0),
                steal=counted.share(core, "steal"),
                programs=programs,
                irq=counted.share(core, "irq") or 0.0,
                softirq=counted.share(core, "softirq") or 0.0,
                siblings=others,
                allowed=core in allowed,
            )
        )
    whole = allowed.issuperset(counted.cores)
    return Load(counted.seconds, found, _average(reader), whole)


class _Counted:
    """The time of cores as the kernel counts it, in all steps of a look."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._passed: dict[str, dict[str, float]] = {}

    def add(
        self,
        before: Mapping[str, Mapping[str, float]],
        after: Mapping[str, Mapping[str, float]],
        seconds: float,
    ) -> None:
        """Adds a step: all times when it began and when it ended."""
        self.seconds += seconds
        for core in before.keys() & after.keys():
            passed = self._passed.setdefault(core, {})
            for kind in before[core].keys() & after[core].keys():
                # Some counters may decrease a little, see proc(5).
                grown = max(after[core][kind] - before[core][kind], 0.0)
                passed[kind] = passed.get(kind, 0.0) + grown

    @property
    def cores(self) -> set[int]:
        """All cores that the kernel counts."""
        return {int(core) for core in self._passed if core.isdecimal()}

    def busy(self, core: int) -> float:
        """The share of the time in which tasks had a core."""
        passed = self._passed.get(str(core), {})
        ran = [time for kind, time in passed.items() if kind not in (*_UNUSED, *_INTERRUPTS)]
        return sum(ran) / self.seconds if self.seconds else 0.0

    def share(self, core: int, kind: str) -> float | None:
        """The share of one kind of a core's time; None where the kernel does not tell it."""
        passed = self._passed.get(str(core), {}).get(kind)
        return min(passed / self.seconds, 1.0) if passed is not None and self.seconds else None


class _Ran:
    """The time of the tasks that run here, in all steps of a look."""

    def __init__(self, first: Mapping[int, BusyTask]) -> None:
        self._began = time.perf_counter_ns()
        self._latest = first
        self._ns: dict[tuple[int, int], float] = defaultdict(float)
        self._known: dict[int, BusyTask] = {}

    def add(self, later: Mapping[int, BusyTask]) -> None:
        """Adds a step, at whose end these tasks were there."""
        for tid, task in later.items():
            earlier = self._latest.get(tid)
            # A task that was not there has begun since.
            passed = max(task.ran - (0 if earlier is None else earlier.ran), 0)
            # One that has moved was on both cores, for how long on which is not known.
            for core in (task.core, task.core if earlier is None else earlier.core):
                self._ns[core, task.pid] += passed / 2
            # A process has the name of its first thread.
            if task.pid not in self._known or tid == task.pid:
                self._known[task.pid] = task
        self._latest = later

    def programs(self, core: int) -> list[Program]:
        """Whatever ran on a core, the busiest first."""
        elapsed = max(time.perf_counter_ns() - self._began, 1)
        here = {pid: ns for (where, pid), ns in self._ns.items() if where == core and ns}
        # Where half of the time of a task that moved is more than there is, all have a smaller
        # share.
        whole = max(elapsed, sum(here.values()))
        found = [
            Program(self._known[pid].name, pid, ns / whole, self._known[pid].is_kernel)
            for pid, ns in here.items()
            if ns >= _LEAST_SHARE * whole and not _handles_interrupts(self._known[pid])
        ]
        return sorted(found, key=lambda program: (-program.share, program.pid))


def _handles_interrupts(task: BusyTask) -> bool:
    return task.is_kernel and task.name.startswith(_SOFT_INTERRUPTS)


def _average(reader: Reader) -> list[float]:
    """The load averages; empty where the kernel does not tell them."""
    fields = (reader.line("/proc/loadavg") or "").split()[:3]
    try:
        return [float(field) for field in fields]
    except ValueError:
        return []
