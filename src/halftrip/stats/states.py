"""In which of several states a machine was, by how long a cache line took between two cores."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Two probes that differ by more than this factor, with none in between, are of two states.
_GAP = 1.25
# A state that fewer probes saw than this share, or than this many, is a disturbance.
_LEAST_SHARE = 0.05
_FEWEST = 2
# No state is so narrow that a probe outside it by this factor does not belong to it.
_ROUNDING = 1.05

Floats = npt.NDArray[np.float64]


class State(NamedTuple):
    """Probes from `low` to `high`, ns."""

    low: float
    high: float

    def has(self, probe: float) -> bool:
        return self.low / _ROUNDING <= probe <= self.high * _ROUNDING


def states(probes: Sequence[float]) -> list[State]:
    """The states that `probes`, ns, were taken in, the fastest first; none without probes.

    They are cut where neighbours in order of size are far apart.
    """
    ordered = np.sort(np.asarray(probes, dtype=np.float64))
    if ordered.size == 0:
        return []
    cuts = np.flatnonzero(ordered[1:] > _GAP * ordered[:-1]) + 1
    groups = np.split(ordered, cuts)
    # The largest is one, however many there are.
    least = max(_FEWEST, _LEAST_SHARE * ordered.size)
    least = min(least, max(group.size for group in groups))
    return [State(float(g[0]), float(g[-1])) for g in groups if g.size >= least]


def block_states(known: Sequence[State], probes: Sequence[float]) -> list[int | None]:
    """In which of the states `known` each of n blocks was, by its number, from the n + 1 `probes`
    around them; None where it changed in between. A probe in none of them was disturbed, and says
    nothing."""
    ends = [_state_of(known, probe) for probe in probes]
    return [
        one if one == other or other is None else other if one is None else None
        for one, other in itertools.pairwise(ends)
    ]


def _state_of(known: Sequence[State], probe: float) -> int | None:
    return next((number for number, state in enumerate(known) if state.has(probe)), None)
