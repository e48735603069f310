"""A path that is only thought of, whose truth is known; see `halftrip.simulation.path_model`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from halftrip.memory.ring import Ring
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery
from halftrip.simulation.path_model import Truth
from halftrip.simulation.virtual_time import Path
from halftrip.transports.base import NOT_TIMED, NothingToOpen, Opened, Scene, Task, Timed

# What looking at the clock takes, ns: of every clock that there is, about so much.
_CLOCK_COST_NS = 20.0


class SimulatedTransport(NothingToOpen):
    waits = ("spin",)
    waits_reason = "nobody waits for what is only thought of"
    patterns: ClassVar = {"blocking": ("pingpong", "stream")}
    virtual = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.truth = scene.simulated or Truth()
        self.lossy = self.truth.loss > 0
        self._path = Path(self.truth, scene.launch, scene.timeout)

    def missing(self) -> str | None:
        return None

    def refuses(self, case: Case) -> str | None:
        if self.lossy and case.pattern != "pingpong":
            return "loss: what becomes of a stream that loses some is not thought of"
        if case.verify:
            return "--verify: nothing is sent that could be looked at"
        return super().refuses(case)

    def endpoint(self, opened: Opened, case: Case, out: Ring, in_: Ring) -> Any:
        self.begin_case()

    def begin_case(self) -> None:
        """What is timed next is the first exchange of a case."""
        self._path.begin_case()

    @property
    def clock_figures(self) -> tuple[float, float]:
        return _CLOCK_COST_NS, self.truth.clock.claimed * 1e9

    def rest(self, seconds: float) -> None:
        self._path.rest(seconds)

    def line(self) -> float:
        return self._path.line() * 1e9

    def take_part(self, task: Task) -> Timed:
        if not task.initiates:
            return NOT_TIMED
        return self.time(task.case, task.lead, task.exchanges, task.samples)

    def time(self, case: Case, lead: int, exchanges: int, samples: int) -> Timed:
        """The initiator's part in a batch: what the path does in that time."""
        one = exchange_seconds(self.truth, case)
        self._path.exchanges(one, lead)
        start = round(self._path.now * 1e9)
        times, lost = self._path.exchanges(one, samples * exchanges)
        if not self.lossy:
            times = times.reshape(samples, exchanges).sum(axis=1)
            return Timed(_ns(self._path.read_clock(times)), start)
        return Timed(
            _ns(self._path.read_clock(times[~lost])),
            start,
            waited=round(float(times[lost].sum()) * 1e9),
            delivery=Delivery(
                sent=times.size * case.window, lost=int(lost.sum()) * case.window, late=0
            ),
        )


# What the registry looks for.
Transport = SimulatedTransport


def exchange_seconds(truth: Truth, case: Case) -> float:
    """How long an exchange of a case takes, without noise, s: a round trip, or a window whose
    messages follow each other as fast as the bandwidth lets them, and its acknowledgement."""
    one_way = truth.one_way(case.size)
    if case.pattern == "pingpong":
        return 2 * one_way
    _, bandwidth = truth.at(case.size)
    following = (case.window - 1) * case.size / bandwidth
    return one_way + following + truth.one_way(0)


def _ns(times: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.rint(times * 1e9).astype(np.int64)
