"""Whether a node or a link is at fault where some pairs of hosts are slow.

The logarithm of a pair's time is m + a_i + a_j + l_ij: that of a typical pair, and what either node
and the link between them add. Most nodes and links are healthy: what they add is near 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats, Samples, quantiles_of_ordered

# A node or link counts as slow with at least this probability.
_SURE = 0.99
# Expected numbers of slow nodes and links; divided by how many there are, prior probabilities, so
# that looking at more finds no more by chance (Scott and Berger, Annals of Statistics 38, 2010).
# For each slow one, _FAST are fast. Logarithms of factors are exponential, with mean _SLOWDOWN.
_SLOW_NODES, _SLOW_LINKS, _FAST, _SLOWDOWN = 0.1, 0.05, 0.01, 0.5
# The standard deviation of healthy nodes, and candidates for that of healthy links: 0.03 where
# pairs differ by 10 % (uniform: log(1.1) / sqrt(12)). Their prior falls with this power.
_OF_NODES, _OF_LINKS, _POWER = 0.03, (0.03, 0.06, 0.12, 0.24), 3.0
# This share of repeats is disturbed, seldom by factors above exp(0.25): other cores of a virtual
# machine make 1.3. The others vary by at least _CALM, as far as the grid resolves.
_DISTURBED, _DISTURBANCE, _CALM = 0.1, 0.25, 0.02
# The grid of logarithms, relative to this quantile of pairs: its step, and how far it goes beyond
# all pairs. Times outside of the bounds count as being there.
_CENTER, _STEP, _BEYOND, _LOWEST, _HIGHEST = 0.2, 0.01, 0.4, -2.0, 4.6
# At least half of an unhealthy node's links are off by more than _NOTABLE. A typical pair is at one
# of these quantiles.
_NOTABLE, _STARTS = 0.04, (0.0, 0.2, 0.5)
# The largest step of scoring, the one that is the last, and how many there are at most.
_FARTHEST, _CONVERGED, _MOST_STEPS = 0.2, 1e-10, 60


class Effect(NamedTuple):
    """A node or link takes `factor` times as long as a healthy one in its place, within `low` to
    `high` at 95 %; 1, 0 and infinity where nothing can be told. `probability`: that it is not
    healthy, given which other nodes are, times that its factor, normal, is above the threshold."""

    factor: float
    low: float
    high: float
    probability: float

    @property
    def slow(self) -> bool:
        return self.probability >= _SURE


class HostFit(NamedTuple):
    """The time of a `typical` pair, ns; the standard deviation of the logarithms of healthy links,
    `spread`; the effects of all nodes, and those of the links of all pairs beyond their nodes."""

    typical: float
    spread: float
    nodes: Mapping[int, Effect]
    links: Mapping[tuple[int, int], Effect]


class SlowPart(NamedTuple):
    """A slow node, one host, with the number of its links; or a slow link, two hosts."""

    hosts: tuple[int, ...]
    effect: Effect
    links: int


def suspects(found: HostFit) -> list[SlowPart]:
    """The slow nodes, and the links that are slower than slow nodes explain, slowest first."""
    ends = [host for pair in found.links for host in pair]
    slow = [SlowPart((i,), node, ends.count(i)) for i, node in found.nodes.items() if node.slow]
    slow += [SlowPart(pair, link, 1) for pair, link in found.links.items() if link.slow]
    return sorted(slow, key=lambda suspect: (-suspect.effect.factor, suspect.hosts))


def fit(pairs: Mapping[tuple[int, int], Samples], threshold: float = 1.10) -> HostFit:
    """The fit of the medians of each pair's slices, ns, shape (k,), k >= 1, by hosts (i, j), i < j;
    not all pairs need be there. Slow is what takes more than `threshold` times as long. ValueError
    without pairs, with other keys, and where a time is not positive and finite.

    Of 2 hosts nothing can be told. Of 3, a node is slow where both its links are, alike; how much
    healthy links differ is then assumed. Of 4, one slow node is told from links, of 5 two. A node
    with one link is not told from it; one that is not surely slow explains none of its links. Pairs
    of different kinds, as within racks and between, make `spread` large: little is found in them.
    """
    keys = sorted(pairs)
    if not keys or not all(i < j and pairs[i, j].size for i, j in keys):
        raise ValueError("pairs (i, j), at least one, have i < j and at least one time")
    if not all(pairs[key].min() > 0 and pairs[key].max() < math.inf for key in keys):
        raise ValueError("times are positive and finite")
    logs = [np.log(pairs[key]) for key in keys]
    # Among three hosts with a slow one, most pairs are slow.
    center = sorted(median(each) for each in logs)[int(_CENTER * (len(logs) - 1))]
    hosts = sorted({host for key in keys for host in key})
    model = _model([each - center for each in logs], np.searchsorted(hosts, np.array(keys).T))
    best = max((_explain(model, each) for each in _OF_LINKS), key=lambda state: state.evidence)
    effects, variances, least = best.effects[:-1], np.diag(best.covariances), math.log(threshold)
    chances = 1.0 / (1.0 + np.exp(-_odds(best)[0]))
    nodes = _effects(effects, variances[:-1], chances, np.bincount(model.ends.ravel()) > 1, least)
    unsure = best.free & (effects > 0) & [not node.slow for node in nodes]
    if unsure.any():
        best = _settle(best.model, best.effects, best.free & ~unsure)
    named = dict(zip(hosts, nodes, strict=True)), dict(zip(keys, _links(best, least), strict=True))
    return HostFit(math.exp(center + best.effects[-1]), best.model.spread, *named)


class _Model(NamedTuple):
    """p pairs of n hosts: the places of their `ends` among the hosts, shape (2, p); the likelihood
    of each level of the `grid`, shape (g,), for each pair, shape (p, g); the `levels` and the
    `variances` that it gives the pairs, and the variances that `calm` repeats would, shape (p,).
    Where healthy links have the standard deviation `spread`: the logarithm of the likelihood of
    each level that a pair's nodes may explain, and the probability that its link is `healthy`."""

    ends: npt.NDArray[np.intp]
    grid: Floats
    likelihoods: Floats
    levels: Floats
    variances: Floats
    calm: Floats
    spread: float = 0.0
    logs: Floats = np.zeros(0)
    healthy: Floats = np.zeros(0)


def _model(every: list[Floats], ends: npt.NDArray[np.intp]) -> _Model:
    """The model, less what depends on the spread, of the logarithms of each pair's repeats."""
    middles = np.clip([median(each) for each in every], _LOWEST, _HIGHEST)
    apart = np.concatenate([np.abs(x - median(x)) for x in every if x.size > 1] or [np.zeros(1)])
    scale = max(_CALM, 1.4826 * median(apart))
    grid = np.arange(middles.min() - _BEYOND, middles.max() + _BEYOND, _STEP)
    sizes = np.array([each.size for each in every])
    repeats = np.full((sizes.size, sizes.max()), np.nan)
    repeats[np.arange(sizes.max()) < sizes[:, None]] = np.concatenate(every)
    likelihoods = _likelihoods(np.clip(repeats, _LOWEST, _HIGHEST), grid, scale)
    shares = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    levels, squares, calm = shares @ grid, shares @ grid**2, scale**2 / sizes
    return _Model(ends, grid, likelihoods, levels, squares - levels**2, calm)


def _likelihoods(repeats: Floats, grid: Floats, scale: float) -> Floats:
    """The likelihood of each level, relative to the likeliest, given each pair's repeats, shape
    (p, k), NaN where there is none.

    Repeats are normal, but any may be disturbed (contaminated normal: Tukey, in Contributions to
    Probability and Statistics, 1960). Disturbances of a pair may be alike: unlike a density, theirs
    does not fall with its width, so that repeats that agree do not refute the others.
    """
    total = np.zeros((repeats.shape[0], grid.size))
    for repeat in repeats.T:
        apart = repeat[:, None] - grid
        calm = (1.0 - _DISTURBED) * np.exp(-0.5 * (apart / scale) ** 2)
        total += np.nan_to_num(np.log(calm + _DISTURBED / (1.0 + (apart / _DISTURBANCE) ** 4)))
    return np.asarray(np.exp(total - total.max(axis=1, keepdims=True)), np.float64)


class _State(NamedTuple):
    """An explanation: the `effects` of nodes and, last, the typical level, shape (n + 1,), with
    their covariances; the nodes that are `free`, that is not healthy, shape (n,); the `weights` of
    pairs, shape (p,); and the logarithm of how probable all this is."""

    model: _Model
    effects: Floats
    free: npt.NDArray[np.bool_]
    covariances: Floats
    weights: Floats
    evidence: float


def _explain(model: _Model, spread: float) -> _State:
    size, n = model.grid.size, int(model.ends.max()) + 1
    prior = _SLOW_LINKS / model.levels.size
    normal = _normal(_STEP * np.arange(1 - size, size, dtype=np.float64), spread)
    decay = _STEP * np.exp(-_STEP * np.arange(size) / _SLOWDOWN) / _SLOWDOWN
    slow = prior * np.convolve(normal, decay)[: normal.size]
    offsets = np.arange(size)[:, None] - np.arange(size) + size - 1
    healthy = model.likelihoods @ ((1.0 - (1.0 + _FAST) * prior) * normal)[offsets]
    every = healthy + model.likelihoods @ (slow + _FAST * slow[::-1])[offsets]
    model = model._replace(spread=spread, logs=np.log(every), healthy=healthy / every)
    starts = quantiles_of_ordered(np.sort(model.levels), np.array(_STARTS))
    states = [_settle(model, np.append(np.zeros(n), x), np.zeros(n, np.bool_)) for x in starts]
    found = []
    # Once where the starts have come to the same.
    for state in {round(each.evidence, 6): each for each in states}.values():
        # The most obvious node joins, or one that the others made needless leaves, until none is.
        for _ in range(2 * n):
            odds, likeliest = _odds(state)
            gains = np.where(state.free, -odds, odds)
            i = int(np.argmax(gains))
            if gains[i] <= 0:
                break
            free, effects = state.free.copy(), state.effects.copy()
            free[i] = not free[i]
            effects[i] = likeliest[i] * free[i]
            state = _settle(model, effects, free)  # noqa: PLW2901
        found.append(state)
    return max(found, key=lambda state: state.evidence)


def _settle(model: _Model, effects: Floats, free: npt.NDArray[np.bool_]) -> _State:
    """The likeliest effects given which nodes are free, by scoring: least squares again and again,
    each pair weighted by the probability that its link is healthy, which falls to 0 where it is
    slow (Holland and Welsch, Communications in Statistics A 6, 1977)."""
    n = free.size
    one, other = model.ends
    table = np.gradient(model.logs, _STEP, axis=1)
    prior = np.append(np.where(free, 1e-4, _OF_NODES**-2), 1e-9)
    for _ in range(_MOST_STEPS):
        places = (effects[one] + effects[other] + effects[n] - model.grid[0]) / _STEP
        weights = _between(model.healthy, places) / (model.calm + model.spread**2)
        information = np.zeros((n + 1, n + 1))
        information[one, other] = information[other, one] = weights
        sums = np.append(information.sum(axis=0)[:n], weights.sum())
        information[n] = information[:, n] = sums
        information[np.diag_indices(n + 1)] = sums + prior
        slopes = _between(table, places)
        gradient = np.bincount(model.ends.ravel(), np.tile(slopes, 2), n + 1) - prior * effects
        gradient[n] = slopes.sum()
        step = np.linalg.solve(information, gradient)
        largest = float(np.abs(step).max())
        effects = effects + step * min(1.0, _FARTHEST / max(_FARTHEST, largest))
        if largest < _CONVERGED:
            break
    evidence = float(_between(model.logs, places).sum()) - _POWER * math.log(model.spread)
    evidence += float(np.log(np.where(free, *_priors(effects[:n], n)[::-1])).sum())
    evidence -= 0.5 * float(np.linalg.slogdet(information)[1])
    covariances = np.asarray(np.linalg.inv(information), np.float64)
    return _State(model, effects, free, covariances, weights, evidence)


def _normal(x: Floats, deviation: float) -> Floats:
    scale = deviation * math.sqrt(2.0 * math.pi)
    return np.asarray(np.exp(-0.5 * (x / deviation) ** 2) / scale, np.float64)


def _priors(effects: Floats, n: int) -> tuple[Floats, Floats]:
    """The densities of these effects of one of n nodes if it is healthy, and if it is not."""
    prior = _SLOW_NODES / n
    healthy = (1.0 - (1.0 + _FAST) * prior) * _normal(effects, _OF_NODES)
    free = prior * np.exp(-np.abs(effects) / _SLOWDOWN) / _SLOWDOWN
    return healthy + 1e-300, np.where(effects > 0, free, _FAST * free)


def _between(table: Floats, places: Floats) -> Floats:
    """The values of each row of the table at its places, shape (rows,) or (rows, k)."""
    places = np.clip(places, 0.0, table.shape[1] - 1.000001)
    below = places.astype(np.intp)
    rows = np.arange(table.shape[0]).reshape(-1, *[1] * (places.ndim - 1))
    low: Floats = table[rows, below]
    return low + (places - below) * (table[rows, below + 1] - low)


def _odds(state: _State) -> tuple[Floats, Floats]:
    """The logarithm of the odds that each node is not healthy, given the effects of the others, and
    its likeliest effect if so."""
    model, n = state.model, state.free.size
    effects = np.arange(model.grid[0], model.grid[-1], _STEP / 2) - state.effects[n]
    healthy, free = _priors(effects, n)
    odds, found = np.full(n, -np.inf), np.zeros(n)
    for i in range(n):
        rows = np.flatnonzero((model.ends == i).any(axis=0))
        rest = state.effects[n] + state.effects[model.ends[:, rows].sum(axis=0) - i]
        # A node with one link cannot be told from it.
        if rows.size > 1 and abs(median(model.levels[rows] - rest)) > _NOTABLE:
            places = (rest[:, None] + effects - model.grid[0]) / _STEP
            logs = _between(model.logs[rows], places).sum(axis=0)
            likelihoods = np.exp(logs - logs.max())
            odds[i] = math.log((likelihoods @ free) / (likelihoods @ healthy + 1e-300))
            found[i] = effects[np.argmax(likelihoods * free)]
    return odds, found


def _links(state: _State, least: float) -> list[Effect]:
    """The effects of links: each pair is compared with what the others predict for it (deleted
    residuals: Belsley, Kuh and Welsch, Regression Diagnostics, 1980, section 2.1)."""
    model = state.model
    design = np.zeros((model.levels.size, state.effects.size))
    design[np.arange(model.levels.size), model.ends] = design[:, -1] = 1.0
    errors = np.sum(design @ state.covariances * design, axis=1)
    others = np.maximum(1.0 - state.weights * errors, 1e-6)
    apart = (model.levels - design @ state.effects) / others
    places = (model.levels - apart - model.grid[0]) / _STEP
    chances = 1.0 - _between(model.healthy, places)
    variances = errors / others + model.variances + model.spread**2
    told = (others > 1e-6) & (variances < 100.0)
    return _effects(apart, variances, chances, told, least)


def _effects(
    logs: Floats, variances: Floats, chances: Floats, told: npt.NDArray[np.bool_], least: float
) -> list[Effect]:
    """The effects with these logarithms, that are not of healthy ones with these probabilities."""
    logs, errors = np.where(told, logs, 0.0), np.where(told, np.sqrt(variances), np.inf)
    bounds = np.exp([logs, logs - NORMAL_95 * errors, logs + NORMAL_95 * errors])
    above = [0.5 * math.erfc(x) for x in (least - logs) / (math.sqrt(2.0) * errors)]
    return [Effect(*each) for each in np.vstack([bounds, told * chances * above]).T.tolist()]
