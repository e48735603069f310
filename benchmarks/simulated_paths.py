"""The simulated paths of truth.py: whose truth is known, with a known flaw, and without one."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.plan.plan import Plan
from halftrip.simulation.path_model import (
    ClockModel,
    Modes,
    Noise,
    PathModel,
    Ramp,
    Segment,
    Spikes,
    Wander,
)
from halftrip.simulation.virtual_time import SimulatedPath

IID = Noise(kind="lognormal", spread=0.02)
WILD = Noise(kind="lognormal", spread=0.3)
AR1 = Noise(kind="ar1", spread=0.1, correlation=0.6)
# With 10 us every sample is one iteration: reading a clock takes 20 ns, less than 1 % of it.
PATH = PathModel(latency=10e-6, noise=IID)
JUMP = (Segment(start=8192, latency=14e-6, bandwidth=20e9),)
SIZES = (8, 64, 512, 4096, 8192, 32768, 131072, 262144)
POWERS = tuple(1 << n for n in range(5, 15))


def changed(**changes: object) -> PathModel:
    """The usual path with these fields."""
    return msgspec.structs.replace(PATH, **changes)


def flat(**changes: object) -> PathModel:
    """The usual path with these fields, on which messages of all sizes take the same time."""
    return changed(bandwidth=1e18, **changes)


class Known(NamedTuple):
    """A path on which the truth of the whole run is known, and a plan whose runs span many times
    the time in which the path changes."""

    name: str
    model: PathModel
    plan: Plan = Plan(ci=None)

    def truth(self) -> float:
        """The latency of runs that never end, as a share of that in the usual state.

        Noise and a level that wanders have a median of 1, and a path that warms up has settled by
        then. Where the path has two states, it is the median of the medians of slices: of those
        drawn here, each a long time after the one before it.
        """
        if not self.model.modes.share:
            return 1.0
        return _of_slices(self.model, self.plan.time / self.plan.slices)


@cache
def _of_slices(model: PathModel, seconds: float) -> float:
    path = SimulatedPath(model)
    iteration = 2 * model.one_way(0)
    medians = []
    for _ in range(4000):
        path.rest(10 * model.modes.dwell / model.modes.share)
        times, _ = path.iterations(iteration, round(seconds / iteration))
        medians.append(float(np.median(times)))
    return float(np.median(medians)) / iteration


WHOLE = Plan(ci=None)
LONG = Plan(ci=None, time=1.0)
PARETO = Noise(kind="pareto", spread=0.05)
HEALTHY = (
    Known("small noise", flat()),
    Known("lognormal 0.3", flat(noise=WILD)),
    Known("AR(1) 0.6", flat(noise=AR1)),
    Known("Pareto on a floor", flat(noise=PARETO)),
    Known("batches, small noise", flat(latency=1e-6)),
    Known("batches, lognormal 0.3", flat(latency=1e-6, noise=WILD)),
)
# In half a second of a slow state 100-us messages tell as much as 10-us ones, and take less time to
# simulate.
WANDERING = (
    Known("AR(1) 0.99", flat(noise=Noise(kind="ar1", spread=0.05, correlation=0.99))),
    *(
        Known(
            f"wanders by {spread:.0%} within {ms} ms",
            flat(wander=Wander(spread=spread, time_constant=ms / 1e3)),
        )
        for spread in (0.01, 0.03)
        for ms in (1, 5, 20, 100)
    ),
    *(
        Known(
            f"{factor - 1:.0%} slower for {ms} ms at a time",
            flat(latency=100e-6, modes=Modes(factor=factor, share=0.4, dwell=ms / 1e3)),
            LONG if ms == 300 else WHOLE,
        )
        for factor in (1.05, 1.1)
        for ms in (5, 50, 300)
    ),
    *(
        Known(f"warms up within {ms} ms", flat(ramp=Ramp(slower=0.3, time_constant=ms / 1e3)))
        for ms in (20, 50, 100)
    ),
)
LATTICES = (
    Known("steps of 180 ns in 20 us", flat(clock=ClockModel(step=180e-9))),
    Known("steps of 42 ns in 80 ns", flat(latency=40e-9, clock=ClockModel(step=42e-9))),
)
# Whose sizes take different times, as one layer over another.
LAYERED: dict[str, tuple[PathModel, Plan]] = {
    "small noise": (changed(), Plan()),
    "lognormal 0.3": (changed(noise=WILD), Plan()),
    "AR(1) 0.6": (changed(noise=AR1), Plan()),
    "AR(1) 0.6, 4 slices": (changed(noise=AR1), Plan(slices=4)),
    "5 launches, spread 2 %": (changed(launch=0.02), Plan(launches=5)),
    "wanders by 3 % within 20 ms": (
        changed(wander=Wander(spread=0.03, time_constant=20e-3)),
        WHOLE,
    ),
}


class Flaw(NamedTuple):
    """A path on which the rows of the sizes `flawed` must have the flag `name`."""

    name: str
    path: str
    model: PathModel
    plan: Plan = Plan()
    sizes: tuple[int, ...] = (8,)
    flawed: tuple[int, ...] = (8,)


FLAWS = (
    Flaw("coarse-clock", "steps of 1 us in 20", changed(clock=ClockModel(step=1e-6))),
    Flaw(
        "coarse-clock",
        "steps of 1 us in 2",
        changed(latency=1e-6, clock=ClockModel(step=1e-6)),
    ),
    Flaw("cold-start", "the first takes 5 ms", changed(first=5e-3)),
    Flaw("cold-start", "the first takes 10 ms, fades over 50", changed(first=10e-3, warm_up=50)),
    Flaw("drift", "twice as slow in a second", changed(drift=1.0), WHOLE),
    Flaw("drift", "20 % slower in a second", changed(drift=0.2), WHOLE),
    Flaw("drift", "the same, AR(1) 0.6", changed(drift=0.2, noise=AR1), LONG),
    Flaw(
        "bimodal",
        "half as slow again, for 1 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=1e-3)),
    ),
    Flaw(
        "bimodal",
        "the same, for 10 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=10e-3)),
        LONG,
    ),
    Flaw(
        "bimodal",
        "core-to-core moves, for 1 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=1e-3, moves_core_to_core=True)),
        WHOLE,
    ),
    Flaw(
        "bimodal",
        "core-to-core moves, for 50 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=50e-3, moves_core_to_core=True)),
        Plan(ci=None, time=3.0),
    ),
    Flaw(
        "autocorrelated",
        "AR(1) 0.95",
        changed(noise=Noise(kind="ar1", spread=0.05, correlation=0.95)),
    ),
    Flaw(
        "outlier-size",
        "1 KiB takes 30 us",
        changed(segments=(Segment(start=1024, latency=30e-6), Segment(start=1025, latency=10e-6))),
        plan=Plan(time=0.1),
        sizes=POWERS,
        flawed=(1024,),
    ),
    Flaw(
        "outlier-size",
        "1 KiB takes half",
        changed(segments=(Segment(start=1024, latency=5e-6), Segment(start=1025, latency=10e-6))),
        plan=Plan(time=0.1),
        sizes=POWERS,
        flawed=(1024,),
    ),
    Flaw(
        "contradiction",
        "from 1 KiB on twice as fast",
        changed(segments=(Segment(start=1024, latency=5e-6),)),
        plan=Plan(time=0.1),
        sizes=POWERS,
        flawed=POWERS[:5],
    ),
    Flaw("above-bound", "0.2 us, core-to-core 1 us", changed(latency=0.2e-6, core_to_core=1e-6)),
    Flaw(
        "not-converged",
        "lognormal 0.6, 10 ms",
        changed(noise=Noise(kind="lognormal", spread=0.6)),
        Plan(time=0.01),
    ),
    Flaw("disturbed", "1 % take 5 ms", changed(spikes=Spikes(share=0.01, extra=5e-3))),
    Flaw("disturbed", "0.2 % take 5 ms", changed(spikes=Spikes(share=0.002, extra=5e-3)), WHOLE),
)

SOUND: dict[str, tuple[PathModel, Plan]] = {
    "no noise": (changed(noise=Noise(), segments=JUMP), Plan()),
    "small noise": (changed(segments=JUMP), Plan()),
    "spread 0.1": (changed(noise=Noise(kind="lognormal", spread=0.1), segments=JUMP), Plan()),
    "AR(1) 0.6": (changed(noise=AR1, segments=JUMP), Plan(time=1.0)),
    "all of a second": (changed(noise=AR1, segments=JUMP), LONG),
    "quick": (PathModel(latency=0.3e-6, noise=AR1), Plan()),
    "a clock of 100 ns that says so": (
        changed(clock=ClockModel(step=100e-9, claimed=100e-9)),
        Plan(),
    ),
    "a first that takes 100 us": (changed(first=100e-6, warm_up=20), Plan()),
    "1 % take ten times as long": (changed(spikes=Spikes(share=0.01, extra=90e-6)), Plan()),
    "Pareto on a floor": (changed(noise=PARETO, segments=JUMP), Plan()),
    "5 launches, spread 0.1 %": (changed(launch=0.001, segments=JUMP), Plan(launches=5)),
}

CURVE = PathModel(
    latency=2e-6,
    bandwidth=10e9,
    segments=(Segment(start=65536, latency=8e-6, bandwidth=20e9),),
    noise=Noise(kind="ar1", spread=0.02, correlation=0.6),
)
