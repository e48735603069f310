"""Two contenders in turn: the ratio of their figures, with the bound of the machine beside it."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.measure.bounds import PROBED_BYTES, CacheLineProbe
from halftrip.memory.shared import SharedSegment, open_offer

CORES = sorted(os.sched_getaffinity(0))[:2]
# Bounds of one state of the machine differ by no more than this factor.
SAME_STATE = 1.3


class Figure(NamedTuple):
    """The time of one message in one direction, microseconds: as the contender reports it, mostly
    the median, and the mean, where that is known beside it."""

    us: float
    mean_us: float | None = None


# The result of a contender, by size.
Times = dict[int, Figure]
Contender = Callable[[], Times]


class Goal(NamedTuple):
    """`figure` computes the compared figure from a size and the time of one message, us. `target`
    is the ratio of halftrip's figure to its peer's that is to be reached; or, with `spread`, is not
    to be missed by more than that either way: where both do the same."""

    unit: str
    figure: Callable[[int, float], float]
    more_is_better: bool
    target: float
    spread: float = 0.0

    @property
    def heading(self) -> str:
        return f"{self.unit}, {'more' if self.more_is_better else 'less'} is better"

    def verdict(self, ratio: float) -> str:
        if self.spread:
            low, high = self.target - self.spread, self.target + self.spread
            return f"{low:.2f} to {high:.2f}: {'ok' if low <= ratio <= high else 'missed'}"
        is_met = ratio >= self.target if self.more_is_better else ratio <= self.target
        bound = "at least" if self.more_is_better else "at most"
        return f"{bound} {self.target:.2f}: {'ok' if is_met else 'missed'}"


# The goal at each size.
Goals = Callable[[int], Goal]


def latency(target: float) -> Goals:
    """One-way time, at most `target` times the peer's."""
    goal = Goal("us", lambda _, us: us, more_is_better=False, target=target)
    return lambda _: goal


def throughput(directions: int = 1) -> Goals:
    """Messages per second below 1 KiB, else bandwidth; the sum of both directions where both
    send."""
    rate = Goal("10^6 messages/s", lambda _, us: directions / us, more_is_better=True, target=0.97)
    bandwidth = Goal(
        "MB/s", lambda size, us: directions * size / us, more_is_better=True, target=0.98
    )
    return lambda size: rate if size < 1024 else bandwidth


def same_throughput() -> Goals:
    """The same, of two programs that do the same: the ratio is 1, 5 % either way."""
    goals = throughput()
    return lambda size: goals(size)._replace(target=1.0, spread=0.05)


def same_latency() -> Goals:
    """One-way time, of two programs that measure the same: the ratio is 1, 5 % either way."""
    goals = latency(1.0)
    return lambda size: goals(size)._replace(spread=0.05)


class Bound:
    """The core-to-core round trip of a cache line between the two cores."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._poll_pause = _native.calibrate_poll_pause()

    def probe(self) -> float:
        """The round trip now, ns, measured by this process and a child."""
        segment = SharedSegment(PROBED_BYTES)
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {CORES[1]})
            CacheLineProbe(open_offer(segment.offer), self._clock, self._poll_pause).respond()
            os._exit(0)
        own_cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {CORES[0]})
        bound = CacheLineProbe(segment.bytes, self._clock, self._poll_pause).initiate().nearest
        os.sched_setaffinity(0, own_cores)
        os.waitpid(child, 0)
        segment.close()
        return bound


class Round(NamedTuple):
    """The results of both contenders in one round, and the bounds around them, ns."""

    ours: Times
    peer: Times
    bounds: tuple[float, ...]

    @property
    def is_steady(self) -> bool:
        """Whether the machine stayed in one state."""
        return max(self.bounds) <= SAME_STATE * min(self.bounds)


@dataclass
class Comparison:
    """Two contenders and their results, round by round."""

    name: str
    ours: Contender
    peer: Contender
    goals: Goals
    rounds: list[Round] = field(default_factory=list)

    def run(self, bound: Bound) -> None:
        """Measures one round: halftrip, its peer, and the bounds around them."""
        bounds = [bound.probe()]
        ours = self.ours()
        bounds.append(bound.probe())
        peer = self.peer()
        bounds.append(bound.probe())
        self.rounds.append(Round(ours, peer, tuple(bounds)))

    def report(self) -> Iterator[str]:
        """A line for each size, of the steady rounds; of all, if fewer than three are steady."""
        steady = [r for r in self.rounds if r.is_steady]
        counted = steady if len(steady) >= 3 else self.rounds
        bounds = [min(r.bounds) for r in counted]
        for size in sorted(counted[0].ours):
            goal = self.goals(size)
            ours = np.array([goal.figure(size, r.ours[size].us) for r in counted])
            peer = np.array([goal.figure(size, r.peer[size].us) for r in counted])
            low, ratio, high = np.quantile(ours / peer, [0.25, 0.5, 0.75])
            yield (
                f"| {self.name} | {size} | {goal.heading} | {statistics.median(ours):.5g} "
                f"| {statistics.median(peer):.5g} | {ratio:#.4g} ({low:#.4g} to {high:#.4g}) "
                f"| {goal.verdict(float(ratio))} | {min(bounds):.0f} to {max(bounds):.0f} "
                f"| {len(steady)} of {len(self.rounds)} | {_ratio_by_mean(goal, size, counted)} "
                f"| {_ratio_by_best(goal, size, self.rounds):#.4g} |"
            )


def _ratio_by_mean(goal: Goal, size: int, rounds: Sequence[Round]) -> str:
    """The median ratio of the figures of means; a dash where one of them is not known."""
    means = [(r.ours[size].mean_us, r.peer[size].mean_us) for r in rounds]
    ratios = [
        goal.figure(size, ours) / goal.figure(size, peer)
        for ours, peer in means
        if ours is not None and peer is not None
    ]
    return f"{statistics.median(ratios):#.4g}" if ratios else "-"


def _ratio_by_best(goal: Goal, size: int, rounds: Sequence[Round]) -> float:
    """The ratio of the figures of each contender's fastest round: both had the cores where they are
    nearest, if that happened at all."""
    ours, peer = min(r.ours[size].us for r in rounds), min(r.peer[size].us for r in rounds)
    return goal.figure(size, ours) / goal.figure(size, peer)


HEADING = (
    "| what, peer | bytes | figure | halftrip | peer | halftrip / peer (quartiles) | wanted "
    "| core-to-core ns | steady rounds | by mean | by best |\n" + "|---" * 11 + "|"
)
