"""What a rank has spent on a case, and what became of its core meanwhile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

# Of an end that keeps its core busy without a call of the kernel, where it has one; what the timer
# finds there is sampled, so that a single tick means nothing.
_FULL_LOAD = 0.95
_NO_SYSTEM_TIME = 0.02
_TICK_SECONDS = 0.004
# More than this share of the time is much for others to have a core.
_MUCH = 0.1
# An end that sleeps leaves its core, and what it takes to send it to sleep and to wake it up is
# neither idle nor its own: at fifty thousand times a second, an eighth of the time.
_MUCH_WHERE_IT_SLEEPS = 0.25
# So many times as often as it lost its core, or so many times a second.
_SELDOM = 0.1
_SELDOM_PER_SECOND = 5.0
# The kernel counts idle and stolen time in steps of 10 ms: less than a few of them is nothing.
_STEP_SECONDS = 0.01
_STEPS_SECONDS = 0.03


class BusiestTask(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever ran most on a core just after a case, as ``stress (process 123)``, and for which
    share of the time in which it was watched while the rank rested."""

    name: str
    share: float


class CoreUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of core `number` in `watched` seconds: from the first kept sample of a case to
    the last, and all that went on between.

    `others` is for how long something other than the rank ran on it, interrupts included, and
    `stolen` for how long the hypervisor ran something else, s; the kernel tells both in steps of
    10 ms, so that nothing is known of less than a tenth of a second. `hertz` is its frequency at
    the end. `joules` is what its processor's package took, with all of its cores. `busiest_task` is
    the one that was seen there, where others had taken much. None: cannot be read.
    """

    number: int
    watched: float
    others: float | None = None
    stolen: float | None = None
    hertz: float | None = None
    joules: float | None = None
    busiest_task: BusiestTask | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one end of a case has spent on `exchanges` exchanges: its kept samples, and what leads
    in to each block of them.

    `elapsed`, `user` and `system` are s, by getrusage(2): of the whole process, or of the thread
    where several of a rank talk; so are `minor_faults` and `major_faults`, page faults without and
    with input. The sum of user and system is exact; how it is split the kernel learns, as a rule,
    at its timer ticks. `peak_memory` is the most that the process has ever held, bytes.

    The others are of the thread that talks: `voluntary` and `involuntary` context switches,
    `waited`, s, for how long it wanted to run and had no core, and `instructions` and `cycles`, in
    user mode alone or in all, as `counted` says. None: cannot be read.
    """

    exchanges: int
    elapsed: float
    user: float
    system: float
    voluntary: int
    involuntary: int
    minor_faults: int
    major_faults: int
    peak_memory: int
    waited: float | None = None
    instructions: int | None = None
    cycles: int | None = None
    counted: Literal["user", "all"] | None = None
    core: CoreUse | None = None

    @property
    def busy(self) -> float:
        """CPU time, s."""
        return self.user + self.system

    @property
    def load(self) -> float:
        """The share of the time in which this end ran, above 1 where several threads did."""
        return self.busy / self.elapsed if self.elapsed > 0 else math.nan

    @property
    def user_share(self) -> float:
        """The share of the time in which it ran in user mode."""
        return self.user / self.elapsed if self.elapsed > 0 else math.nan

    @property
    def system_share(self) -> float:
        """The share of the time in which it ran in the kernel."""
        return self.system / self.elapsed if self.elapsed > 0 else math.nan

    @property
    def kernel_share(self) -> float:
        """The share of its CPU time that was spent in the kernel."""
        return self.system / self.busy if self.busy > 0 else math.nan

    @property
    def is_busy_poll(self) -> bool:
        """Whether it was at full load with no system time: it asks memory again and again. The time
        in which it waited for its core, or that was stolen, does not count."""
        had = self.elapsed * (1 - (self.waited_share or 0.0) - (self.stolen_share or 0.0))
        return (
            self.elapsed > 0
            and self.busy >= _FULL_LOAD * had
            and self.hardly_sleeps
            and self.system <= max(_NO_SYSTEM_TIME * had, _TICK_SECONDS)
        )

    @property
    def instructions_per_cycle(self) -> float | None:
        if self.instructions is None or not self.cycles:
            return None
        return self.instructions / self.cycles

    @property
    def waited_share(self) -> float | None:
        """The share of the time in which this end wanted to run, but had no core."""
        return _share(self.waited, self.elapsed)

    @property
    def taken_share(self) -> float:
        """The share of the time in which others had this end's core, where that is much, else 0."""
        share = self.others_share
        if self.waited_share is not None and self.hardly_sleeps:
            # Whenever it waited, others ran; or its own host kept it from running, as a limit of
            # its container does, and then nobody did.
            most = 1.0 if share is None else share + _STEP_SECONDS / self.core_seconds
            taken = min(self.waited_share, most)
            return taken if taken > _MUCH else 0.0
        if share is None or share * self.core_seconds < _STEPS_SECONDS:
            return 0.0
        return share if share > _MUCH_WHERE_IT_SLEEPS else 0.0

    @property
    def hardly_sleeps(self) -> bool:
        """Whether it seldom left its core by itself: then whatever it waited for it was lost. One
        that sleeps waits whenever it is woken up."""
        return self.voluntary <= max(_SELDOM * self.involuntary, _SELDOM_PER_SECOND * self.elapsed)

    @property
    def much_stolen(self) -> bool:
        """Whether the hypervisor had this end's core for much of the time."""
        share = self.stolen_share
        return share is not None and share > max(_MUCH, _STEPS_SECONDS / self.core_seconds)

    @property
    def core_seconds(self) -> float:
        """For how long the core was watched."""
        return math.nan if self.core is None else self.core.watched

    @property
    def others_share(self) -> float | None:
        """The share of its core's time that went to others."""
        return None if self.core is None else _share(self.core.others, self.core.watched)

    @property
    def stolen_share(self) -> float | None:
        """The share of its core's time that the hypervisor took."""
        return None if self.core is None else _share(self.core.stolen, self.core.watched)


def _share(seconds: float | None, of: float) -> float | None:
    # What is told in steps may be a step more than there was.
    return None if seconds is None or not of else min(seconds / of, 1.0)


def add_usages(usages: Sequence[Usage]) -> Usage:
    """What several measurements, at least one, have cost one end together. What is not known of all
    of them is not known."""
    cores = [usage.core for usage in usages]
    counted = {usage.counted for usage in usages}
    return Usage(
        exchanges=sum(usage.exchanges for usage in usages),
        elapsed=sum(usage.elapsed for usage in usages),
        user=sum(usage.user for usage in usages),
        system=sum(usage.system for usage in usages),
        voluntary=sum(usage.voluntary for usage in usages),
        involuntary=sum(usage.involuntary for usage in usages),
        minor_faults=sum(usage.minor_faults for usage in usages),
        major_faults=sum(usage.major_faults for usage in usages),
        peak_memory=max(usage.peak_memory for usage in usages),
        waited=_sum([usage.waited for usage in usages]),
        instructions=_whole([usage.instructions for usage in usages]),
        cycles=_whole([usage.cycles for usage in usages]),
        counted=counted.pop() if len(counted) == 1 else None,
        core=_add_cores([c for c in cores if c is not None]) if None not in cores else None,
    )


def _add_cores(cores: Sequence[CoreUse]) -> CoreUse | None:
    """None where they are of several cores, as those of several launches may be."""
    if len({core.number for core in cores}) != 1:
        return None
    known = [core for core in cores if core.busiest_task is not None and core.others is not None]
    watched = sum(core.watched for core in cores)
    cycles = _sum([None if c.hertz is None else c.hertz * c.watched for c in cores])
    return CoreUse(
        number=cores[0].number,
        watched=watched,
        others=_sum([core.others for core in cores]),
        stolen=_sum([core.stolen for core in cores]),
        hertz=None if cycles is None or not watched else cycles / watched,
        joules=_sum([core.joules for core in cores]),
        busiest_task=max(known, key=lambda core: core.others or 0.0).busiest_task
        if known
        else None,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _whole(values: Sequence[int | None]) -> int | None:
    total = _sum(values)
    return None if total is None else int(total)
