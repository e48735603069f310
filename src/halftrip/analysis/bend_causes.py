"""What may cause the bends of a curve: the thresholds of its run that lie where it bends.

A bend is matched with a threshold if some size that the threshold predicts (`bend_kinds`) lies
within the bend's interval. A wide interval, or a vague prediction, matches anything, and of many
thresholds some is near to any bend: a threshold is named where, of bends anywhere on the curve, by
the logarithm of the size, at most 2 % have one that is as near and as exact (`_by_chance`). So a
bend that nothing known causes is named in at most 2 % of cases, however many thresholds there are.
One that matches more than a quarter of such bends by itself is left out.

A multiple of a threshold counts only where the curve bends at the one below it, too, or does not
reach down to it: each further piece adds a smaller share.

A threshold makes jumps, or changes of slope, unless sizes are too far apart to tell one from the
other; what fills gradually makes nothing faster. If a prediction lies within several bends, the
threshold is offered for the clearest one. A threshold whose value a library does not tell may cause
a bend anywhere: it comes last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from halftrip.analysis.bend_kinds import KINDS, Prediction, is_in_host, predictions
from halftrip.analysis.fit import Bend, Pieces, PiecewiseFit
from halftrip.analysis.single_copies import SingleCopy, copy_times, single_copy
from halftrip.results.configuration import Configuration
from halftrip.results.records import Environment
from halftrip.results.run import Run
from halftrip.results.threshold import Threshold

# A jump between sizes that differ by more than this factor may be a slope, and a slope a jump.
_FAR_APART = 1.1
# A prediction is vague if its ends differ by more than this factor.
_VAGUE = 1.5
# The share of unknown bends that may be named.
_MOST_BY_CHANCE = 0.02
# A threshold that matches a larger share of bends tells nothing.
_MOST_COVERED = 0.25
# Predictions whose ends differ by factors this close are as exact as each other.
_ROUNDING = 1e-9


# The first and the last of some sizes, bytes; and the logarithms of two places.
Sizes = tuple[int, int]
Span = tuple[float, float]


class Candidate(NamedTuple):
    """A threshold that may cause a bend, and where it predicts one. `by_chance` is the share, from
    0 to 1, of bends anywhere on the curve to which some threshold is as near as this one is to its
    bend, and as exact; 1 where the place is not known."""

    threshold: Threshold
    prediction: Prediction
    by_chance: float = 0.0

    @property
    def is_named(self) -> bool:
        """Whether it beats chance."""
        return self.by_chance <= _MOST_BY_CHANCE


class BendCauses(NamedTuple):
    """A bend, and the thresholds within its interval, the likeliest first; none: nothing that is
    known of this run."""

    bend: Bend
    candidates: tuple[Candidate, ...]


class CurveCauses(NamedTuple):
    """The bends of a curve with their causes. `knows` is whether the run has thresholds at all.
    `copy` is what bounds its large messages, where a copy by the kernel may."""

    fit: PiecewiseFit
    bends: tuple[BendCauses, ...]
    knows: bool
    copy: SingleCopy | None = None


def causes(run: Run, fits: Iterable[PiecewiseFit]) -> list[CurveCauses]:
    """The causes of the bends of these curves of a run."""
    knows = bool(run.thresholds)
    copies = copy_times(run, by_kernel=True)
    found = []
    for fit in fits:
        has_bends = fit.found is not None and fit.found.bends
        known = candidates(run, fit.curve) if has_bends or copies else []
        copy = single_copy(run, fit, copies, [each.threshold for each in known])
        found.append(CurveCauses(fit, tuple(_of_bends(fit.found, known)), knows, copy))
    return found


def candidates(run: Run, curve: Configuration) -> list[Candidate]:
    """All thresholds that apply to a curve, with each size at which they predict a bend."""
    ends = _ends(run, curve)
    found: dict[tuple[str, Prediction], Candidate] = {}
    for threshold in run.thresholds:
        if run.variant_of.get(threshold.launch, ()) == curve.variant and _applies(
            threshold, curve, ends
        ):
            for prediction in predictions(threshold, curve, ends):
                # Both ends, and all launches, know the same one.
                found.setdefault((threshold.name, prediction), Candidate(threshold, prediction))
    return list(found.values())


def moved(candidate: Candidate, factor: float) -> Prediction:
    """Where a threshold whose value is known predicts the bend if that becomes `factor` times as
    large. Headers stay as they are; what a socket's buffer holds beside payload grows with it."""
    threshold, (low, high, multiple), _ = candidate
    if threshold.acts == "capacity":
        return Prediction(factor * low, factor * high, multiple)
    further = multiple * (factor - 1) * threshold.value
    return Prediction(low + further, high + further, multiple)


def _of_bends(found: Pieces | None, known: Sequence[Candidate]) -> Iterator[BendCauses]:
    """The causes of the bends of a curve."""
    if found is None:
        return
    bends, sizes, between = found.bends, _range(found), _between(found)
    known = [each for each in known if _is_expected(each, known, bends, sizes)]
    # Of each bend, those that make such a one, and of these the names of those that tell anything.
    makers = [
        [each for each in known if _makes(each.threshold, bend, there)]
        for bend, there in zip(bends, between, strict=True)
    ]
    telling = [_telling(*each, sizes) for each in zip(makers, bends, strict=True)]
    clearest: list[list[Candidate]] = [[] for _ in bends]
    for candidate in known:
        within = [
            number
            for number, bend in enumerate(bends)
            if candidate.threshold.name in telling[number] and _is_in(candidate.prediction, bend)
        ]
        if within:
            best = max(within, key=lambda number: _clarity(bends[number]))
            chance = _by_chance(candidate, makers[best], between[best], sizes)
            clearest[best].append(candidate._replace(by_chance=chance))
    for bend, of_bend in zip(bends, clearest, strict=True):
        yield BendCauses(bend, _by_likelihood(bend, of_bend))


def _range(found: Pieces) -> Sizes | None:
    """The first and the last size of a curve."""
    pieces = found.pieces
    return (pieces[0].first, pieces[-1].last) if pieces else None


def _between(found: Pieces) -> list[Sizes]:
    """The two sizes between which each bend most likely is: the last on the one piece, and the
    first on the next."""
    between = [(before.last, after.first) for before, after in itertools.pairwise(found.pieces)]
    return between or [(bend.low, bend.high) for bend in found.bends]


def _is_expected(
    candidate: Candidate,
    known: Iterable[Candidate],
    bends: Sequence[Bend],
    sizes: Sizes | None,
) -> bool:
    """Whether the curve bends at the multiple below this one, or does not reach down to it."""
    threshold, prediction, _ = candidate
    return all(
        each.prediction.high < (sizes[0] if sizes else math.inf)
        or any(_is_in(each.prediction, bend) for bend in bends)
        for each in known
        if each.threshold == threshold and each.prediction.multiple == prediction.multiple - 1
    )


def _makes(threshold: Threshold, bend: Bend, between: Sizes) -> bool:
    """Whether a threshold makes bends of this kind; a jump is told from a slope if the sizes
    `between` which the bend is are close."""
    makes = KINDS[threshold.acts].makes
    is_told = between[1] <= _FAR_APART * between[0]
    if is_told and makes is not None and makes != bend.kind:
        return False
    return makes != "slope" or bend.step.high >= 1


def _is_in(prediction: Prediction, bend: Bend) -> bool:
    """Whether a bend's interval holds a prediction. A threshold of exactly `low` bytes is the last
    size on the piece before it, one of `high` bytes the last on that piece, too: then the next
    piece begins above."""
    return prediction.low < bend.high and prediction.high >= bend.low


def _telling(makers: Iterable[Candidate], bend: Bend, sizes: Sizes | None) -> set[str]:
    """The names of thresholds that do not match too many intervals as wide as the bend's."""
    places: dict[str, list[Span]] = {}
    width = _log(bend.high) - _log(bend.low)
    for threshold, (low, high, _), _ in makers:
        of_name = places.setdefault(threshold.name, [])
        if threshold.value:
            of_name.append((_log(low) - width, _log(high)))
    return {name for name, at in places.items() if _share(at, width, sizes) <= _MOST_COVERED}


def _by_chance(
    candidate: Candidate, makers: Iterable[Candidate], between: Sizes, sizes: Sizes | None
) -> float:
    """In what share of a curve some threshold is as near to a bend, and as exact, as the candidate
    is to one `between` two sizes. What counts is in how much of the curve a bend would be as near
    to a prediction, or nearer: its width and twice the distance. As no more is taken from any, a
    bend at random has a threshold of a share of at most p with a probability of p."""
    if not candidate.threshold.value:
        return 1.0
    start, end = map(_log, between)
    low, high = map(_log, candidate.prediction[:2])
    most = high - low + 2 * max(low - end, start - high, 0.0)
    places = []
    for threshold, (least, greatest, _), _ in makers:
        low, high = _log(least), _log(greatest)
        if threshold.value and high - low <= most + _ROUNDING:
            off = (most - (high - low)) / 2
            places.append((low - off - (end - start), high + off))
    return _share(places, end - start, sizes)


def _share(places: Iterable[Span], width: float, sizes: Sizes | None) -> float:
    """The share of all intervals of this width on a curve that begin within one of these places;
    0 where the sizes are not known. All are logarithms of sizes."""
    if sizes is None:
        return 0.0
    first, last = _log(sizes[0]), _log(sizes[1]) - width
    if last <= first:
        return 1.0
    covered, reached = 0.0, first
    for low, high in sorted(places):
        covered += max(min(high, last) - max(low, reached), 0.0)
        reached = max(reached, high)
    return covered / (last - first)


def _log(size: float) -> float:
    return math.log(max(size, 1.0))


def _clarity(bend: Bend) -> tuple[bool, float]:
    return bend.kind == "jump", abs(math.log(bend.step.value)) if bend.step.value > 0 else 0.0


def _by_likelihood(bend: Bend, within: Iterable[Candidate]) -> tuple[Candidate, ...]:
    # A threshold that predicts several places here counts at the likeliest.
    first: dict[str, Candidate] = {}
    for each in sorted(within, key=lambda each: _place(bend, each)):
        first.setdefault(each.threshold.name, each)
    return tuple(first.values())


def _place(bend: Bend, candidate: Candidate) -> tuple[bool, bool, bool, bool, int, bool, float]:
    """The sort key of a candidate: first one whose place is known, then one that beats chance, then
    what makes such a bend, then what belongs to the transport, then the smallest multiple, what
    predicts an exact place, and what is nearest to the middle of the bend."""
    threshold, prediction, _ = candidate
    return (
        not threshold.value,
        not candidate.is_named,
        KINDS[threshold.acts].makes not in (None, bend.kind),
        not threshold.transport,
        prediction.multiple,
        prediction.high > _VAGUE * prediction.low,
        abs(_middle(prediction.low, prediction.high) - _middle(bend.low, bend.high)),
    )


def _middle(low: float, high: float) -> float:
    return (_log(low) + _log(high)) / 2


# Which thresholds a curve has.


def _ends(run: Run, curve: Configuration) -> list[Environment]:
    """Where the two ranks of a curve ran, the initiator first; empty where that is not known."""
    known: Mapping[int, Environment] = {
        each.rank: each for each in run.first_environments.get(curve.variant, ())
    }
    return [known[rank] for rank in curve.pair] if set(curve.pair) <= known.keys() else []


def _applies(threshold: Threshold, curve: Configuration, ends: Sequence[Environment]) -> bool:
    if curve.is_simulated or threshold.rank not in curve.pair:
        return False
    if threshold.transport:
        is_same = not ends or threshold.same_host in (None, ends[0].host == ends[1].host)
        # Thresholds of MPI are about messages, not about its windows.
        is_sent = not curve.is_one_sided
        return (
            threshold.transport == curve.transport
            and threshold.tuning == curve.tuning
            and threshold.extra == curve.extra
            and is_same
            and is_sent
        )
    if KINDS[threshold.acts].makes == "slope" and not any(
        is_in_host(curve, end) for end in curve.ends
    ):
        return False
    if threshold.acts == "cache":
        # With --verify, each message has a buffer of its own: they take as much whatever its size.
        return curve.cache == "hot" and not curve.verify
    if threshold.acts == "page":
        return any(
            _is_page_of(threshold, end.pages) for end in curve.ends if is_in_host(curve, end)
        )
    return True


def _is_page_of(threshold: Threshold, pages: str) -> bool:
    return (pages == "huge") == (threshold.value > _SMALL_PAGE)


# The largest page that is not a huge one, in any Linux.
_SMALL_PAGE = 64 << 10


# Which bend somebody asks about.

# A bend further away than this factor is not at a size.
_NEAR = 2.0


def bend_at(found: Sequence[BendCauses], size: int) -> BendCauses | None:
    """The bend nearest to a size, bytes; None if it lies within a straight piece, and both of its
    ends are far away."""

    def distance(each: BendCauses) -> float:
        """By what factor the size is outside the bend's interval; 1 within."""
        low, high = max(each.bend.low, 1), max(each.bend.high, 1)
        return max(low / max(size, 1), max(size, 1) / high, 1.0)

    # If several bends hold the size, the one whose middle is nearest counts.
    def off(each: BendCauses) -> float:
        return abs(_log(size) - _middle(each.bend.low, each.bend.high))

    nearest = min(found, key=lambda each: (distance(each), off(each)), default=None)
    return nearest if nearest is not None and distance(nearest) <= _NEAR else None
