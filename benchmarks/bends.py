"""What the fits say of simulated curves whose lines and bends are known."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import msgspec

from claims import Claim, Score, measure
from halftrip.analysis.curves import MeasuredCurve, curves
from halftrip.analysis.fit import Pieces, found_pieces, hockney
from halftrip.plan.plan import Plan
from halftrip.simulation.path_model import Noise, PathModel, Segment, Wander
from halftrip.stats.curve_times import draws

# A size per power of two.
GRID = tuple(1 << n for n in range(23))
# Autocorrelated noise, and a level that wanders by 2 % and forgets within a slice.
NOISE = PathModel(
    noise=Noise(kind="ar1", spread=0.05, correlation=0.6),
    wander=Wander(spread=0.02, time_constant=0.0002),
)
# Noise of 1 %, and nothing else.
CALM = PathModel(noise=Noise(kind="lognormal", spread=0.01))
_PLAN = Plan(iterations=600, slices=10, warmup=10)
_LAUNCHES = msgspec.structs.replace(_PLAN, launches=6, slices=1, iterations=200)
# A jump of less need not be found.
LEAST_JUMP = 1.1
_FEWEST_SIZES = 3


def planted(seed: int, bends: int, model: PathModel = NOISE) -> PathModel:
    """A path with so many jumps of 10 % to a factor of 3, up or down, at sizes of the grid, each
    piece with at least three of these."""
    drawn = random.Random(seed)
    latency, per_byte = 1e-6, 1 / drawn.uniform(1e9, 20e9)
    model = msgspec.structs.replace(model, latency=latency, bandwidth=1 / per_byte, seed=seed)
    segments = []
    for place in _places(drawn, bends):
        size = GRID[place]
        jump = drawn.uniform(LEAST_JUMP, 3.0) ** drawn.choice((-1, 1))
        time = jump * (latency + size * per_byte)
        # Later bytes take less time or more.
        per_byte *= drawn.uniform(0.5, 3.0) * min(jump, 1.0)
        latency = time - size * per_byte
        segments.append(Segment(start=size, latency=latency, bandwidth=1 / per_byte))
    return msgspec.structs.replace(model, segments=tuple(segments))


def _places(drawn: random.Random, bends: int) -> list[int]:
    """The first sizes of further pieces, as indices of the grid."""
    while True:
        places = sorted(drawn.sample(range(_FEWEST_SIZES, len(GRID) - _FEWEST_SIZES + 1), bends))
        if all(after - before >= _FEWEST_SIZES for before, after in pairwise(places)):
            return places


def fitted(model: PathModel, seed: int, plan: Plan = _PLAN) -> MeasuredCurve:
    """The curve of a run over this path."""
    (curve,) = curves(measure(model, seed, GRID, plan))
    return curve


def _pieces(model: PathModel, seed: int, plan: Plan = _PLAN) -> Pieces:
    times = fitted(model, seed, plan).times
    assert times is not None
    return found_pieces(times, draws(times))


def jumps_are_found(seed: int) -> Score:
    """How many of none to four planted jumps are found within one size of the grid."""
    model = planted(seed, seed % 5)
    found = [
        (GRID.index(bend.low), GRID.index(bend.high))
        for bend in _pieces(model, seed).bends
        if bend.kind == "jump"
    ]
    true = [GRID.index(segment.start) for segment in model.segments]
    hits = sum(any(place - 2 <= low < place <= high <= place + 1 for low, high in found)
               for place in true)  # fmt: skip
    return Score(hits, len(true))


def any_invented(seed: int) -> Score:
    """Whether a run has a jump where none was planted."""
    model = planted(seed, seed % 5)
    true = [GRID.index(segment.start) for segment in model.segments]
    invented = any(
        not any(GRID.index(bend.low) < place <= GRID.index(bend.high) for place in true)
        for bend in _pieces(model, seed).bends
        if bend.kind == "jump"
    )
    return Score(int(invented), 1)


def line_is_right(seed: int) -> Score:
    """Whether start-up and bandwidth of a straight path are within 2 % at 1 % noise, by the line of
    relative least squares."""
    model = planted(seed, 0, CALM)
    times = fitted(model, seed).times
    assert times is not None
    _, relative, _ = hockney(times, draws(times))
    start = relative.line.start.value / 1e9 / model.latency
    bandwidth = relative.line.bandwidth.value / model.bandwidth
    return Score(int(max(abs(start - 1), abs(bandwidth - 1)) <= 0.02), 1)


def line_covers(seed: int, plan: Plan = _PLAN, launch: float = 0.0) -> Score:
    """How many of the intervals of start-up and time per byte of a straight path hold the truth:
    of relative least squares, and of the pieces."""
    model = msgspec.structs.replace(planted(seed, 0), launch=launch)
    times = fitted(model, seed, plan).times
    assert times is not None
    _, relative, _ = hockney(times, draws(times))
    lines = [relative.line, *(piece.line for piece in found_pieces(times, draws(times)).pieces[:1])]
    truth = (1e9 * model.latency, 1e9 / model.bandwidth)
    hits = [
        not estimate.is_apart_from(true)
        for line in lines
        for estimate, true in zip(line, truth, strict=True)
    ]
    return Score(sum(hits), len(hits))


def bends() -> list[Claim]:
    path = "0 to 4 jumps, AR(1), wandering"
    straight = "straight, AR(1), wandering"
    return [
        Claim("bends", "jumps of 10 % and more, found", path, jumps_are_found, 0.95, 1.0),
        Claim("bends", "a jump invented", path, any_invented, 0.0, 0.05),
        Claim("bends", "s and B within 2 %", "straight, 1 % noise", line_is_right, 0.95, 1.0),
        Claim("bends", "intervals of s and B, 10 slices", straight, line_covers, 0.93, 0.98),
        Claim(
            "bends", "intervals of s and B, 6 launches", f"{straight}, launch spread 2 %",
            partial(line_covers, plan=_LAUNCHES, launch=0.02), 0.93, 0.98,
        ),
    ]  # fmt: skip
