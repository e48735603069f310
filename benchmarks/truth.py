"""How often halftrip finds what is so, by whole runs of simulated paths of known truth.

    .venv/bin/python benchmarks/truth.py [--runs N] [--only coverage,disease,...] [--processes N]

A Markdown table: what of which path, how often, with its own 95 % interval (Clopper and Pearson),
and what is promised. The exit status is 1 where that is out of the interval. Every run has a seed
of its own and takes no time but that of thinking: the samples are those for which the sampler asks.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from multiprocessing import Pool
from typing import NamedTuple

import msgspec
import numpy as np
from scipy import signal, stats

from halftrip.analysis.flags import verdicts
from halftrip.analysis.summaries import one_way_times, summarize_case
from halftrip.job.launchers.in_process import rehearse
from halftrip.plan.plan import Plan
from halftrip.results.case import Case
from halftrip.results.run import Run
from halftrip.simulation.path_model import Modes, Noise, Segment, Spikes, Ticking, Truth
from halftrip.stats.breakpoints import Point, bends, next_sizes
from halftrip.stats.difference import differ, differ_series
from halftrip.stats.summary import Summary, relative_width

IID = Noise(kind="lognormal", spread=0.02)
WILD = Noise(kind="lognormal", spread=0.3)
AR1 = Noise(kind="ar1", spread=0.1, correlation=0.6)
# Of 10 us every sample is one exchange: a clock of 20 ns costs less than 1 % of it.
PATH = Truth(latency=10e-6, noise=IID)
JUMP = (Segment(start=8192, latency=14e-6, bandwidth=20e9),)
SIZES = (8, 64, 512, 4096, 8192, 32768, 131072, 262144)
# So many steps go before, until a process is as it will always be.
_LEAD = 50
POWERS = tuple(1 << n for n in range(5, 15))


def changed(**changes: object) -> Truth:
    """The usual path, but for these."""
    return msgspec.structs.replace(PATH, **changes)


class Score(NamedTuple):
    """So often of so many times."""

    hits: int
    of: int


class Claim(NamedTuple):
    """What is promised: that `what` of a `path` is so in `least` to `most` of cases. `trial` is one
    run, by its seed."""

    group: str
    what: str
    path: str
    trial: Callable[[int], Score]
    least: float
    most: float


def measure(truth: Truth, seed: int, sizes: Sequence[int] = (8,), plan: Plan | None = None) -> Run:
    """A run of these sizes over that path, in which chance is of `seed`."""
    cases = [Case(transport="simulated", size=size, wait="spin") for size in sizes]
    return rehearse(msgspec.structs.replace(truth, seed=seed), cases, plan or Plan())


def summaries(run: Run) -> dict[int, Summary]:
    """By size."""
    return {case.size: summarize_case(those) for case, those in run.by_case.items()}


# Intervals


def covers(truth: Truth, plan: Plan, seed: int) -> Score:
    """Whether the interval of the row holds the median of what a sample is."""
    run = measure(truth, seed, plan=plan)
    (row,) = summaries(run).values()
    factor = median_of_means(truth.noise, run.measurements[0].exchanges)
    return Score(int(row.low <= truth.one_way(8) * 1e9 * factor <= row.high), 1)


@cache
def median_of_means(noise: Noise, exchanges: int) -> float:
    """The median of the mean of so many factors of a noise: each has one of 1, means do not."""
    if exchanges == 1:
        return 1.0
    generator = np.random.default_rng(1)
    normal = generator.standard_normal((200_000, exchanges + _LEAD))
    if noise.kind == "ar1":
        shocks = normal * math.sqrt(1 - noise.correlation**2)
        normal = signal.lfilter([1.0], [1.0, -noise.correlation], shocks)
    return float(np.median(np.exp(noise.spread * normal[:, _LEAD:]).mean(axis=1)))


def coverage() -> list[Claim]:
    claims = []
    for path, noise in (("small noise", IID), ("lognormal 0.3", WILD), ("AR(1) 0.6", AR1)):
        for what, latency in (("interval of a row", 10e-6), ("the same, of batches", 1e-6)):
            trial = partial(covers, Truth(latency=latency, noise=noise), Plan())
            claims.append(Claim("coverage", what, path, trial, 0.93, 0.97))
    # Whole launches bound the median in steps: of ten, at 97.9 %. And the intervals of several
    # repetitions are spanned, which covers more than each of them.
    for launches in (3, 5, 10):
        trial = partial(covers, changed(launch=0.02), Plan(launches=launches))
        what = f"{launches} launches, spread 2 %"
        claims.append(Claim("coverage", what, "small noise", trial, 0.93, 1.0))
    trial = partial(covers, changed(noise=AR1), Plan(repetitions=3))
    claims.append(Claim("coverage", "3 repetitions", "AR(1) 0.6", trial, 0.93, 1.0))
    return claims


# Diseases


class Disease(NamedTuple):
    """A path that is ill, and by what name; `ill` are the sizes that are."""

    name: str
    path: str
    truth: Truth
    plan: Plan = Plan()
    sizes: tuple[int, ...] = (8,)
    ill: tuple[int, ...] = (8,)


WHOLE = Plan(ci=None)
LONG = Plan(ci=None, time=1.0)


DISEASES = (
    Disease("coarse-clock", "steps of 1 us in 20", changed(clock=Ticking(step=1e-6))),
    Disease(
        "coarse-clock",
        "steps of 1 us in 2",
        changed(latency=1e-6, clock=Ticking(step=1e-6)),
    ),
    Disease("cold-start", "the first takes 5 ms", changed(first=5e-3)),
    Disease("cold-start", "the first takes 10 ms, fades over 50", changed(first=10e-3, warm_up=50)),
    Disease("drift", "twice as slow in a second", changed(drift=1.0), WHOLE),
    Disease("drift", "20 % slower in a second", changed(drift=0.2), WHOLE),
    Disease("drift", "the same, AR(1) 0.6", changed(drift=0.2, noise=AR1), LONG),
    Disease(
        "bimodal",
        "half as slow again, for 1 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=1e-3)),
    ),
    Disease(
        "bimodal",
        "the same, for 10 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=10e-3)),
        LONG,
    ),
    Disease(
        "bimodal",
        "the line moves, for 1 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=1e-3, moves_line=True)),
        WHOLE,
    ),
    Disease(
        "bimodal",
        "the line moves, for 50 ms",
        changed(modes=Modes(factor=1.5, share=0.4, dwell=50e-3, moves_line=True)),
        Plan(ci=None, time=3.0),
    ),
    Disease(
        "autocorrelated",
        "AR(1) 0.95",
        changed(noise=Noise(kind="ar1", spread=0.05, correlation=0.95)),
    ),
    Disease(
        "outlier-size",
        "1 KiB takes 30 us",
        changed(segments=(Segment(start=1024, latency=30e-6), Segment(start=1025, latency=10e-6))),
        plan=Plan(time=0.1),
        sizes=POWERS,
        ill=(1024,),
    ),
    Disease(
        "outlier-size",
        "1 KiB takes half",
        changed(segments=(Segment(start=1024, latency=5e-6), Segment(start=1025, latency=10e-6))),
        plan=Plan(time=0.1),
        sizes=POWERS,
        ill=(1024,),
    ),
    Disease(
        "contradiction",
        "from 1 KiB on twice as fast",
        changed(segments=(Segment(start=1024, latency=5e-6),)),
        plan=Plan(time=0.1),
        sizes=POWERS,
        ill=POWERS[:5],
    ),
    Disease("above-bound", "0.2 us, a line of 1 us", changed(latency=0.2e-6, line=1e-6)),
    Disease(
        "not-converged",
        "lognormal 0.6, 10 ms",
        changed(noise=Noise(kind="lognormal", spread=0.6)),
        Plan(time=0.01),
    ),
    Disease("disturbed", "1 % take 5 ms", changed(spikes=Spikes(share=0.01, extra=5e-3))),
    Disease("disturbed", "0.2 % take 5 ms", changed(spikes=Spikes(share=0.002, extra=5e-3))),
)


def flagged(disease: Disease, seed: int) -> Score:
    """How many of the ill rows have the flag."""
    found = verdicts(measure(disease.truth, seed, disease.sizes, disease.plan))
    names = {case.size: {flag.name for flag in flags} for case, flags in found.items()}
    return Score(sum(disease.name in names[size] for size in disease.ill), len(disease.ill))


def diseases() -> list[Claim]:
    return [
        Claim("disease", disease.name, disease.path, partial(flagged, disease), 0.95, 1.0)
        for disease in DISEASES
    ]


# Health

HEALTHY: dict[str, tuple[Truth, Plan]] = {
    "no noise": (changed(noise=Noise(), segments=JUMP), Plan()),
    "small noise": (changed(segments=JUMP), Plan()),
    "spread 0.1": (changed(noise=Noise(kind="lognormal", spread=0.1), segments=JUMP), Plan()),
    "AR(1) 0.6": (changed(noise=AR1, segments=JUMP), Plan(time=1.0)),
    "all of a second": (changed(noise=AR1, segments=JUMP), LONG),
    "quick": (Truth(latency=0.3e-6, noise=AR1), Plan()),
    "a clock of 100 ns that says so": (changed(clock=Ticking(step=100e-9, claimed=100e-9)), Plan()),
    "a first that takes 100 us": (changed(first=100e-6, warm_up=20), Plan()),
    "1 % take ten times as long": (changed(spikes=Spikes(share=0.01, extra=90e-6)), Plan()),
    "3 repetitions": (changed(segments=JUMP), Plan(repetitions=3)),
    "5 launches, spread 0.1 %": (changed(launch=0.001, segments=JUMP), Plan(launches=5)),
}


def wrong(truth: Truth, plan: Plan, seed: int) -> Score:
    """How many healthy rows have any flag."""
    found = verdicts(measure(truth, seed, SIZES, plan))
    return Score(sum(bool(flags) for flags in found.values()), len(found))


def health() -> list[Claim]:
    return [
        Claim("health", "rows with a flag", path, partial(wrong, truth, plan), 0.0, 0.02)
        for path, (truth, plan) in HEALTHY.items()
    ]


# Two runs of the same


def same_launch(truth: Truth, seed: int) -> Score:
    """Whether one row of two runs differs significantly."""
    ours, theirs = (measure(truth, 2 * seed + n).measurements[0] for n in (0, 1))
    return Score(int(differ_series(one_way_times(ours), one_way_times(theirs)).significant), 1)


def same_launches(truth: Truth, launches: int, seed: int) -> Score:
    """Likewise of the launches' medians."""
    plan = Plan(launches=launches)
    medians = [
        [
            float(np.median(one_way_times(m)))
            for m in measure(truth, 2 * seed + n, plan=plan).measurements
        ]
        for n in (0, 1)
    ]
    return Score(int(differ(*medians).significant), 1)


def sameness() -> list[Claim]:
    claims = []
    for path, noise in (("small noise", IID), ("lognormal 0.3", WILD), ("AR(1) 0.6", AR1)):
        trial = partial(same_launch, changed(noise=noise))
        claims.append(Claim("same", "one launch each differ", path, trial, 0.0, 0.05))
    for launches in (3, 5, 10):
        trial = partial(same_launches, changed(launch=0.02), launches)
        what = f"{launches} launches each differ"
        claims.append(Claim("same", what, "launch spread 2 %", trial, 0.0, 0.05))
    return claims


# What is to be found again

CURVE = Truth(
    latency=2e-6,
    bandwidth=10e9,
    segments=(Segment(start=65536, latency=8e-6, bandwidth=20e9),),
    noise=Noise(kind="ar1", spread=0.02, correlation=0.6),
)


def latency_is_found(seed: int) -> Score:
    """Within 1 % of what is so, as asked, at 8 bytes."""
    row = summaries(measure(CURVE, seed))[8]
    return Score(int(abs(row.latency / (CURVE.one_way(8) * 1e9) - 1) <= 0.01), 1)


def bandwidth_is_found(seed: int) -> Score:
    """By windows of 64, within 1 % of what the acknowledgement leaves of it."""
    size = 1 << 20
    case = Case(transport="simulated", pattern="stream", size=size, wait="spin", window=64)
    truth = msgspec.structs.replace(CURVE, seed=seed)
    row = summarize_case(rehearse(truth, [case], Plan()).measurements)
    fixed = CURVE.at(size)[0] + CURVE.one_way(0)
    wanted = 64 * size / (64 * size / 20e9 + fixed)
    return Score(int(abs(row.bandwidth / wanted - 1) <= 0.01), 1)


def jump_is_found(seed: int) -> Score:
    """That there is one bend, within 64 bytes or 1 % of where it is, and how high it is, within
    5 %: from some sizes, and those that `refine` asks for."""
    schedule = tuple(1 << n for n in range(21))
    points: dict[int, Point] = {}
    wanted = schedule
    while wanted:
        for size, row in summaries(measure(CURVE, seed, wanted)).items():
            points[size] = Point(size, row.latency, relative_width(row))
        wanted = next_sizes(points.values(), schedule)
    found = bends(points.values())
    if len(found) != 1 or not found[0].low < 65536 <= found[0].high:
        return Score(0, 1)
    height = points[found[0].high].time - points[found[0].low].time
    true = (CURVE.one_way(found[0].high) - CURVE.one_way(found[0].low)) * 1e9
    narrow = found[0].high - found[0].low <= 0.02 * 65536
    return Score(int(narrow and abs(height / true - 1) <= 0.05 + 0.02), 1)


def recovery() -> list[Claim]:
    path = "AR(1) 0.6, a jump at 64 KiB"
    return [
        Claim("recovery", "latency within 1 %", path, latency_is_found, 0.95, 1.0),
        Claim("recovery", "bandwidth within 1 %", path, bandwidth_is_found, 0.95, 1.0),
        Claim("recovery", "the jump, alone", path, jump_is_found, 0.95, 1.0),
    ]


GROUPS: dict[str, Callable[[], list[Claim]]] = {
    "coverage": coverage,
    "disease": diseases,
    "health": health,
    "same": sameness,
    "recovery": recovery,
}


def interval(score: Score) -> tuple[float, float]:
    """The 95 % interval of a share."""
    bounds = stats.binomtest(score.hits, score.of).proportion_ci()
    return float(bounds.low), float(bounds.high)


def kept(claim: Claim, score: Score) -> bool:
    """Whether a promise may be kept, as far as so many cases can tell."""
    low, high = interval(score)
    return high >= claim.least and low <= claim.most


def total(scores: Sequence[Score]) -> Score:
    return Score(sum(score.hits for score in scores), sum(score.of for score in scores))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--only", default=",".join(GROUPS), help=", ".join(GROUPS))
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    missed = 0
    print("| what | path | cases | % | 95 % interval | promised |\n|---|---|---|---|---|---|")
    with Pool(arguments.processes) as pool:
        for group in arguments.only.split(","):
            for claim in GROUPS[group]():
                score = total(pool.map(claim.trial, range(1, arguments.runs + 1)))
                missed += not kept(claim, score)
                print(_line(claim, score), flush=True)
    print(f"\n{arguments.runs} runs each, {time.monotonic() - began:.0f} s")
    return int(missed > 0)


def _line(claim: Claim, score: Score) -> str:
    low, high = interval(score)
    share = score.hits / score.of
    met = "met" if claim.least <= share <= claim.most else "met within chance"
    if not kept(claim, score):
        met = "missed"
    promised = f"{claim.least:.0%} to {claim.most:.0%}"
    return (
        f"| {claim.what} | {claim.path} | {score.of} | {share:.1%} | {low:.1%} to {high:.1%} "
        f"| {promised}: {met} |"
    )


if __name__ == "__main__":
    sys.exit(main())
