"""A simulated path: the times of its iterations, one by one, in virtual time."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halftrip.simulation.path_model import PathModel

Floats = npt.NDArray[np.float64]

# After this many mean cycles of both states, the state does not depend on the first one.
_FORGOTTEN = 50.0
# Too small to change a sum of the order of 1.
_NOTHING = 1e-17
# The exponent of the noise `pareto`.
_PARETO = 1.5
_PARETO_MEDIAN = 2.0 ** (1.0 / _PARETO) - 1.0


class SimulatedPath:
    """The path of `model`, in the launch of that number. Virtual time, `now`, s, passes only in its
    iterations and in `rest`. A lost iteration takes `timeout` seconds."""

    def __init__(self, model: PathModel, launch: int = 0, timeout: float = 1.0) -> None:
        self.model = model
        self.now = 0.0
        self._timeout = timeout
        self._random = np.random.default_rng([model.seed, launch])
        self._factor = float(np.exp(model.launch * self._random.normal()))
        self._correlated = float(self._random.normal())
        self._slow = bool(self._random.random() < model.modes.share)
        self._until = self._dwell()
        self._made = 0
        # The level that wanders, in its standard deviations, and when it was there.
        self._level = float(self._random.normal()) if model.wander.spread else 0.0
        self._level_at = 0.0

    def begin_configuration(self, made: int = 0) -> None:
        """The next iteration is of another configuration, which has had `made` so far."""
        self._made = made

    def rest(self, seconds: float) -> None:
        """Lets virtual time pass without an iteration."""
        self.now += seconds

    def core_to_core_rtt(self) -> float:
        """The core-to-core round trip at this moment, s, with 1 % of noise."""
        self._change_state()
        factor = (
            self.model.modes.factor if self.model.modes.moves_core_to_core and self._slow else 1.0
        )
        wander = self.model.wander
        if wander.moves_core_to_core:
            factor *= float(self._wandered(np.zeros(1))[0])
        return self.model.core_to_core * factor * float(np.exp(0.01 * self._random.normal()))

    def iterations(self, one: float, count: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The times of `count` iterations, each of which takes `one` seconds without noise, s, and
        which of them were lost and took a timeout. Both have shape (count,)."""
        if count == 0:
            return np.empty(0), np.empty(0, dtype=np.bool_)
        model = self.model
        times = one * self._factor * self._noise(count)
        if model.spikes.share:
            times += model.spikes.extra * (self._random.random(count) < model.spikes.share)
        if model.first:
            made = self._made + np.arange(count)
            fading = np.exp(-made / model.warm_up) if model.warm_up else (made == 0)
            times += model.first * fading
        if model.wander.spread:
            times *= self._wandered(times)
        if model.ramp.slower:
            times = self._ramped(times)
        lost = self._random.random(count) < model.loss
        times = self._in_time(times, lost)
        # The last level was that at the beginning of the last iteration.
        self._level_at = self.now - float(times[-1])
        self._made += count
        return times, lost

    def read_clock(self, times: Floats) -> Floats:
        """Consecutive times, s, as the model's clock measures them: read before and after each."""
        step = self.model.clock.step
        if not step:
            return times
        moments = self._random.random() * step + np.concatenate(([0.0], np.cumsum(times)))
        return np.diff(np.floor(moments / step) * step)

    def _noise(self, count: int) -> Floats:
        noise = self.model.noise
        if noise.kind == "none" or not noise.spread:
            return np.ones(count)
        if noise.kind == "pareto":
            beyond = self._random.pareto(_PARETO, count)
            return np.asarray((1.0 + noise.spread * beyond) / (1.0 + noise.spread * _PARETO_MEDIAN))
        normal = self._random.normal(size=count)
        if noise.kind == "ar1":
            normal = _correlate(normal, noise.correlation, self._correlated)
            self._correlated = float(normal[-1])
        return np.asarray(np.exp(noise.spread * normal))

    def _wandered(self, times: Floats) -> Floats:
        """The wandering level when each of consecutive iterations begins, which take `times`; the
        level of iterations of about the same length is a first-order autoregression."""
        wander = self.model.wander
        correlation = math.exp(-float(times.mean()) / wander.time_constant)
        # Since the last call, time has passed.
        since = math.exp(-(self.now - self._level_at) / wander.time_constant)
        level = since * self._level + math.sqrt(1.0 - since**2) * float(self._random.normal())
        levels = np.full(1, level)
        if times.size > 1:
            normal = self._random.normal(size=times.size - 1)
            levels = np.concatenate((levels, _correlate(normal, correlation, level)))
        self._level = float(levels[-1])
        self._level_at = self.now
        return np.asarray(np.exp(wander.spread * levels))

    def _ramped(self, times: Floats) -> Floats:
        """Consecutive times on a path that is still warming up; `times` are those later on."""
        ramp = self.model.ramp
        # The time t after work w follows dt / dw = 1 + slower * exp(-t / time_constant).
        slower = ramp.slower * math.exp(-self.now / ramp.time_constant)
        work = np.concatenate(([0.0], np.cumsum(times)))
        late = np.log1p(-slower * np.expm1(-work / ramp.time_constant))
        return times + ramp.time_constant * np.diff(late)

    def _in_time(self, times: Floats, lost: npt.NDArray[np.bool_]) -> Floats:
        """The times of consecutive iterations, each in the state and with the drift of the moment
        when it begins. `times` are those in the usual state, without drift."""
        work = np.concatenate(([0.0], np.cumsum(np.where(lost, 0.0, times))))
        ends = [*np.flatnonzero(lost).tolist(), times.size]
        taken = np.empty_like(times)
        begin = 0
        for end in ends:
            while begin < end:
                self._change_state()
                begin = self._in_state(times, work, taken, begin, end)
            if begin < times.size:
                taken[begin] = self._timeout
                self.now += self._timeout
                begin += 1
        return taken

    def _in_state(self, times: Floats, work: Floats, taken: Floats, begin: int, end: int) -> int:
        """Fills in `taken` from `begin` on, to `end` or to the next change of state, and returns
        the index where it stopped. `work` is the sum of `times` before each iteration."""
        drift = self.model.drift
        factor = self.model.modes.factor if self._slow else 1.0
        # The time t after work w follows dt / dw = factor * (1 + drift * t): solved for the work
        # that is left in this state, then for the times at which iterations begin and end.
        slowness = 1.0 + drift * self.now
        left = (self._until - self.now) / (factor * slowness)
        if drift:
            left = math.log1p(drift * factor * left) / (drift * factor)
        # At least one: it begins before the state ends.
        stop = begin + max(1, int(np.searchsorted(work[begin:end] - work[begin], left)))
        done = factor * (work[begin : stop + 1] - work[begin])
        moments = slowness * (np.expm1(drift * done) / drift if drift else done)
        taken[begin:stop] = factor * times[begin:stop] if not drift else np.diff(moments)
        self.now += float(moments[-1])
        return stop

    def _change_state(self) -> None:
        """Enters the state of this moment."""
        modes = self.model.modes
        if modes.share and self.now - self._until > _FORGOTTEN * modes.dwell / modes.share:
            # Drawn anew: dwell times are exponential, so the rest of one is independent of its age.
            self._slow = bool(self._random.random() < modes.share)
            self._until = self.now + self._dwell()
            return
        while self._until <= self.now:
            self._slow = not self._slow
            self._until += self._dwell()

    def _dwell(self) -> float:
        """A random duration for the state that has just begun, s."""
        modes = self.model.modes
        usual = modes.dwell * (1.0 - modes.share) / modes.share if modes.share else math.inf
        mean = modes.dwell if self._slow else usual
        return float(self._random.exponential(mean)) if math.isfinite(mean) else math.inf


def _correlate(normal: Floats, correlation: float, before: float) -> Floats:
    """The first-order autoregression x[i] = correlation * x[i - 1] + noise, with a variance of 1
    throughout, after the value `before`."""
    series = normal * math.sqrt(1.0 - correlation**2)
    series[0] += correlation * before
    # From the sums over the last k values come those over the last 2 k, until the weights vanish
    # (Hillis and Steele, CACM 29, 1986). A loop in Python, or scipy, takes a second.
    reach = 1
    while reach < series.size and correlation**reach > _NOTHING:
        series[reach:] += correlation**reach * series[:-reach].copy()
        reach *= 2
    return np.asarray(series)
