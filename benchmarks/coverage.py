"""How often intervals cover the true value, and tests raise false alarms, by simulation.

    .venv/bin/python benchmarks/coverage.py [--trials N] [--only median,sequential,...]

Prints one line for each: the statistic, the noise, the number of samples, the share in % with its
own 95 % interval (Clopper and Pearson), and the required range. A line is missed if its interval
lies outside that range; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import signal, stats

from halftrip.stats import interval as over_slices
from halftrip.stats.difference import differ
from halftrip.stats.drift import change_points, trend
from halftrip.stats.median import half_width, median_interval
from halftrip.stats.modes import two_modes
from halftrip.stats.quantile import tails
from halftrip.stats.settle import settled, settled_from

Generator = np.random.Generator
Floats = npt.NDArray[np.float64]
Noise = Callable[[Generator, int], Floats]


class Line(NamedTuple):
    """`hits` of `trials`; the required share is `least` to `most`."""

    what: str
    noise: str
    n: int
    hits: int
    trials: int
    least: float
    most: float


def autoregression(rho: float) -> Noise:
    """Normal, of unit variance, with this first-order autocorrelation."""

    def noise(generator: Generator, n: int) -> Floats:
        warm_up = 200
        shocks = generator.standard_normal(n + warm_up) * math.sqrt(1 - rho**2)
        series: Floats = signal.lfilter([1.0], [1.0, -rho], shocks)[warm_up:]
        return series

    return noise


def lognormal(generator: Generator, n: int) -> Floats:
    return np.exp(generator.standard_normal(n)) - 1.0


def gamma(generator: Generator, n: int) -> Floats:
    return generator.gamma(2.0, 1.0, n) - float(stats.gamma.ppf(0.5, 2.0))


def spikes(generator: Generator, n: int) -> Floats:
    """Three in a hundred take longer, by a Pareto time, which has no mean."""
    return generator.standard_normal(n) + 3.0 * generator.pareto(0.9, n) * (
        generator.random(n) < 0.03
    )


def coarse(generator: Generator, n: int) -> Floats:
    """Samples of a clock whose step is one standard deviation."""
    return np.round(autoregression(0.6)(generator, n))


# Each has median 0 and about unit width.
NOISES: dict[str, Noise] = {
    "independent": autoregression(0.0),
    "lognormal": lognormal,
    "AR(1) 0.6": autoregression(0.6),
    "gamma": gamma,
    "spikes": spikes,
    "coarse clock": coarse,
}
TRUTHS = ("independent", "lognormal", "AR(1) 0.6")


def coverage_of_median(trials: int) -> Iterator[Line]:
    for n in (100, 300, 1000, 10_000, 100_000):
        for name in TRUTHS:
            hits = sum(
                interval is not None and interval.low <= 0.0 <= interval.high
                for interval in (median_interval(x) for x in _series(name, n, trials))
            )
            yield Line("median", name, n, hits, trials, 0.93, 0.97)


def coverage_of_stopped(trials: int) -> Iterator[Line]:
    """With a sampler that stops as soon as the interval is within 1 %: it looks after a tenth of
    all samples, then whenever there are half as many more. `n` counts all samples, as if it did not
    stop."""
    for total in (1000, 10_000):
        for name in TRUTHS:
            for spread in (0.02, 0.035, 0.05, 0.1, 0.2):
                hits = 0
                for noise in _series(name, total, trials):
                    interval = median_interval(_stopped(1.0 + spread * noise))
                    hits += interval is not None and interval.low <= 1.0 <= interval.high
                yield Line(f"stopped, {spread:.1%}", name, total, hits, trials, 0.93, 0.97)


def _stopped(samples: Floats) -> Floats:
    n = samples.size // 10
    while n < samples.size and half_width(samples[:n]) > 0.01:
        n = n + n // 2
    return samples[:n]


def coverage_of_launches(trials: int) -> Iterator[Line]:
    for launches in (2, 3, 5, 6, 10, 30):
        hits = 0
        for medians in _series("independent", launches, trials):
            of_launches = [over_slices.SliceMedian(100.0 + median) for median in medians]
            interval = over_slices.interval(of_launches)
            hits += interval is not None and interval.low <= 100.0 <= interval.high
        yield Line("launches", "independent", launches, hits, trials, 0.93, 1.0)


def coverage_of_slices(trials: int) -> Iterator[Line]:
    """Of so many slices of 200 samples each. An interval ends at whole slices: of eight it covers
    99.2 %."""
    for name in ("independent", "lognormal", "AR(1) 0.6", "gamma"):
        for slices in (3, 6, 8, 9, 10, 20):
            hits = 0
            for x in _series(name, 200 * slices, trials):
                parts = np.split(100.0 + x, slices)
                interval = over_slices.interval([over_slices.of_samples(part) for part in parts])
                hits += interval is not None and interval.low <= 100.0 <= interval.high
            yield Line("slices", name, slices, hits, trials, 0.93, 0.995)


def alarms_of_beginnings(trials: int) -> Iterator[Line]:
    """Healthy configurations that lose a slice, and healthy blocks of warm-up that have not
    settled."""
    for slices in (6, 10, 20):
        hits = sum(settled_from(100.0 + x) > 0 for x in _series("independent", slices, trials))
        yield Line("slow beginning", "independent", slices, hits, trials, 0.0, 0.01)
    for name in ("independent", "lognormal", "AR(1) 0.6", "spikes"):
        for n in (24, 100, 1000):
            hits = sum(not settled(100.0 + x, 0.0) for x in _series(name, n, trials))
            yield Line("not settled", name, n, hits, trials, 0.0, 0.02)


def coverage_of_tails(trials: int) -> Iterator[Line]:
    """Of ten slices of independent samples; where a quantile is not given, nothing is wrong."""
    generator = np.random.default_rng(3)
    for q in (0.9, 0.99, 0.999):
        for n in (100, 1000, 3000):
            hits = 0
            for _ in range(trials // 4):
                (found,) = tails(list(generator.exponential(size=(10, n))), (q,))
                hits += math.isnan(found.value) or found.low <= -math.log(1 - q) <= found.high
            yield Line(f"p{100 * q:g}", "exponential", 10 * n, hits, trials // 4, 0.93, 1.0)


def alarms_of_trend(trials: int) -> Iterator[Line]:
    for name in ("independent", "lognormal", "AR(1) 0.6", "spikes"):
        for n in (100, 1000, 10_000):
            hits = sum(trend(100.0 + x).significant for x in _series(name, n, trials))
            yield Line("trend", name, n, hits, trials, 0.0, 0.01)


def alarms_of_change(trials: int) -> Iterator[Line]:
    for name in ("independent", "lognormal", "AR(1) 0.6", "spikes", "coarse clock"):
        for n in (100, 300, 1000, 3000, 10_000):
            hits = sum(bool(change_points(100.0 + x)) for x in _series(name, n, trials))
            yield Line("change", name, n, hits, trials, 0.0, 0.01)


def alarms_of_modes(trials: int) -> Iterator[Line]:
    for name in NOISES:
        for n in (30, 100, 300, 1000, 10_000):
            hits = sum(two_modes(10.0 + x) is not None for x in _series(name, n, trials))
            yield Line("modes", name, n, hits, trials, 0.0, 0.01)


def alarms_of_difference(trials: int) -> Iterator[Line]:
    generator = np.random.default_rng(5)
    for n, m in ((1, 5), (2, 2), (2, 3), (3, 3), (4, 4), (5, 5), (10, 10), (60, 60)):
        hits = 0
        for _ in range(trials):
            a, b = (np.exp(0.05 * generator.standard_normal(k)).tolist() for k in (n, m))
            hits += differ(a, b).significant
        yield Line("differ", f"{n} and {m} launches", n + m, hits, trials, 0.0, 0.05)


def _series(name: str, n: int, trials: int) -> Iterator[Floats]:
    generator = np.random.default_rng([n, trials])
    return (NOISES[name](generator, n) for _ in range(trials))


GROUPS: dict[str, Callable[[int], Iterator[Line]]] = {
    "median": coverage_of_median,
    "sequential": coverage_of_stopped,
    "launches": coverage_of_launches,
    "slices": coverage_of_slices,
    "tails": coverage_of_tails,
    "beginning": alarms_of_beginnings,
    "trend": alarms_of_trend,
    "change": alarms_of_change,
    "modes": alarms_of_modes,
    "difference": alarms_of_difference,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", default=",".join(GROUPS), help=", ".join(GROUPS))
    arguments = parser.parse_args()
    missed = 0
    print(f"{'what':16} {'noise':20} {'n':>7} {'%':>6}  95 % interval   asked")
    for group in arguments.only.split(","):
        for line in GROUPS[group](arguments.trials):
            bounds = stats.binomtest(line.hits, line.trials).proportion_ci()
            is_met = bounds.high >= line.least and bounds.low <= line.most
            missed += not is_met
            print(
                f"{line.what:16} {line.noise:20} {line.n:7} {line.hits / line.trials:6.1%}"
                f"  {bounds.low:5.1%} to {bounds.high:5.1%}  {line.least:.0%} to {line.most:.0%}"
                f"{'' if is_met else '  missed'}",
                flush=True,
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
