"""A simulated path, whose latency, bandwidth and noise are known; see `simulation.path_model`."""

from __future__ import annotations

from typing import Any

import numpy as np

from halftrip.results.case import Case, Wait
from halftrip.results.delivery import Delivery
from halftrip.simulation.path_model import PathModel
from halftrip.simulation.virtual_time import SimulatedPath
from halftrip.transports.base import (
    Buffers,
    Endpoint,
    PairContext,
    Path,
    ProcessContext,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities

# The cost of reading a clock, ns: about that of a real one.
_CLOCK_COST_NS = 20.0


class SimulatedTransport(Transport):
    def __init__(self, process: ProcessContext) -> None:
        super().__init__(process)
        self.model = process.path_model or PathModel()
        self.capabilities = Capabilities(
            patterns={"blocking": ("pingpong", "stream")},
            waits=("spin",),
            no_other_wait="a simulated path runs in virtual time, where nothing waits",
            lossy=self.model.loss > 0,
            no_verify="a simulated path transfers no bytes",
        )

    def missing(self, pair: PairContext) -> str | None:
        return None

    def refuses(self, case: Case) -> str | None:
        if self.capabilities.lossy and case.pattern != "pingpong":
            return f"loss: no {case.pattern} on a simulated path that loses messages, only pingpong"
        return super().refuses(case)

    @property
    def clock_figures(self) -> tuple[float, float]:
        return _CLOCK_COST_NS, self.model.clock.claimed * 1e9

    def path(self, pair: PairContext, wait: Wait) -> VirtualPath:
        return VirtualPath(self.process, self.model, pair.initiates)


class VirtualPath(Path):
    """Both ends have one, but only the initiator's makes up times. It is its own
    `virtual_time`."""

    def __init__(self, process: ProcessContext, model: PathModel, initiates: bool) -> None:
        self.virtual_time = self
        self._simulated = SimulatedPath(model, process.launch, process.timeout)
        self._initiates = initiates

    def cache_line_rtt(self) -> float:
        return self._simulated.cache_line_rtt() * 1e9

    def rest(self, seconds: float) -> None:
        self._simulated.rest(seconds)

    @property
    def now(self) -> float:
        """Virtual time, s."""
        return self._simulated.now

    def endpoint(self, case: Case, buffers: Buffers | None = None) -> Endpoint:
        return VirtualEndpoint(self._simulated, case, self._initiates)


class VirtualEndpoint(Endpoint):
    def __init__(self, path: SimulatedPath, case: Case, initiates: bool) -> None:
        self._path = path
        self._case = case
        self._initiates = initiates
        self._made = 0

    def run(self, untimed: int, exchanges: int, samples: int) -> Timed:
        if not self._initiates:
            return Timed()
        undisturbed = exchange_seconds(self._path.model, self._case)
        self._path.begin_case(self._made)
        self._made += untimed + samples * exchanges
        self._path.exchanges(undisturbed, untimed)
        start = round(self._path.now * 1e9)
        times, lost = self._path.exchanges(undisturbed, samples * exchanges)
        if not self._path.model.loss:
            times = times.reshape(samples, exchanges).sum(axis=1)
            return Timed(_ns(self._path.read_clock(times)), start)
        window = self._case.window
        return Timed(
            _ns(self._path.read_clock(times[~lost])),
            start,
            timed_out=round(float(times[lost].sum()) * 1e9),
            delivery=Delivery(sent=times.size * window, lost=int(lost.sum()) * window, late=0),
        )


def exchange_seconds(model: PathModel, case: Case) -> float:
    """How long an exchange of a case takes without noise, s: a round trip, or a window whose
    messages follow each other at the bandwidth of the path, and its acknowledgement."""
    one_way = model.one_way(case.size)
    if case.pattern == "pingpong":
        return 2 * one_way
    _, bandwidth = model.at(case.size)
    following = (case.window - 1) * case.size / bandwidth
    return one_way + following + model.one_way(0)


def _ns(times: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.rint(times * 1e9).astype(np.int64)
