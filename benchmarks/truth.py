"""How often halftrip finds the known properties of simulated paths, in whole runs.

    .venv/bin/python benchmarks/truth.py [--runs N] [--only coverage,flaw,...] [--processes N]

Prints a Markdown table: the property, the path, how often it was found, with a 95 % interval
(Clopper and Pearson), and the promised range. The exit status is 1 if an interval lies outside its
promised range. Each run has its own seed and passes in virtual time, with the samples that the
sampler asks for.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import msgspec
import numpy as np
from scipy import stats

from bends import bends
from changes import changes
from claims import Claim, Score, measure, simulated
from halftrip.analysis.breakpoints import breakpoints
from halftrip.analysis.rows import rows
from halftrip.analysis.summaries import summarize_configuration
from halftrip.job.launchers.in_process import simulate
from halftrip.measure.adaptive_sizes import next_sizes
from halftrip.plan.plan import Plan
from halftrip.results.run import Run
from halftrip.simulation.path_model import PathModel
from halftrip.stats.difference import differ
from halftrip.stats.piecewise import CurvePoint
from halftrip.stats.summary import relative_width
from intervals import coverage, differences, early, summaries
from named_bends import named_bends
from pasts import ALIKE, LAUNCHES, ODD, ONE, SEVERAL, Past, is_changed, is_found
from seen import seen
from simulated_paths import (
    AR1,
    CURVE,
    FLAWS,
    IID,
    SIZES,
    SOUND,
    WILD,
    Flaw,
    changed,
)
from states import states
from sweeps import recorded_sweeps, sweeps

# Flags on flawed paths


def flagged(flaw: Flaw, seed: int) -> Score:
    """How many of the flawed rows have the flag."""
    run = measure(flaw.model, seed, flaw.sizes, flaw.plan)
    found = {}
    for row in rows(run):
        found[row.configuration.size] = {flag.name for flag in row.flags}
        # A row with figures of each state has been told apart: it has no two levels.
        if row.state is not None:
            found[row.configuration.size].add("bimodal")
    return Score(sum(flaw.name in found[size] for size in flaw.flawed), len(flaw.flawed))


def flaws() -> list[Claim]:
    return [
        Claim("flaw", flaw.name, flaw.path, partial(flagged, flaw), 0.95, 1.0) for flaw in FLAWS
    ]


# No flags on sound paths


def wrongly_flagged(model: PathModel, plan: Plan, seed: int) -> Score:
    """How many rows of a sound path have any flag."""
    found = rows(measure(model, seed, SIZES, plan))
    return Score(sum(bool(row.flags) for row in found), len(found))


def sound() -> list[Claim]:
    return [
        Claim("sound", "rows with a flag", path, partial(wrongly_flagged, model, plan), 0.0, 0.02)
        for path, (model, plan) in SOUND.items()
    ]


# Two runs over the same path


def same_launch(model: PathModel, seed: int) -> Score:
    """Whether the medians of the slices of two runs differ significantly."""
    one, other = (slice_medians(measure(model, 2 * seed + n))[0] for n in (0, 1))
    return Score(int(differ(one, other).significant), 1)


def slice_medians(run: Run) -> list[list[float]]:
    """The medians of the slices of the only row, by launch."""
    launches: dict[int, list[float]] = {}
    for measurement in run.measurements:
        median = float(np.median(measurement.one_way_times))
        launches.setdefault(measurement.launch, []).append(median)
    return list(launches.values())


def same_launches(model: PathModel, launches: int, seed: int) -> Score:
    """Whether the medians of the launches of two runs differ significantly."""
    plan = Plan(launches=launches)
    medians = [
        [
            float(np.median(launch))
            for launch in slice_medians(measure(model, 2 * seed + n, plan=plan))
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


# Latency, bandwidth and breakpoints


def latency_is_found(seed: int) -> Score:
    """Whether the latency at 8 bytes is within 1 % of the true one."""
    row = summaries(measure(CURVE, seed))[8]
    return Score(int(abs(row.latency / (CURVE.one_way(8) * 1e9) - 1) <= 0.01), 1)


def bandwidth_is_found(seed: int) -> Score:
    """Whether the bandwidth of windows of 64 is within 1 % of the true one, which includes the
    acknowledgement."""
    size = 1 << 20
    configuration = simulated(size, pattern="stream", window=64)
    model = msgspec.structs.replace(CURVE, seed=seed)
    row = summarize_configuration(simulate(model, [configuration], Plan()).measurements)
    fixed = CURVE.at(size)[0] + CURVE.one_way(0)
    true = 64 * size / (64 * size / 20e9 + fixed)
    return Score(int(abs(row.bandwidth / true - 1) <= 0.01), 1)


def jump_is_found(seed: int) -> Score:
    """Whether the scheduled sizes and those that --refine adds show one breakpoint, known within
    2 % of its size, whose jump is right within 7 %."""
    schedule = tuple(1 << n for n in range(21))
    points: dict[int, CurvePoint] = {}
    requested = schedule
    while requested:
        for size, row in summaries(measure(CURVE, seed, requested)).items():
            points[size] = CurvePoint(size, row.latency, relative_width(row))
        requested = next_sizes(points.values(), schedule)
    found = breakpoints(points.values())
    if len(found) != 1 or not found[0].low < 65536 <= found[0].high:
        return Score(0, 1)
    height = points[found[0].high].time - points[found[0].low].time
    true = (CURVE.one_way(found[0].high) - CURVE.one_way(found[0].low)) * 1e9
    narrow = found[0].high - found[0].low <= 0.02 * 65536
    return Score(int(narrow and abs(height / true - 1) <= 0.07), 1)


def recovery() -> list[Claim]:
    path = "AR(1) 0.6, a jump at 64 KiB"
    return [
        Claim("recovery", "latency within 1 %", path, latency_is_found, 0.95, 1.0),
        Claim("recovery", "bandwidth within 1 %", path, bandwidth_is_found, 0.95, 1.0),
        Claim("recovery", "the jump, alone", path, jump_is_found, 0.95, 1.0),
    ]


def seems_changed(past: Past, seed: int) -> Score:
    return Score(int(is_changed(past, seed)), 1)


def step_found(past: Past, at: int, seed: int) -> Score:
    return Score(int(is_found(past, at, seed)), 1)


def histories() -> list[Claim]:
    """Of histories of 30 runs, those that show any change where there is none, and those that show
    a step, and no other, within one run of its place; runs are counted from 0."""
    most = {ONE: 0.05, SEVERAL: 0.05, LAUNCHES: 0.05, ALIKE: 0.1, ODD: 0.1}
    return [
        *(
            Claim("history", "any change", path, partial(seems_changed, past), 0.0, share)
            for (past, path), share in most.items()
        ),
        *(
            Claim("history", f"10 % from run {at} on", path, partial(step_found, past, at), 0.95, 1)
            for past, path in (ONE, SEVERAL, LAUNCHES)
            for at in (10, 15)
        ),
    ]


# Of `early`, the range is what a run should keep; whether it does depends on when it ends.
GROUPS: dict[str, Callable[[], list[Claim]]] = {
    "bends": bends,
    "named": named_bends,
    "sweeps": sweeps,
    "coverage": coverage,
    "difference": differences,
    "early": early,
    "flaw": flaws,
    "sound": sound,
    "same": sameness,
    "changes": changes,
    "states": states,
    "seen": seen,
    "recovery": recovery,
    "history": histories,
}


def interval(score: Score) -> tuple[float, float]:
    """The 95 % interval of a share."""
    bounds = stats.binomtest(score.hits, score.of).proportion_ci()
    return float(bounds.low), float(bounds.high)


def kept(claim: Claim, score: Score) -> bool:
    """Whether the interval of a score overlaps the promised range."""
    low, high = interval(score)
    return high >= claim.least and low <= claim.most


def total(scores: Sequence[Score]) -> Score:
    return Score(sum(score.hits for score in scores), sum(score.of for score in scores))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    usual = [group for group in GROUPS if group != "early"]
    parser.add_argument("--only", default=",".join(usual), help=", ".join(GROUPS))
    parser.add_argument("--traces", type=Path, help="the folder of what --only recorded takes")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    groups = dict(GROUPS)
    if arguments.traces:
        groups["recorded"] = partial(recorded_sweeps, arguments.traces)
    began = time.monotonic()
    missed = 0
    print("| what | path | trials | % | 95 % interval | promised |\n|---|---|---|---|---|---|")
    with Pool(arguments.processes) as pool:
        for group in arguments.only.split(","):
            for claim in groups[group]():
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
