"""How often the cause of a bend that is planted at a threshold is named, and one is named that is
none, where it bends for a reason that nothing knows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import msgspec

from bends import NOISE
from claims import Claim, Score, measure
from halftrip.analysis.bend_causes import BendCauses, candidates, causes
from halftrip.analysis.bend_kinds import KINDS
from halftrip.analysis.curves import curves
from halftrip.analysis.fit import piecewise_fit
from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration
from halftrip.results.records import ClockInfo, Environment
from halftrip.results.run import Run
from halftrip.results.threshold import Acts, Threshold
from halftrip.simulation.path_model import PathModel, Segment

_GRID = tuple(1 << n for n in range(3, 23))
# Sizes beside the place, which is in the middle of two, are powers of this: it is known to 2 %, as
# --refine makes it or better.
_FINE = 1.01
_PLAN = Plan(iterations=100, slices=10, warmup=10)
# A cause whose place is known to less than this factor can be told from chance by its place.
_EXACT = 1.2


class _Path(NamedTuple):
    """A path between two ranks of this kind, and what it knows of itself."""

    transport: str
    thresholds: tuple[Threshold, ...]


def _of(transport: str, *known: tuple[str, Acts, int, int]) -> _Path:
    return _Path(
        transport,
        tuple(
            Threshold(
                name=name, value=value, acts=acts, header=header, source="planted",
                transport=transport,
            )
            for name, acts, value, header in known
        ),
    )  # fmt: skip


# As they were found on real machines.
PATHS = {
    "an MPI within a host": _of(
        "mpi",
        ("the eager limit", "protocol", 4096, 128),
        ("the fast box", "protocol", 1024, 16),
        ("the fragment", "pieces", 32768, 128),
        ("the memcpy limit", "protocol", 131072, 128),
        ("memcpy's switch", "copy", 2112, 0),
    ),
    "TCP on loopback": _of(
        "tcp",
        ("the MTU", "pieces", 65535, 52),
        ("GSO", "pieces", 65536, 65536),
        ("GRO", "pieces", 65536, 65536),
        ("the sender's buffer", "capacity", 2626560, 1969920),
        ("the receiver's buffer", "capacity", 131072, 98304),
    ),
    "TCP on Ethernet": _of(
        "tcp",
        ("the MTU", "pieces", 1500, 52),
        ("GSO", "pieces", 65536, 1768),
        ("the sender's buffer", "capacity", 87040, 65280),
        ("the receiver's buffer", "capacity", 131072, 98304),
    ),
    "a pipe": _of("pipe", ("the capacity", "capacity", 65536, 0)),
}
_CACHES = (("L1", 48 << 10, False), ("L2", 1 << 20, False), ("L3", 32 << 20, True))


def _machine() -> list[Threshold]:
    found = [
        Threshold(
            rank=rank, name=f"the {name} cache", value=value, acts="cache", source="planted",
            cores=[0, 1] if shared else [rank],
        )
        for name, value, shared in _CACHES
        for rank in (0, 1)
    ]  # fmt: skip
    return [*found, Threshold(name="the page", value=4096, acts="page", source="planted")]


def _rank(rank: int) -> Environment:
    clock = ClockInfo(source="tsc", hertz=1e9, cost=20.0, resolution=1.0)
    return Environment(
        rank=rank, host="one", pid=rank, core=rank, allowed_cores=[0, 1], oversubscribed=False,
        processor="", kernel="", python="", clock=clock, thp=None, governor=None, hypervisor=None,
        mpi=None, mpi_library=None, variables={},
    )  # fmt: skip


class _Planted(NamedTuple):
    """A bend at `place`, bytes: a jump, or a slope; and the name of what causes it (None: nothing
    that is known)."""

    place: int
    is_jump: bool
    cause: str | None


Kind = Literal["exact", "vague", "unknown"]


def _plant(kind: Kind, drawn: random.Random, base: Run) -> _Planted:
    """A bend by one of the thresholds that `base` knows, whose place is known well, or vaguely as
    that of a cache or of a socket's buffer; or one anywhere in the middle of the curve."""
    if kind == "unknown":
        place = round(math.exp(drawn.uniform(math.log(64), math.log(1 << 20))))
        return _Planted(place, drawn.random() < 0.5, None)
    one = [
        each
        for each in candidates(base, base.measurements[0].configuration.curve)
        if each.prediction.multiple == 1
        # Such as may be anywhere are left out.
        and each.prediction.low > 64
        and each.prediction.high < 1 << 21
        and (each.prediction.high < _EXACT * each.prediction.low) == (kind == "exact")
    ]
    name = drawn.choice(sorted({each.threshold.name for each in one}))
    chosen = next(each for each in one if each.threshold.name == name)
    low, high = chosen.prediction[:2]
    place = round(math.exp(drawn.uniform(math.log(low), math.log(high))))
    return _Planted(place, KINDS[chosen.threshold.acts].makes != "slope", name)


def _curve(path: _Path) -> Configuration:
    (configuration,) = {
        each.configuration.curve for each in _run(path, NOISE, (8, 16, 32), 1).measurements
    }
    return configuration


def _run(path: _Path, model: PathModel, sizes: Sequence[int], seed: int) -> Run:
    """A run over a path that bends as `model` does, which knows the thresholds of `path`."""
    run = measure(model, seed, sizes, _PLAN)
    measurements = tuple(
        msgspec.structs.replace(
            each,
            configuration=msgspec.structs.replace(each.configuration, transport=path.transport),
        )
        for each in run.measurements
    )
    return msgspec.structs.replace(
        run,
        measurements=measurements,
        environments=(_rank(0), _rank(1)),
        thresholds=(*path.thresholds, *_machine()),
    )


def _model(planted: _Planted, drawn: random.Random) -> PathModel:
    latency, per_byte = 1e-6, 1 / drawn.uniform(2e9, 20e9)
    model = msgspec.structs.replace(NOISE, latency=latency, bandwidth=1 / per_byte)
    time = latency + planted.place * per_byte
    if planted.is_jump:
        time *= drawn.uniform(1.15, 3.0)
    else:
        per_byte *= drawn.uniform(2.0, 5.0)
    segment = Segment(
        start=planted.place + 1, latency=time - planted.place * per_byte, bandwidth=1 / per_byte
    )
    return msgspec.structs.replace(model, segments=(segment,))


def _sizes(place: int, refined: bool) -> list[int]:
    if not refined:
        return [*_GRID]
    beside = [round(place * _FINE**power) for power in (-12, -6, -3, -2, -1, 1, 2, 3, 6, 12)]
    return sorted({*_GRID, *beside})


@lru_cache(1024)
def _bend(path: str, kind: Kind, refined: bool, seed: int) -> tuple[_Planted, BendCauses] | None:
    """What is said of the bend that is planted; None where none is found there."""
    drawn = random.Random(seed)
    of = PATHS[path]
    planted = _plant(kind, drawn, _run(of, NOISE, _GRID[:3], 1))
    run = _run(of, _model(planted, drawn), _sizes(planted.place, refined), seed)
    (found,) = causes(run, [piecewise_fit(each) for each in curves(run)])
    there = (each for each in found.bends if each.bend.low <= planted.place < each.bend.high)
    bend = next(there, None)
    return None if bend is None else (planted, bend)


def is_known(planted: _Planted, found: BendCauses) -> bool:
    return planted.cause in [each.threshold.name for each in found.candidates]


def is_named(planted: _Planted, found: BendCauses) -> bool:
    named = [each.threshold.name for each in found.candidates if each.is_named]
    return planted.cause in named


def is_any(_: _Planted, found: BendCauses) -> bool:
    return any(each.is_named for each in found.candidates)


Said = Callable[[_Planted, BendCauses], bool]


def said_of(kind: Kind, refined: bool, says: Said, seed: int) -> Score:
    """Whether that is said of a bend, on each of the paths in turn."""
    found = _bend([*PATHS][seed % len(PATHS)], kind, refined, seed)
    return Score(0, 0) if found is None else Score(int(says(*found)), 1)


def named_bends() -> list[Claim]:
    claims = []
    for refined, sizes in ((True, "sizes 2 % apart"), (False, "powers of two")):
        trials: tuple[tuple[Kind, Said, str, float, float], ...] = (
            ("exact", is_known, "a cause at a known place, possible", 0.95, 1.0),
            ("exact", is_named, "a cause at a known place, named", 0.95 if refined else 0.0, 1.0),
            ("vague", is_known, "a cache or a buffer, possible", 0.95, 1.0),
            ("vague", is_named, "a cache or a buffer, named", 0.0, 1.0),
            ("unknown", is_any, "an unknown cause, named as another", 0.0, 0.02),
        )
        for kind, says, what, least, most in trials:
            trial = partial(said_of, kind, refined, says)
            claims.append(Claim("named", what, sizes, trial, least, most))
    return claims
