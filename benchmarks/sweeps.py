"""What the fits say of a long linear sweep of sizes, each measured in a few slices, on machines
that move."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from claims import Claim, Score
from halftrip import __version__
from halftrip.analysis.curves import curves
from halftrip.analysis.fit import piecewise_fit
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.reading import FORMAT
from halftrip.results.records import Header, Measurement, RunEnd
from halftrip.results.run import Run
from machines import Machine, jumping, wandering
from states import traces

# 1,000 sizes, bytes; where the time jumps, and by which factor.
SIZES = tuple(range(40, 40_040, 40))
JUMPS = ((4_100, 1.3), (16_400, 1.2))
_PER_BYTE = 0.05
# Bytes: some sizes vary more than others, as where a copy goes by way of several caches.
ROUGH = range(6_000, 14_000)
# The sizes of the recipe one-box-two-boxes.
ONE_BOX = tuple(range(4, 40_004, 4))
# ms: of a slice with what is beside it. Its median varies by this share; it has so many samples.
_SLICE_MS = 15
_BRIEF_MS = 4
_NOISE = 0.02
_SAMPLES = 5
_END = EndSettings(wait="spin")


class Sweep(NamedTuple):
    """A machine, and the time of an empty message, ns: `fixed`, and `slope` for each ns of the
    core-to-core round trip. `slower` is the share of slices that something else makes longer by
    half. Each of the `sizes`, bytes, has so many `slices` of `slice_ms`, pauses included. Those in
    ROUGH vary by the share `rough`."""

    machine: Machine
    fixed: float = 40.0
    slope: float = 1.5
    slower: float = 0.0
    slices: int = 1
    sizes: Sequence[int] = SIZES
    rough: float = 0.0
    slice_ms: int = _SLICE_MS

    @property
    def name(self) -> str:
        disturbed = f", {self.slower:.0%} of slices slower" if self.slower else ""
        alike = "" if self.slope else ", which times do not go with"
        several = f", {self.slices} slices" if self.slices > 1 else ""
        sizes = f", {len(self.sizes):,} sizes" if self.sizes != SIZES else ""
        rough = f", a fifth of the sizes within {self.rough:.0%}" if self.rough else ""
        return f"{self.machine.name}{alike}{disturbed}{several}{sizes}{rough}"


TWO = (90.0, 280.0)
SWEEPS = (
    Sweep(jumping((90.0,), 1.0)),
    Sweep(jumping((90.0,), 1.0), slower=0.1),
    Sweep(jumping(TWO, 0.1)),
    Sweep(jumping(TWO, 1.0)),
    Sweep(jumping(TWO, 10.0)),
    Sweep(jumping(TWO, 1.0), slices=2),
    Sweep(jumping(TWO, 1.0), slower=0.1, slices=3),
    # The times do not go with the state.
    Sweep(jumping(TWO, 1.0), fixed=20_000.0, slope=0.0),
    Sweep(wandering(85.0, 95.0, 5.0)),
    Sweep(jumping((90.0,), 1.0), slices=2, rough=0.08),
)


def swept(sweep: Sweep, seed: int, jumps: Sequence[tuple[int, float]] = JUMPS) -> Run:
    """A run of all sizes, in passes of random order."""
    random = np.random.default_rng(seed)
    rtts = sweep.machine.trace(random, sweep.slice_ms * len(sweep.sizes) * sweep.slices + 1)
    measurements = []
    places = [random.permutation(len(sweep.sizes)) for _ in range(sweep.slices)]
    for turn, place in enumerate(np.concatenate(places).tolist()):
        size = sweep.sizes[place]
        inside = rtts[turn * sweep.slice_ms : (turn + 1) * sweep.slice_ms]
        time = sweep.fixed + sweep.slope * float(np.median(inside)) + _PER_BYTE * size
        for at, factor in jumps:
            time *= factor if size > at else 1.0
        time *= 1.5 if random.random() < sweep.slower else 1.0
        share = max(_NOISE, sweep.rough if size in ROUGH else 0.0)
        time *= float(np.exp(share * random.normal()))
        noise = np.exp(_NOISE * random.normal(size=_SAMPLES))
        ends = np.array([inside[0], inside[-1]]) * np.exp(0.01 * random.normal(size=2))
        measurements.append(
            Measurement(
                configuration=Configuration(
                    transport="mpi", size=size, initiator=_END, responder=_END
                ),
                slice=turn // len(sweep.sizes),
                launch=0,
                at=None,
                first=None,
                warm_up=None,
                iterations=100,
                stopped="count",
                blocks=[
                    Block(
                        times=np.rint(200 * time * noise).astype(np.int64),
                        core_to_core_rtt=RoundTrips(*map(float, ends)),
                    )
                ],
            )
        )
    header = Header(version=FORMAT, halftrip=__version__, started="", command=[], plan={})
    return Run(header=header, measurements=tuple(measurements), end=RunEnd(reason=None))


def _places(sweep: Sweep, seed: int, jumps: Sequence[tuple[int, float]]) -> list[tuple[int, int]]:
    (curve,) = curves(swept(sweep, seed, jumps))
    found = piecewise_fit(curve).found
    return [] if found is None else [(bend.low, bend.high) for bend in found.bends]


def jumps_are_found(sweep: Sweep, seed: int) -> Score:
    """How many of the jumps lie in an interval that is found."""
    found = _places(sweep, seed, JUMPS)
    hits = [any(low <= at <= high for low, high in found) for at, _ in JUMPS]
    return Score(sum(hits), len(hits))


def any_other(sweep: Sweep, jumps: Sequence[tuple[int, float]], seed: int) -> Score:
    """Whether a run has a bend anywhere else."""
    found = _places(sweep, seed, jumps)
    return Score(int(len(found) > len(jumps)), 1)


def recorded_sweeps(folder: Path) -> list[Claim]:
    """The recipe one-box-two-boxes on the machines that were recorded."""
    machines = [*traces(folder), jumping(TWO, 1.0)]
    return _claims(
        [Sweep(each, slower=0.02, slices=2, sizes=ONE_BOX, slice_ms=_BRIEF_MS) for each in machines]
    )


def sweeps() -> list[Claim]:
    return _claims(SWEEPS)


def _claims(every: Sequence[Sweep]) -> list[Claim]:
    claims = []
    for sweep in every:
        found = partial(jumps_are_found, sweep)
        claims.append(Claim("sweeps", "two jumps, found", sweep.name, found, 0.95, 1.0))
        for jumps, what in ((JUMPS, "any other bend"), ((), "any bend where there is none")):
            trial = partial(any_other, sweep, jumps)
            claims.append(Claim("sweeps", what, sweep.name, trial, 0.0, 0.05))
    return claims
