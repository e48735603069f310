"""How often intervals hold the truth: of rows, also those that end early, and of the differences of
two rows; the claims of truth.py about them."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np
from scipy import signal

from claims import Claim, Score, measure
from halftrip.analysis.flags import evidences
from halftrip.analysis.flags.flag import typical_rtts
from halftrip.analysis.summaries import summarize_configuration
from halftrip.plan.plan import Plan
from halftrip.results.run import Run
from halftrip.simulation.path_model import Noise, PathModel, Wander
from halftrip.stats.estimate import Estimate, difference
from halftrip.stats.summary import Summary
from simulated_paths import AR1, HEALTHY, LATTICES, LAYERED, SIZES, WANDERING, WHOLE, Known, flat

# The first steps of an autoregression, left out: it is not stationary yet.
_WARM_UP = 50


def summaries(run: Run) -> dict[int, Summary]:
    """The summary of each configuration, by size."""
    return {
        configuration.size: summarize_configuration(measured)
        for configuration, measured in run.by_configuration.items()
    }


def covers(path: Known, plan: Plan, seed: int) -> Score:
    """How many rows have an interval that contains the truth; see `simulated_paths.Known`. The
    sizes take the same time, so that all rows have the same truth."""
    run = measure(path.model, seed, SIZES if plan.launches == 1 else SIZES[:1], plan)
    truth = path.model.one_way(0) * 1e9 * path.truth()
    hits = 0
    for measured in run.by_configuration.values():
        row = summarize_configuration(measured)
        iterations = max(measurement.iterations for measurement in measured)
        hits += row.low <= truth * median_of_means(path.model.noise, iterations) <= row.high
    return Score(hits, len(run.by_configuration))


@cache
def median_of_means(noise: Noise, iterations: int) -> float:
    """The median of the mean of `iterations` factors of a noise, each of which has a median of
    1."""
    if iterations == 1 or noise.kind == "none":
        return 1.0
    normal = np.random.default_rng(1).standard_normal((50_000, iterations + _WARM_UP))
    # Antithetic numbers: without them the result would be no more precise than the intervals.
    normal = np.concatenate((normal, -normal))
    if noise.kind == "ar1":
        shocks = normal * math.sqrt(1 - noise.correlation**2)
        normal = signal.lfilter([1.0], [1.0, -noise.correlation], shocks)
    return float(np.median(np.exp(noise.spread * normal[:, _WARM_UP:]).mean(axis=1)))


def coverage() -> list[Claim]:
    claims = []
    # 94 to 95 % of independent slices, and more where neighbours are alike by chance.
    for path in HEALTHY:
        trial = partial(covers, path, Plan())
        claims.append(Claim("coverage", "interval of a row", path.name, trial, 0.93, 0.98))
    for path in WANDERING:
        trial = partial(covers, path, path.plan)
        claims.append(Claim("coverage", "interval of a row", path.name, trial, 0.93, 0.99))
    # Half a step on either side is always enough.
    for path in LATTICES:
        trial = partial(covers, path, Plan())
        claims.append(Claim("coverage", "interval of a row", path.name, trial, 0.93, 1.0))
    for launches in (3, 5, 10):
        path = Known("small noise", flat(launch=0.02))
        trial = partial(covers, path, Plan(launches=launches))
        what = f"{launches} launches, spread 2 %"
        claims.append(Claim("coverage", what, path.name, trial, 0.93, 1.0))
    trial = partial(covers, Known("AR(1) 0.6", flat(noise=AR1)), Plan(slices=3))
    claims.append(Claim("coverage", "3 slices", "AR(1) 0.6", trial, 0.93, 1.0))
    claims.append(
        Claim(
            "coverage", "at the typical core-to-core", "wanders by 15 %", at_line_covers, 0.93, 0.99
        )
    )
    return claims


def at_line_covers(seed: int) -> Score:
    """How many rows have an interval at the run's typical core-to-core round trip that contains
    the true time there, where that round trip moves with the times."""
    wander = Wander(spread=0.15, time_constant=50e-3, moves_core_to_core=True)
    model = flat(wander=wander)
    run = measure(model, seed, SIZES, WHOLE)
    found = [row for row in evidences(run) if row.adjusted is not None]
    (rtt,) = typical_rtts(run).values()
    true = model.one_way(0) / model.core_to_core * rtt
    hits = sum(row.adjusted.low <= true <= row.adjusted.high for row in found if row.adjusted)
    return Score(hits, len(found))


# One size over another: 3 to 26 us over 10, and 0.4 us.
_STEPS = ((8, 32768), (64, 131072), (512, 262144), (4096, 8192))


def difference_covers(model: PathModel, plan: Plan, seed: int) -> Score:
    """How many intervals of the difference of two rows of a run contain the true one."""
    rows = summaries(measure(model, seed, SIZES, plan))
    estimates = {size: Estimate(row.latency, row.low, row.high) for size, row in rows.items()}
    hits = 0
    for below, above in _STEPS:
        found = difference(estimates[above], estimates[below])
        true = (model.one_way(above) - model.one_way(below)) * 1e9
        hits += found.low <= true <= found.high
    return Score(hits, len(_STEPS))


def differences() -> list[Claim]:
    """That of two rows that wander together covers more than it has to."""
    claims = []
    for name, (model, plan) in LAYERED.items():
        trial = partial(difference_covers, model, plan)
        claims.append(Claim("difference", "interval of a difference", name, trial, 0.93, 1.0))
    return claims


def early() -> list[Claim]:
    """Whether the same holds of runs whose rows end as soon as they are within 1 %. They must not
    end before they have seen how the level wanders."""
    return [
        Claim("early", "row within 1 %", path.name, partial(covers, path, Plan()), 0.93, 0.99)
        for path in WANDERING
    ]
