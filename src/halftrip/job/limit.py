"""How long a run takes: whether a look at the machine before it is worthwhile, and until when it
and each of its launches have to be over (--max-duration)."""

from __future__ import annotations

import time
from typing import NamedTuple

from halftrip.errors import Stopped
from halftrip.measure.walk import Allowed
from halftrip.plan.plan import Plan

# What precedes the limit, the start of Python, and what follows the ranks' last record, their end
# and the table, take about this long, s; and longer where starting the ranks takes longer: this
# share of it.
_AROUND_SECONDS = 0.7
_AROUND_SHARE = 0.25
# What comes last may be late on a busy machine, and later slices cannot make up for it: the run
# is to end this share of its time earlier, but by no more than so long, s.
_LATE_SHARE = 0.05
_MOST_LATE_SECONDS = 0.7
# Ranks that do not end by themselves are stopped so long before the end, s.
_STOP_SECONDS = 0.3


class TimeLimit(NamedTuple):
    """The run has to be over at `ends`, the launch at `launch_ends`, both of time.monotonic;
    `seconds` is the whole time."""

    seconds: float
    ends: float
    launch_ends: float

    @classmethod
    def from_plan(cls, plan: Plan) -> TimeLimit | None:
        """The limit of a run that begins now and has one launch; None without --max-duration."""
        if plan.max_duration is None:
            return None
        ends = time.monotonic() + plan.max_duration
        return cls(plan.max_duration, ends, ends)

    def launch(self, launches: int) -> TimeLimit:
        """The limit of the next launch, where so many are to come, each with an equal part of what
        is left."""
        now = time.monotonic()
        return self._replace(launch_ends=now + (self.ends - now) / max(launches, 1))

    @property
    def left(self) -> float:
        """For how long the ranks may go on, s, if they do not end by themselves; 0 or less: they
        are to be stopped."""
        return self.ends - _STOP_SECONDS - time.monotonic()

    @property
    def launch_left(self) -> float:
        """How long a launch of which nothing has begun may take in all, s."""
        return max(self.launch_ends - time.monotonic(), _AROUND_SECONDS)

    def has_room(self, seconds: float) -> bool:
        """Whether another launch that takes this long would be over in time."""
        return self.ends - _AROUND_SECONDS - time.monotonic() >= seconds

    def allowed(self, began: float) -> Allowed:
        """How long the ranks may measure from now on; their start `began` at that
        time.monotonic."""
        now = time.monotonic()
        around = _AROUND_SECONDS + _AROUND_SHARE * (now - began)
        late = min(_LATE_SHARE * self.seconds, _MOST_LATE_SECONDS)
        most = self.ends - now - around - late
        # A launch that is late takes time from those that follow; the last one has none to take.
        return Allowed(min(self.launch_ends - now - around, most), most)

    def error(self) -> Stopped:
        """Why a run ends that has not done so by itself."""
        return Stopped(f"--max-duration: {self.seconds:g} s are over")


# Before a run that samples for less than this, s, nobody looks.
_LEAST_SECONDS = 0.5


def is_worthwhile(plan: Plan) -> bool:
    """Whether anything is measured in real time, and for so long that a look before it costs
    little; the verdicts on a shorter run say who had the cores just as soon."""
    parts = plan.part_plans
    rows = sum(len(part.transport) * len(part.pattern) * len(part.sizes) for part in parts)
    has_count = any(part.iterations is not None for part in parts)
    seconds = rows * plan.time * (1 if plan.dealt else plan.launches)
    is_short = not has_count and seconds < _LEAST_SECONDS
    return not is_short and any(name != "simulated" for name in plan.transports)
