"""What `halftrip compare` says of pairs of runs whose change is known."""

from __future__ import annotations

import random
from functools import partial

import msgspec

from claims import Claim, Score, simulated
from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import Comparison, compare
from halftrip.job.launchers.in_process import simulate
from halftrip.plan.plan import Plan
from halftrip.results.run import Run
from halftrip.simulation.path_model import Modes, Noise, PathModel, Wander

# Autocorrelated noise, and a level that wanders by 2 % and forgets within a slice.
PATH = PathModel(
    noise=Noise(kind="ar1", spread=0.05, correlation=0.6),
    wander=Wander(spread=0.02, time_constant=0.0002),
)
# Of five launches, the slowest then takes 3 % longer than the fastest, on average.
LAUNCHES_WITHIN_3 = 0.013
_SIZES = (8, 64, 1024, 4096)
_LAUNCHES = 5
# Less time than a run has: the wandering is faster than that of machines, too.
_PLAN = Plan(iterations=600, slices=6, warmup=10)


def compared(
    seed: int,
    factor: float = 1.0,
    spread: float = LAUNCHES_WITHIN_3,
    launches: int = _LAUNCHES,
    threshold: float = 0.02,
) -> Comparison:
    """Two runs, of which the second takes `factor` times as long; their launches differ by the
    standard deviation `spread` of the logarithm."""
    model = msgspec.structs.replace(PATH, launch=spread)
    base, new = (
        _run(msgspec.structs.replace(model, seed=2 * seed + n, **_slower(f)), launches)
        for n, f in enumerate((1.0, factor))
    )
    (found,) = compare(ComparedRun.of(base, "base"), [ComparedRun.of(new, "new")], threshold)
    return found


def _slower(factor: float) -> dict[str, float]:
    return {"latency": PATH.latency * factor, "bandwidth": PATH.bandwidth / factor}


def _run(model: PathModel, launches: int) -> Run:
    plan = msgspec.structs.replace(_PLAN, launches=launches)
    return simulate(model, [simulated(size) for size in _SIZES], plan)


def any_changed(seed: int, **options: float) -> Score:
    """Whether any row is said to be slower or faster."""
    found = compared(seed, **options)  # type: ignore[arg-type]
    return Score(int(bool(found.having("slower") or found.having("faster"))), 1)


def surely_beyond(seed: int, beyond: float, **options: float) -> Score:
    """Whether the interval of any row lies beyond the share `beyond` slower."""
    found = compared(seed, **options)  # type: ignore[arg-type]
    return Score(int(any(row.difference.low > 1.0 + beyond for row in found.rows)), 1)


def slower_found(seed: int, **options: float) -> Score:
    """Whether the second run is said to be slower, and nothing of it faster."""
    found = compared(seed, **options)  # type: ignore[arg-type]
    return Score(int(bool(found.having("slower")) and not found.having("faster")), 1)


def switching_called_changed(seed: int) -> Score:
    """Whether launches at two levels, four times apart, are called a change: each launch is at
    either by the toss of a coin."""
    sides = []
    for n in (0, 1):
        run = _run(msgspec.structs.replace(PATH, seed=2 * seed + n), _LAUNCHES)
        sides.append(ComparedRun.of(_switching(run, 2 * seed + n), str(n)))
    (found,) = compare(sides[0], sides[1:])
    return Score(int(bool(found.having("slower") or found.having("faster"))), 1)


def _switching(run: Run, seed: int) -> Run:
    """The run, some of whose launches are those of a path that takes four times as long."""
    slow = _run(
        msgspec.structs.replace(PATH, seed=seed, modes=Modes(factor=4.0, share=1.0)), _LAUNCHES
    )
    coin = random.Random(seed)
    of_launch = [slow if coin.getrandbits(1) else run for _ in range(_LAUNCHES)]
    kept = [
        each
        for number, side in enumerate(of_launch)
        for each in side.measurements
        if each.launch == number
    ]
    return msgspec.structs.replace(run, measurements=tuple(kept))


def changes() -> list[Claim]:
    path = "AR(1), wandering"
    five = "5 launches within 3 %"
    rows = [
        ("no change, any row called one", partial(any_changed), five, 0.0, 0.05),
        (
            "no change, any row called one",
            partial(any_changed, spread=0.03),
            "5 launches, spread 3 %",
            0.0,
            0.05,
        ),
        (
            "no change, any row called one",
            partial(any_changed, spread=0.03, launches=1),
            "one launch each, spread 3 %",
            0.0,
            0.05,
        ),
        ("5 % slower, found", partial(slower_found, factor=1.05), five, 0.95, 1.0),
        (
            "2 % slower, an interval beyond 5 %",
            partial(surely_beyond, beyond=0.05, factor=1.02),
            five,
            0.0,
            0.002,
        ),
        (
            "2 % slower, called slower by a gate of 5 %",
            partial(any_changed, factor=1.02, threshold=0.05),
            five,
            0.0,
            0.02,
        ),
        ("levels 4 times apart, called a change", switching_called_changed, five, 0.0, 0.005),
    ]
    return [
        Claim("changes", what, f"{path}, {where}", trial, least, most)
        for what, trial, where, least, most in rows
    ]
