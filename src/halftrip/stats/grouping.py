"""Which of several places belong together, by the times between all pairs of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats, Samples

# The standard deviation of normal values by the median of their distances from the median, and the
# standard error of the median of n such values, times the root of n.
_OF_DISTANCES, _OF_MEDIAN = 1.4826, 1.2533
# The standard deviation of a pair's repeats is at least this.
_CALM = 0.01
# Groups take less than others by this factor, surely by that one, and of two pairs, one within a
# group and one that leaves it, the former nearly always takes less.
_LEAST, _SURELY, _NEARLY_ALWAYS = math.log(1.2), math.log(1.1), 0.85
# A place moves to a group whose members it is as near to as these are to each other; of two alike,
# to the larger: the error of a median falls with the root of the number of pairs.
_FOR_FEW = 0.1
_MOST_MOVES, _NEAREST = 5, 4
# Of three places, two may be a pair, or the third one off.
_FEWEST_PAIRED = 3

Labels = npt.NDArray[np.intp]


class Grouping(NamedTuple):
    """A way to group places: `groups` in order of their first places, among which are places alone.
    A pair of a group typically takes `within`, one that leaves its groups, but not the next larger
    ones, `between`, in the unit of the times; the latter is `factor` times as long, within `low` to
    `high` at 95 %."""

    groups: tuple[tuple[int, ...], ...]
    within: float
    between: float
    factor: float
    low: float
    high: float


class Off(NamedTuple):
    """A place, or a pair, whose messages take `factor` times as long as those of others like it,
    within `low` to `high` at 95 %. `links` is how many pairs of a place are known."""

    places: tuple[int, ...]
    factor: float
    low: float
    high: float
    links: int


class Grouped(NamedTuple):
    """The `groupings` that times tell, from the nearest places to the farthest, none where all take
    alike long; and what is `off` by more than a tenth, surely, the farthest first."""

    groupings: list[Grouping]
    off: list[Off]


def grouped(times: Mapping[tuple[int, int], Samples]) -> Grouped:
    """The groups of places 0 to n - 1, n > 1, by the times of pairs (i, j), i < j, shape (k,),
    k >= 1, all > 0: repeats of a measurement. Not all pairs need be there.

    Candidates are the large steps of hierarchical clustering by average distance of logarithms
    (UPGMA: Sokal and Michener, University of Kansas Science Bulletin 38, 1958), after which places
    that an odd pair has led astray move. A candidate counts if pairs that leave a group surely take
    longer than those within: some pairs that are off do not hide a group, nor make one.
    """
    known = _levels(times)
    levels = known.levels
    found: list[Grouping] = []
    outer = np.zeros(len(levels), np.intp)
    labels = [outer]
    for candidate in sorted(_candidates(levels), key=lambda each: len(set(each.tolist()))):
        grouping = _judged(levels, float(np.nanmedian(known.errors)), candidate, outer)
        if grouping is not None:
            found.insert(0, grouping)
            outer = candidate
            labels.insert(0, candidate)
    return Grouped(found, _off(known, _usual(levels, labels)))


class _Levels(NamedTuple):
    """Of each pair, shape (n, n), NaN where nothing is known: the logarithm of its median, the
    standard error of that, and how far the lowest and the highest of its repeats are from it."""

    levels: Floats
    errors: Floats
    lowest: Floats
    highest: Floats


def _levels(times: Mapping[tuple[int, int], Samples]) -> _Levels:
    """Repeats of a pair may agree by chance: none is known better than the usual one."""
    one, other = np.array([*times]).T
    counts = np.array([each.size for each in times.values()])
    logs = np.full((counts.size, counts.max()), np.nan)
    logs[np.arange(counts.max()) < counts[:, None]] = np.log(np.concatenate([*times.values()]))
    middles = np.nanmedian(logs, axis=1)
    spreads = _OF_DISTANCES * np.nanmedian(np.abs(logs - middles[:, None]), axis=1)
    several = counts > 1
    usual = max(_CALM, median(spreads[several])) if several.any() else _CALM
    errors = _OF_MEDIAN * np.maximum(spreads, usual) / np.sqrt(counts)
    lowest, highest = np.nanmin(logs, axis=1) - middles, np.nanmax(logs, axis=1) - middles

    def square(of_pairs: Floats) -> Floats:
        size = 1 + int(max(one.max(), other.max()))
        found = np.full((size, size), np.nan)
        found[one, other] = found[other, one] = of_pairs
        return found

    return _Levels(*map(square, (middles, errors, lowest, highest)))


def _candidates(levels: Floats) -> Iterator[Labels]:
    """The partitions before each large step of the clustering, without such as are trivial."""
    seen = set()
    merges = [*_merges(levels)]
    for number in range(len(merges) - 1):
        if merges[number + 1][2] - merges[number][2] < _LEAST:
            continue
        labels = np.arange(len(levels))
        for kept, gone, _ in merges[: number + 1]:
            labels[labels == labels[gone]] = labels[kept]
        found = _settled(levels, labels)
        key = tuple(found.tolist())
        if _is_grouped(key) and key not in seen:
            seen.add(key)
            yield found


def _is_grouped(labels: Sequence[int]) -> bool:
    """Whether there are groups: a single place that is far from all others is off, and no group."""
    sizes = np.unique(labels, return_counts=True)[1]
    is_one_off = len(labels) > _FEWEST_PAIRED and max(sizes) == len(labels) - 1
    return 1 < sizes.size < len(labels) and not is_one_off


def _merges(levels: Floats) -> Iterator[tuple[int, int, float]]:
    """Which two clusters join, by a place of each, and at what average distance."""
    known = np.isfinite(levels)
    sums, counts = np.where(known, levels, 0.0), known.astype(np.float64)
    gone = np.eye(len(levels), dtype=np.bool_)
    for _ in range(len(levels) - 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(gone | (counts == 0), np.inf, sums / counts)
        kept, other = divmod(int(np.argmin(apart)), len(levels))
        if not math.isfinite(apart[kept, other]):
            return
        yield kept, other, float(apart[kept, other])
        for each in (sums, counts):
            each[kept] += each[other]
            each[:, kept] += each[:, other]
        gone[other] = gone[:, other] = True


def _settled(levels: Floats, labels: Labels) -> Labels:
    """The partition after places have moved to where they belong; labels are first places."""
    labels = labels.copy()
    for _ in range(_MOST_MOVES):
        before = labels.copy()
        own = {label: _middle_of(levels, before == label) for label in set(before.tolist())}
        for place in range(len(labels)):
            near = {
                label: _distance(levels, labels, place, label, own[label])
                for label in _near_labels(levels, labels, place)
            }
            label = min(near, key=lambda label: near[label])
            if math.isfinite(near[label]):
                labels[place] = label
        if (labels == before).all():
            break
    first = {label: place for place, label in reversed([*enumerate(labels.tolist())])}
    return np.array([first[label] for label in labels.tolist()], np.intp)


def _near_labels(levels: Floats, labels: Labels, place: int) -> list[int]:
    """The label of a place, and those of the groups that are nearest to it on average."""
    known = np.isfinite(levels[place])
    size = len(labels)
    counts = np.bincount(labels, known, size)
    sums = np.bincount(labels, np.where(known, levels[place], 0.0), size)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(counts > 0, sums / counts, np.inf)
    nearest = np.argsort(apart)[:_NEAREST]
    return [int(labels[place]), *nearest[np.isfinite(apart[nearest])].tolist()]


def _middle_of(levels: Floats, members: npt.NDArray[np.bool_]) -> float:
    """The median of the pairs of a group; NaN of a place alone."""
    own = levels[np.ix_(members, members)]
    own = own[np.isfinite(own)]
    return median(own) if own.size else math.nan


def _distance(levels: Floats, labels: Labels, place: int, label: int, own: float) -> float:
    """How far a place is from the others of a group, whose pairs typically have the level `own`;
    infinite where it is none of them."""
    known = levels[place, labels == label]
    known = known[np.isfinite(known)]
    # No comparison with NaN is true.
    if not known.size or not median(known) <= own + _LEAST / 2:
        return math.inf
    return median(known) + _FOR_FEW / math.sqrt(known.size)


def _judged(levels: Floats, error: float, labels: Labels, outer: Labels) -> Grouping | None:
    """The groups, if they lie within the larger ones of `outer`, and are told from these."""
    if any(len(set(outer[labels == label].tolist())) > 1 for label in labels):
        return None
    same = labels[:, None] == labels
    upper = np.triu(np.isfinite(levels), 1)
    within = levels[upper & same]
    between = levels[upper & ~same & (outer[:, None] == outer)]
    if not within.size or not between.size:
        return None
    middles = median(within), median(between)
    step = middles[1] - middles[0]
    apart = NORMAL_95 * math.hypot(*(_error(each, error) for each in (within, between)))
    below = np.searchsorted(np.sort(within), between).mean() / within.size
    if step < _LEAST or step - apart < _SURELY or below < _NEARLY_ALWAYS:
        return None
    groups = tuple(
        tuple(np.flatnonzero(labels == label).tolist()) for label in dict.fromkeys(labels.tolist())
    )
    figures = (*middles, step, step - apart, step + apart)
    return Grouping(groups, *(math.exp(each) for each in figures))


def _error(values: Floats, error: float) -> float:
    """The standard error of the median of pairs' levels, each known to `error`."""
    spread = _OF_DISTANCES * median(np.abs(values - median(values)))
    return _OF_MEDIAN * max(spread, error) / math.sqrt(values.size)


# What is off.

# Pairs of the same two groups are alike, where there are so many that a few odd ones do not matter;
# else all pairs that are within groups of the same kind.
_FEWEST_ALIKE = 6
# Of fewer places, a pair that is off is not told from a place.
_FEWEST_PLACES = 4
# How often chance may name anything in a whole map.
_CHANCE = 0.01
_MOST_SWEEPS = 5


def _usual(levels: Floats, labels: Sequence[Labels]) -> Floats:
    """The level of others like each pair, shape (n, n), by the partitions `labels`, from the finest
    to that of all places together."""
    finest = labels[0] if len(labels) > 1 else np.arange(len(levels)) * 0
    # The finest partition that has both in a group: places are in several kinds of pairs.
    kinds = np.argmax(np.array([each[:, None] == each for each in labels]), axis=0)
    low, high = np.minimum.outer(finest, finest), np.maximum.outer(finest, finest)
    blocks = (kinds * len(levels) + low) * len(levels) + high
    usual = np.full_like(levels, np.nan)
    for fewest, keys in ((0, kinds), (2 * _FEWEST_ALIKE, blocks)):
        for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
            if count < fewest:
                continue
            of_key = keys == key
            found = levels[of_key & np.isfinite(levels)]
            if found.size >= max(fewest, 1):
                usual[of_key] = median(found)
    return usual


def _off(measured: _Levels, usual: Floats) -> list[Off]:
    """Places and pairs that are off, by a fit of an effect to each place that is robust (median
    polish: Tukey, Exploratory Data Analysis, 1977) and what it leaves of each pair. Some repeats
    may have been disturbed: all of a pair that is off are."""
    residuals, errors = measured.levels - usual, measured.errors
    size = len(residuals)
    known = np.isfinite(residuals)
    if size < _FEWEST_PLACES or not known.any(axis=1).all():
        return []
    effects = np.zeros(size)
    for _ in range(_MOST_SWEEPS):
        for place in range(size):
            effects[place] = median((residuals[place] - effects)[known[place]])
    left = residuals - effects - effects[:, None]
    spread = _OF_DISTANCES * median(np.abs(left[known]))
    pairs = np.hypot(errors, spread)
    links = known.sum(axis=1)
    places = _OF_MEDIAN * np.nanmedian(pairs, axis=1) / np.sqrt(links)
    surely = NormalDist().inv_cdf(1.0 - _CHANCE / (links.sum() + 2 * size))
    is_off = np.abs(effects) - surely * places > 0.0
    is_off &= np.abs(effects) > _SURELY
    # Healthy places differ a little: their pairs are not off for that.
    left = residuals - np.where(is_off, effects, 0.0) - np.where(is_off, effects, 0.0)[:, None]
    found = [
        _named((place,), effects[place], places[place], int(links[place]))
        for place in np.flatnonzero(is_off).tolist()
    ]
    nearest = np.where(left > 0.0, left + measured.lowest, -left - measured.highest)
    far = known & (np.abs(left) > surely * pairs) & (nearest > _SURELY)
    found += [
        _named((one, other), left[one, other], pairs[one, other], 1)
        for one, other in np.argwhere(np.triu(far, 1)).tolist()
    ]
    return sorted(found, key=lambda each: -abs(math.log(each.factor)))


def _named(places: tuple[int, ...], effect: float, error: float, links: int) -> Off:
    ends = (effect, effect - NORMAL_95 * error, effect + NORMAL_95 * error)
    factor, low, high = (math.exp(each) for each in ends)
    return Off(places, factor, low, high, links)
