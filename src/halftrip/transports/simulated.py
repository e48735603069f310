"""A simulated path, whose latency, bandwidth and noise are known; see `simulation.path_model`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery
from halftrip.results.patterns import ONE_WAY, ROUND_TRIP
from halftrip.simulation.path_model import PathModel
from halftrip.simulation.virtual_time import SimulatedPath
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities

# The cost of reading a clock, ns: about that of a real one.
_CLOCK_COST_NS = 20.0
# So many iterations are computed at once, at most: each takes some 50 bytes meanwhile.
_MOST_AT_ONCE = 1 << 20

Floats = np.ndarray[Any, np.dtype[np.float64]]


class SimulatedTransport(Transport):
    def __init__(self, process: ProcessContext) -> None:
        super().__init__(process)
        self.model = process.path_model or PathModel()
        self.capabilities = Capabilities(
            patterns={"blocking": ONE_WAY},
            waits=("spin",),
            no_other_wait="a simulated path runs in virtual time, where nothing waits",
            delayed=() if self.model.loss > 0 else ONE_WAY,
            lossy=self.model.loss > 0,
            no_verify="a simulated path transfers no bytes",
        )

    def missing(self, pair: PairContext) -> str | None:
        return None

    def refuses(self, configuration: Configuration) -> str | None:
        if self.capabilities.lossy and not configuration.shape.replies:
            pattern = configuration.pattern
            return f"loss: no {pattern} on a simulated path that loses messages, only {ROUND_TRIP}"
        return super().refuses(configuration)

    @property
    def clock_figures(self) -> tuple[float, float]:
        return _CLOCK_COST_NS, self.model.clock.claimed * 1e9

    def path(self, pair: PairContext, settings: PathSettings) -> VirtualPath:
        return VirtualPath(self.process, self.model, pair.initiates)


class VirtualPath(Path):
    """Both ends have one, but only the initiator's makes up times. It is its own
    `virtual_time`."""

    def __init__(self, process: ProcessContext, model: PathModel, initiates: bool) -> None:
        self.virtual_time = self
        self._simulated = SimulatedPath(model, process.launch, process.timeout)
        self._initiates = initiates

    def core_to_core_rtt(self) -> float:
        return self._simulated.core_to_core_rtt() * 1e9

    def rest(self, seconds: float) -> None:
        self._simulated.rest(seconds)

    @property
    def now(self) -> float:
        """Virtual time, s."""
        return self._simulated.now

    def endpoint(
        self, configuration: Configuration, buffers: EndpointBuffers | None = None
    ) -> Endpoint:
        return VirtualEndpoint(self._simulated, configuration, self._initiates)


class VirtualEndpoint(Endpoint):
    def __init__(self, path: SimulatedPath, configuration: Configuration, initiates: bool) -> None:
        self._path = path
        self._configuration = configuration
        self._initiates = initiates
        self._iterations = 0

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        if not self._initiates:
            return Timed()
        undisturbed, delays = iteration_seconds(self._path.model, self._configuration)
        self._path.begin_configuration(self._iterations)
        self._iterations += untimed + samples * iterations
        for count in _parts(untimed):
            self._path.iterations(undisturbed, count)
        self._path.rest(untimed * delays)
        start = round(self._path.now * 1e9)
        if not self._path.model.loss:
            times = self._sums(undisturbed, samples, iterations) + iterations * delays
            self._path.rest(samples * iterations * delays)
            return Timed(_ns(self._path.read_clock(times)), start)
        times, lost = self._path.iterations(undisturbed, samples * iterations)
        messages = self._configuration.messages_in
        sent, missing = messages(times.size), messages(int(lost.sum()))
        return Timed(
            _ns(self._path.read_clock(times[~lost])),
            start,
            timed_out=round(float(times[lost].sum()) * 1e9),
            delivery=Delivery(sent=sent, lost=missing, reordered=0),
        )

    def _sums(self, undisturbed: float, samples: int, iterations: int) -> Floats:
        """The times of samples of so many iterations each, s, shape (samples,)."""
        if iterations <= _MOST_AT_ONCE:
            sums = []
            for count in _parts(samples, max(1, _MOST_AT_ONCE // iterations)):
                times, _ = self._path.iterations(undisturbed, count * iterations)
                sums.append(times.reshape(count, iterations).sum(axis=1))
            return np.concatenate(sums)
        return np.array(
            [
                sum(
                    float(self._path.iterations(undisturbed, count)[0].sum())
                    for count in _parts(iterations)
                )
                for _ in range(samples)
            ]
        )


def _parts(count: int, most: int = 0) -> Iterator[int]:
    """Numbers of at most `most` (0: _MOST_AT_ONCE) whose sum is `count`."""
    most = most or _MOST_AT_ONCE
    yield from itertools.repeat(most, count // most)
    if count % most:
        yield count % most


def iteration_seconds(model: PathModel, configuration: Configuration) -> tuple[float, float]:
    """How long an iteration of a configuration takes without noise, s: a round trip, or a window
    whose messages follow each other at the bandwidth of the path, and its acknowledgement; and how
    much longer because its delays last longer than what they hide (LogGP: A. Alexandrov et al.,
    SPAA 1995)."""
    one_way = model.one_way(configuration.size)
    delay, sends = configuration.delay * 1e-9, model.send_overhead
    if configuration.shape.replies:
        overheads = sends + model.receive_overhead
        hidden = 2 * one_way - overheads
        return (overheads, delay) if delay > hidden else (2 * one_way, 0.0)
    _, bandwidth = model.at(configuration.size)
    following = configuration.window - 1
    gap = max(sends, model.receive_overhead, model.gap + configuration.size / bandwidth)
    both = one_way + model.one_way(0)
    if sends + delay > gap:
        return both + following * sends, following * delay
    return both + following * gap, 0.0


def _ns(times: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.rint(times * 1e9).astype(np.int64)
