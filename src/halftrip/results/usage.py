"""The resource usage of a rank in a configuration, and what else ran on its core."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar, cast

import msgspec

from halftrip.results.bounds import Amount, Count, Figure, Number, Text

# Busy polling: at least this load, and no clearly larger share of system time than this. The kernel
# samples at its ticks whether time is user or system time: one tick means nothing, and of the ticks
# that are expected there are more by two standard deviations (of a Poisson distribution) or less.
_FULL_LOAD = 0.95
_NO_SYSTEM_TIME = 0.02
_TICK_SECONDS = 0.004
_DEVIATIONS = 2.0
# Others, or the hypervisor, had much of a core's time: more than this share.
_MUCH = 0.1
# An end seldom sleeps: voluntary switches below 10 % of involuntary, or 5 per second.
_SELDOM = 0.1
_SELDOM_PER_SECOND = 5.0
# The kernel counts idle and steal time in steps of 10 ms: less than three of them is noise.
_LEAST_SECONDS = 0.03


class BusiestTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The task that ran most on a core just after a configuration, as ``stress (process 123)``, and
    its share of the time for which the core was watched while the rank slept. `owner`: whose it is:
    another thread of the `rank` itself, a process of this `run`, such as what has started the rank,
    a task of the `kernel` that serves interrupts, or anybody else's (None)."""

    name: Text
    share: Figure
    owner: Literal["rank", "run", "kernel"] | None = None


class CoreUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who had core `number` in the `watched` seconds of a slice, warm-up and the time between
    batches included, and what else kept its end from running.

    `others` is the time, s, in which tasks other than the thread that talks ran on it, by the
    scheduler's clock. `interrupts` is that of hard and soft interrupts, and `steal` that in which
    the hypervisor ran something else. `unaccounted` is what is left: the core was neither idle nor
    is it known who had it, such as while the kernel puts tasks to sleep and wakes them up, and of
    the tasks, where `others` is not known. `sibling` is the time in which another processor of the
    same physical core was busy. The kernel counts all of these but `others` in steps of 10 ms, so
    they are not known of less than a tenth of a second.

    `throttled` is for how long a CPU quota stopped tasks of a control group that this rank is in,
    s, summed over cores; None also where there is none. `retransmits` are the segments that TCP on
    this host sent again; counted between hosts.

    `hertz` is its frequency at the end. `joules` is the energy of its processor's package, with all
    its cores. `busiest_task` is looked for only where others had much of the core, and is kept if
    it explains most of that. None: not known.
    """

    number: Number
    watched: Amount
    others: Figure | None = None
    interrupts: Figure | None = None
    unaccounted: Figure | None = None
    steal: Figure | None = None
    sibling: Figure | None = None
    throttled: Figure | None = None
    retransmits: Count | None = None
    hertz: Amount | None = None
    joules: Figure | None = None
    busiest_task: BusiestTask | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The resource usage of one end of a configuration in `iterations` iterations: those of its
    kept samples, and the untimed ones before each block.

    `elapsed` is s. `user` and `system` time, s, and `minor_faults` and `major_faults`, page faults
    without and with I/O, are by getrusage(2): of the whole process, or of the thread where several
    threads of a rank talk. The sum of user and system is exact; the kernel usually samples at its
    timer ticks which of the two it is. `peak_memory` is the largest memory of the process so far,
    bytes.

    The other figures are of the thread that talks: `voluntary` and `involuntary` context switches;
    `waited`, the time in which it was ready to run but had no core, s. None: cannot be read.
    """

    iterations: Count
    elapsed: Amount
    user: Amount
    system: Amount
    voluntary: Count
    involuntary: Count
    minor_faults: Count
    major_faults: Count
    peak_memory: Count
    waited: Figure | None = None
    core: CoreUse | None = None

    @property
    def busy(self) -> float:
        """CPU time, s."""
        return self.user + self.system

    @property
    def load(self) -> float:
        """CPU time as a share of the elapsed time, above 1 where several threads ran."""
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
        """The share of its CPU time that was system time."""
        return self.system / self.busy if self.busy > 0 else math.nan

    @property
    def is_busy_poll(self) -> bool:
        """Whether it polled memory: full load with no system time, of the time in which it neither
        waited for its core nor the hypervisor had it."""
        own = self.elapsed * (1 - (self.waited_share or 0.0) - (self.steal_share or 0.0))
        ticks = max(_NO_SYSTEM_TIME * own / _TICK_SECONDS, 0.0)
        most = max(ticks + _DEVIATIONS * math.sqrt(ticks), 1.0) * _TICK_SECONDS
        return (
            self.elapsed > 0
            and self.busy >= _FULL_LOAD * own
            and self.hardly_sleeps
            and self.system <= most
        )

    @property
    def waited_share(self) -> float | None:
        """The share of the time in which this end was ready to run, but had no core."""
        return _share(self.waited, self.elapsed)

    @property
    def taken_share(self) -> float:
        """The share of the time in which other tasks had this end's core, where that is much, else
        0."""
        share = self.others_share
        # Where it is not known, nothing is said.
        if self.core is None or share is None:
            return 0.0
        if self.waited_share is not None and self.hardly_sleeps:
            # While it waited, others had the core; or a limit such as its container's kept this
            # end from running, whoever ran then.
            waited = max(self.waited_share - (self.throttled_share or 0.0), 0.0)
            share = min(waited, share)
        elif share * self.core_seconds < _LEAST_SECONDS:
            return 0.0
        return share if share > _MUCH else 0.0

    @property
    def taken_by_others(self) -> float:
        """The same, where what had the core belongs neither to this run nor to interrupts."""
        task = None if self.core is None else self.core.busiest_task
        return self.taken_share if task is None or task.owner is None else 0.0

    @property
    def has_others(self) -> bool:
        """Whether other tasks had this end's core for much of the time, whether or not it shows in
        so short a time what that did to it."""
        return (self.others_share or 0.0) > _MUCH

    @property
    def throttled_share(self) -> float | None:
        """The share of the time for which a CPU quota stopped this end: no more than it waited, as
        the time of its group is that of all of its cores."""
        share = None if self.core is None else _share(self.core.throttled, self.core.watched)
        if share is None or self.waited_share is None:
            return share
        return min(share, self.waited_share)

    @property
    def much_throttled(self) -> bool:
        """Whether that is much of the time."""
        return (self.throttled_share or 0.0) > _MUCH

    @property
    def unexplained_wait(self) -> float:
        """The share of the time in which an end that hardly sleeps had no core, and nothing shows
        why, where that is much, else 0."""
        if self.waited_share is None or not self.hardly_sleeps:
            return 0.0
        others = 0.0 if self.core is None else max(self.others_share or 0.0, 0.0)
        left = self.waited_share - others - (self.throttled_share or 0.0)
        return left if left > _MUCH else 0.0

    @property
    def hardly_sleeps(self) -> bool:
        """Whether it seldom gave up its core itself: then all its waiting for a core is a loss. An
        end that sleeps also waits for its core at each wake-up."""
        return self.voluntary <= max(_SELDOM * self.involuntary, _SELDOM_PER_SECOND * self.elapsed)

    @property
    def much_steal(self) -> bool:
        """Whether the hypervisor had this end's core for much of the time."""
        share = self.steal_share
        return share is not None and share > max(_MUCH, _LEAST_SECONDS / self.core_seconds)

    @property
    def core_seconds(self) -> float:
        """The time for which the core was watched, s; NaN if it was not."""
        return math.nan if self.core is None else self.core.watched

    @property
    def others_share(self) -> float | None:
        """The share of its core's time in which others ran there."""
        return None if self.core is None else _share(self.core.others, self.core.watched)

    @property
    def interrupts_share(self) -> float | None:
        """The share of its core's time that interrupts had."""
        return None if self.core is None else _share(self.core.interrupts, self.core.watched)

    @property
    def unaccounted_share(self) -> float | None:
        """The share of its core's time of which it is not known who had it."""
        return None if self.core is None else _share(self.core.unaccounted, self.core.watched)

    @property
    def sibling_share(self) -> float | None:
        """The share of the time in which another processor of its physical core was busy."""
        return None if self.core is None else _share(self.core.sibling, self.core.watched)

    @property
    def steal_share(self) -> float | None:
        """The share of its core's time in which the hypervisor ran something else."""
        return None if self.core is None else _share(self.core.steal, self.core.watched)


def _share(seconds: float | None, of: float) -> float | None:
    # A time that is counted in steps can be a step too long or too short.
    return None if seconds is None or not of else min(max(seconds / of, 0.0), 1.0)


def add_both_ends(usages: Iterable[tuple[Usage, Usage] | None]) -> tuple[Usage, Usage] | None:
    """The sum of the known usages of the initiator, and of the responder; None if none is known."""
    known = [both for both in usages if both is not None]
    if not known:
        return None
    initiator, responder = (add_usages(usages) for usages in zip(*known, strict=True))
    return initiator, responder


def add_usages(usages: Sequence[Usage]) -> Usage:
    """The sum of usages of one end, at least one. A figure that one of them lacks is None."""
    if len(usages) == 1 and usages[0].core is None:
        # Of a block, and many a measurement is a single block.
        return usages[0]
    cores = [usage.core for usage in usages]
    return Usage(
        iterations=sum([usage.iterations for usage in usages]),
        elapsed=sum([usage.elapsed for usage in usages]),
        user=sum([usage.user for usage in usages]),
        system=sum([usage.system for usage in usages]),
        voluntary=sum([usage.voluntary for usage in usages]),
        involuntary=sum([usage.involuntary for usage in usages]),
        minor_faults=sum([usage.minor_faults for usage in usages]),
        major_faults=sum([usage.major_faults for usage in usages]),
        peak_memory=max([usage.peak_memory for usage in usages]),
        waited=_sum([usage.waited for usage in usages]),
        core=add_cores([c for c in cores if c is not None]) if None not in cores else None,
    )


def add_cores(cores: Sequence[CoreUse]) -> CoreUse | None:
    """The sum, with the busiest task of the part in which others had the core longest. None where
    the parts are of different cores, as those of several launches may be."""
    if len({core.number for core in cores}) != 1:
        return None
    with_task = [
        core for core in cores if core.busiest_task is not None and core.others is not None
    ]
    watched = sum(core.watched for core in cores)
    cycles = _sum([None if c.hertz is None else c.hertz * c.watched for c in cores])
    return CoreUse(
        number=cores[0].number,
        watched=watched,
        others=_sum([core.others for core in cores]),
        interrupts=_sum([core.interrupts for core in cores]),
        unaccounted=_sum([core.unaccounted for core in cores]),
        steal=_sum([core.steal for core in cores]),
        sibling=_sum([core.sibling for core in cores]),
        throttled=_sum([core.throttled for core in cores]),
        retransmits=_sum([core.retransmits for core in cores]),
        hertz=None if cycles is None or not watched else cycles / watched,
        joules=_sum([core.joules for core in cores]),
        busiest_task=max(with_task, key=lambda core: core.others or 0.0).busiest_task
        if with_task
        else None,
    )


_Value = TypeVar("_Value", int, float)


def _sum(values: Sequence[_Value | None]) -> _Value | None:
    return None if None in values else sum(cast("Sequence[_Value]", values))
