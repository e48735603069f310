"""What may cause the bends of a curve: the thresholds of its run that lie where it bends.

A bend is matched with a threshold if some size that the threshold predicts lies within the bend's
interval. These sizes depend on what a threshold does. For a value of V bytes, of which up to H hold
no payload, they are:

- another protocol: V - H to V;
- several pieces: k (V - H) to k V, for k from 1 to 4;
- a capacity: V - H to V, at least V - 1 to V, divided by the messages of a window, which it holds
  together;
- a cache: V / 2 f to V / f, where f is how many bytes of buffers there are in it for each byte of a
  message: one for each buffer that an end sends from or receives into, times the messages of a
  window that have places of their own, for all ends whose cores share the cache. It fills
  gradually, as it holds other data, too. If several cores share it, other programs use a part of
  it: V / 4 f to V / f. An end whose buffers are in a device's memory has only its staging buffers
  in it: one, or two if messages go both ways at once, each no longer than a chunk;
- a page: V.

As it fills gradually, a cache causes no jump, unless sizes are too far apart to tell a jump from a
slope. If a prediction lies within several bends, the threshold is offered for the clearest one.

A threshold whose value a library does not tell may cause a bend anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from halftrip.analysis.fit import Bend, PiecewiseFit
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.memory_name import is_on_device
from halftrip.results.patterns import uses_buffers
from halftrip.results.records import Environment
from halftrip.results.run import Run
from halftrip.results.threshold import Acts, Threshold

# Each further piece of a message adds a smaller share to its time.
_MOST_PIECES = 4
# What fills gradually, or adds a little for each page, changes a slope and makes no jump. A jump
# between sizes that differ by more than this factor may be a slope.
_GRADUAL: tuple[Acts, ...] = ("cache", "page")
_FAR_APART = 1.1
# A prediction is vague if its ends differ by more than this factor.
_VAGUE = 1.5


class Prediction(NamedTuple):
    """A curve may bend between the sizes `low` and `high`, bytes, both included: at `multiple`
    times the threshold."""

    low: float
    high: float
    multiple: int = 1

    def is_in(self, bend: Bend) -> bool:
        """Whether a bend's interval holds it. A threshold of exactly `low` bytes is the last size
        on the piece before it, one of `high` bytes the last on that piece, too: then the next piece
        begins above."""
        return self.low < bend.high and self.high >= bend.low


# The prediction of a threshold whose value a library does not tell.
ANYWHERE = Prediction(1.0, float(1 << 40))


class Candidate(NamedTuple):
    """A threshold that may cause a bend, and where it predicts one."""

    threshold: Threshold
    prediction: Prediction


class BendCauses(NamedTuple):
    """A bend, and the thresholds within its interval, the likeliest first; none: nothing that is
    known of this run."""

    bend: Bend
    candidates: tuple[Candidate, ...]


class CurveCauses(NamedTuple):
    """The bends of a curve with their causes. `knows` is whether the run has thresholds at all."""

    fit: PiecewiseFit
    bends: tuple[BendCauses, ...]
    knows: bool


def causes(run: Run, fits: Iterable[PiecewiseFit]) -> list[CurveCauses]:
    """The causes of the bends of these curves of a run."""
    knows = bool(run.thresholds)
    found = []
    for fit in fits:
        bends = fit.found.bends if fit.found is not None else ()
        known = candidates(run, fit.curve) if bends else []
        found.append(CurveCauses(fit, tuple(_of_bends(bends, known)), knows))
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


def predictions(
    threshold: Threshold, curve: Configuration, ends: Sequence[Environment] = ()
) -> Iterator[Prediction]:
    """The sizes at which a threshold predicts a bend of a curve, whose `ends` ran there."""
    if not threshold.value:
        yield ANYWHERE
        return
    least, most = threshold.value - threshold.header, threshold.value
    match threshold.acts:
        case "pieces":
            for count in range(1, _MOST_PIECES + 1):
                yield Prediction(count * least, count * most, count)
        case "capacity":
            # A message that fills it to the last byte may be handled in either way.
            least = min(least, most - 1)
            yield Prediction(least / curve.window, most / curve.window)
        case "cache":
            share = _cached_bytes(threshold, curve, ends)
            if share and not _outgrows_stages(curve, most / share):
                usable = 1 / 4 if len(threshold.cores) > 1 else 1 / 2
                yield Prediction(usable * most / share, most / share)
        case "protocol" | "page":
            yield Prediction(least, most)


def moved(candidate: Candidate, factor: float) -> Prediction:
    """Where a threshold whose value is known predicts the bend if that becomes `factor` times as
    large. Headers stay as they are; what a socket's buffer holds beside payload grows with it."""
    threshold, (low, high, multiple) = candidate
    if threshold.acts == "capacity":
        return Prediction(factor * low, factor * high, multiple)
    further = multiple * (factor - 1) * threshold.value
    return Prediction(low + further, high + further, multiple)


def _of_bends(bends: Sequence[Bend], known: Iterable[Candidate]) -> Iterator[BendCauses]:
    """The causes of the bends of a curve."""
    clearest: dict[int, list[Candidate]] = {number: [] for number in range(len(bends))}
    for candidate in known:
        within = [number for number, bend in enumerate(bends) if _may_cause(candidate, bend)]
        if within:
            clearest[max(within, key=lambda number: _clarity(bends[number]))].append(candidate)
    for number, bend in enumerate(bends):
        yield _of_bend(bend, clearest[number])


def _may_cause(candidate: Candidate, bend: Bend) -> bool:
    is_sudden = bend.kind == "jump" and bend.high <= _FAR_APART * bend.low
    if is_sudden and candidate.threshold.acts == "cache":
        return False
    return candidate.prediction.is_in(bend)


def _clarity(bend: Bend) -> tuple[bool, float]:
    return bend.kind == "jump", abs(math.log(bend.step.value)) if bend.step.value > 0 else 0.0


def _of_bend(bend: Bend, within: Sequence[Candidate]) -> BendCauses:
    # A threshold that predicts several places here counts at the likeliest.
    first: dict[str, Candidate] = {}
    for each in sorted(within, key=lambda each: _place(bend, each)):
        first.setdefault(each.threshold.name, each)
    return BendCauses(bend, tuple(first.values()))


def _place(bend: Bend, candidate: Candidate) -> tuple[bool, bool, int, bool, float]:
    """The sort key of a candidate: first what makes such a bend, then what belongs to the
    transport, then the smallest multiple, what predicts an exact place, and what is nearest to the
    middle of the bend."""
    threshold, prediction = candidate
    middle = _logarithm(bend.low, bend.high)
    return (
        bend.kind == "jump" and threshold.acts in _GRADUAL,
        not threshold.transport,
        prediction.multiple,
        prediction.high > _VAGUE * prediction.low,
        abs(_logarithm(prediction.low, prediction.high) - middle),
    )


def _logarithm(low: float, high: float) -> float:
    return (math.log(max(low, 1.0)) + math.log(max(high, 1.0))) / 2


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
            and is_same
            and is_sent
        )
    if threshold.acts in _GRADUAL and not any(_is_in_host(curve, end) for end in curve.ends):
        return False
    if threshold.acts == "cache":
        # With --verify, each message has a buffer of its own: they take as much whatever its size.
        return curve.cache == "hot" and not curve.verify
    if threshold.acts == "page":
        return any(
            _is_page_of(threshold, end.pages) for end in curve.ends if _is_in_host(curve, end)
        )
    return True


def _is_in_host(curve: Configuration, end: EndSettings) -> bool:
    """Whether messages of an end are in the host's memory: in its buffers, or in a stage."""
    return curve.staging is not None or not is_on_device(end.memory)


def _outgrows_stages(curve: Configuration, size: float) -> bool:
    """Whether messages of this size are staged at both ends, in chunks: then they take no more
    room in the host's memory than shorter ones."""
    is_staged = curve.staging and all(is_on_device(end.memory) for end in curve.ends)
    return bool(is_staged) and size > 2 * (curve.staging or 0)


def _is_page_of(threshold: Threshold, pages: str) -> bool:
    return (pages == "huge") == (threshold.value > _SMALL_PAGE)


# The largest page that is not a huge one, in any Linux.
_SMALL_PAGE = 64 << 10


def _cached_bytes(threshold: Threshold, curve: Configuration, ends: Sequence[Environment]) -> float:
    """How many bytes of buffers there are in a cache for each byte of a message."""
    here = next((end.host for end in ends if end.rank == threshold.rank), None)
    slots = curve.window if curve.message_places == "own" else 1
    # A strided message has gaps as wide as its blocks.
    spread = 2 if curve.datatype == "vector" else 1
    total = 0
    for place, end in enumerate(ends):
        if end.host == here and _core(end, curve) in threshold.cores:
            used = sum(uses_buffers(curve.pattern, place == 0))
            if is_on_device(curve.ends[place].memory):
                total += _staged_buffers(curve) if used else 0
                continue
            if curve.is_one_sided:
                used += 1
            total += (min(used, 1) if curve.buffers == "same" else used) * slots * spread
    return total


def _staged_buffers(curve: Configuration) -> int:
    """How many buffers of the host an end stages its messages in."""
    if curve.staging is None:
        return 0
    return curve.directions


def _core(end: Environment, curve: Configuration) -> int | None:
    cores = end.thread_cores
    return cores[curve.thread] if cores and curve.thread < len(cores) else end.core


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
        return abs(math.log(max(size, 1)) - _logarithm(each.bend.low, each.bend.high))

    nearest = min(found, key=lambda each: (distance(each), off(each)), default=None)
    return nearest if nearest is not None and distance(nearest) <= _NEAR else None
