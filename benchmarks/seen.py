"""Whether causes of wide rows are named where they are planted, and no others: the claims of
truth.py about what was read beside slices, and about launches that differ by chance."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from claims import Claim, Score, measure
from halftrip.analysis.rows import rows
from halftrip.plan.plan import Plan
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.usage import CoreUse, Usage
from halftrip.simulation.path_model import Noise, PathModel, Wander

_NOISE = Noise(kind="lognormal", spread=0.02)
_PATH = PathModel(latency=10e-6, bandwidth=1e18, noise=_NOISE)
_ONE = Plan(ci=None, slices=10, time=0.1)
_TEN = Plan(ci=None, slices=2, time=0.02, launches=10)
_OF_SLICES = ("CPU contention", "steal", "frequency", "cores moved")
_HERTZ = 3.1e9


class Planted(NamedTuple):
    """What is read beside a slice, and how many times as long messages take because of it."""

    others: float = 0.0
    steal: float = 0.0
    hertz: float = _HERTZ
    factor: float = 1.0


def _planted(name: str, random: np.random.Generator) -> Planted:
    share = float(random.uniform(0.2, 0.5))
    match name:
        case "CPU contention":
            return Planted(others=share, factor=1 / (1 - share))
        case "steal":
            return Planted(steal=share, factor=1 / (1 - share))
        case _:
            return Planted(hertz=_HERTZ * (1 - share), factor=1 / (1 - share))


def _beside(measurement: Measurement, seen: Planted) -> Measurement:
    """A slice with what was read beside it, and its times as they are because of it."""
    usage = Usage(
        iterations=1000, elapsed=1.0, user=0.3, system=0.2, voluntary=1000, involuntary=0,
        minor_faults=0, major_faults=0, peak_memory=0,
    )  # fmt: skip
    # Read over 1 s, of which a slow slice is a small part of the row: no sum shows it.
    core = CoreUse(number=1, watched=1.0, others=seen.others, steal=seen.steal, hertz=seen.hertz)
    blocks = [
        msgspec.structs.replace(
            block, usage=(usage, usage), times=np.rint(block.times * seen.factor).astype(np.int64)
        )
        for block in measurement.blocks
    ]
    calm = CoreUse(number=0, watched=1.0, others=0.0, steal=0.0, hertz=_HERTZ)
    return msgspec.structs.replace(measurement, blocks=blocks, cores=(calm, core))


def _with(run: Run, seen: dict[int, Planted], slows: bool) -> Run:
    """The run with something beside some slices, by their number in the file, which `slows` these
    or does not."""
    measurements = []
    for number, each in enumerate(run.measurements):
        planted = seen.get(number, Planted())
        measurements.append(_beside(each, planted if slows else planted._replace(factor=1.0)))
    return msgspec.structs.replace(run, measurements=tuple(measurements))


def _causes(run: Run) -> list[str]:
    found = (row.verdict.cause for row in rows(run, flags=False))
    return [cause.name for cause in found if cause is not None]


def planted(name: str, plan: Plan, seed: int) -> Score:
    """Whether what slows two or three of ten slices, or launches, is named."""
    random = np.random.default_rng(seed)
    run = measure(_PATH, seed, plan=plan)
    groups = np.array([m.launch if plan.launches > 1 else m.slice for m in run.measurements])
    slow = random.choice(np.unique(groups), 3, replace=False)
    what = {int(group): _planted(name, random) for group in slow}
    seen = {n: what[group] for n, group in enumerate(groups.tolist()) if group in what}
    return Score(int(name in _causes(_with(run, seen, slows=True))), 1)


def innocent(plan: Plan, seed: int) -> Score:
    """Whether anything is named that was read beside slices of a path that wanders by itself."""
    random = np.random.default_rng(seed)
    wander = msgspec.structs.replace(_PATH, wander=Wander(spread=0.2), launch=0.2)
    run = measure(wander, seed, plan=plan)
    # Below all limits on average, and each of them varies.
    seen = {
        n: Planted(others, steal, hertz)
        for n, (others, steal, hertz) in enumerate(
            zip(
                0.3 * random.random(len(run.measurements)) ** 8,
                0.3 * random.random(len(run.measurements)) ** 8,
                _HERTZ * random.uniform(0.8, 1, len(run.measurements)),
                strict=True,
            )
        )
    }
    named = set(_causes(_with(run, seen, slows=False))) & set(_OF_SLICES)
    return Score(int(bool(named)), 1)


def odd(launches: int, seed: int) -> Score:
    """Whether one of some launches that are alike is said to be in another mode."""
    plan = Plan(ci=None, slices=2, time=0.02, launches=launches)
    run = measure(msgspec.structs.replace(_PATH, launch=0.2), seed, plan=plan)
    return Score(int("another mode" in _causes(run)), 1)


def seen() -> list[Claim]:
    paths = {"3 of 10 slices": _ONE, "3 of 10 launches": _TEN}
    return [
        *(
            Claim("seen", f"{name} named", path, partial(planted, name, plan), 0.95, 1.0)
            for name in ("CPU contention", "steal", "frequency")
            for path, plan in paths.items()
        ),
        *(
            Claim("seen", "named by chance", path, partial(innocent, plan), 0.0, 0.05)
            for path, plan in {"wanders, 10 slices": _ONE, "wanders, 10 launches": _TEN}.items()
        ),
        *(
            Claim("seen", "another mode", f"{count} launches alike", partial(odd, count), 0.0, 0.05)
            for count in (4, 6, 10)
        ),
    ]
