"""The states of a machine, told by the round trips of a cache line between two cores."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.stats.quantile import quantile_of_ordered

# Two probes that differ by more than this factor, with none in between, are of two states.
_GAP = 1.25
# A smaller share of the probes, or fewer of them, are a disturbance and not a state.
_LEAST_SHARE = 0.05
_FEWEST = 2
# A probe outside a state by no more than this factor belongs to it.
_ROUNDING = 1.05
# If all probes are of one state, this share of them, the lowest or the highest, count as near or
# far.
_NEAREST_SHARE = 0.25


class State(NamedTuple):
    """A state with round trips from `low` to `high`, ns."""

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
    # The largest group is a state, however few probes it has.
    least = max(_FEWEST, _LEAST_SHARE * ordered.size)
    least = min(least, max(group.size for group in groups))
    return [State(float(g[0]), float(g[-1])) for g in groups if g.size >= least]


def requested_state(probes: Sequence[float], requested: Literal["near", "far"]) -> State:
    """The state in which the cores are near, or far, by all `probes` so far, ns, at least one.

    Where there are clear states, it is the first or the last. But often the round trip moves
    continuously: then it is from the lowest probe to the lowest quartile, or from the upper
    quartile to the highest.
    """
    known = states(probes)
    if len(known) > 1:
        return known[0 if requested == "near" else -1]
    inside = np.sort([probe for probe in probes if known[0].low <= probe <= known[0].high])
    if requested == "near":
        return State(known[0].low, quantile_of_ordered(inside, _NEAREST_SHARE))
    return State(quantile_of_ordered(inside, 1.0 - _NEAREST_SHARE), known[0].high)


def block_states(known: Sequence[State], probes: Sequence[float]) -> list[int | None]:
    """The number of the state of each of n blocks, of the states `known`, from the n + 1 `probes`
    before the first block and after each. None where it changed within a block, or is not known. A
    probe in no state was disturbed: the other probe of the block decides."""
    ends = [_state_of(known, probe) for probe in probes]
    return [
        one if one == other or other is None else other if one is None else None
        for one, other in itertools.pairwise(ends)
    ]


def _state_of(known: Sequence[State], probe: float) -> int | None:
    return next((number for number, state in enumerate(known) if state.has(probe)), None)
