"""The kinds of what causes bends: what happens to messages beyond a threshold, at which sizes it
predicts a bend, and what such a bend looks like. docs/causes.md has the same table, made of this
one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from halftrip.analysis.fit import BendKind
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.memory_name import is_on_device
from halftrip.results.patterns import uses_buffers
from halftrip.results.records import Environment
from halftrip.results.threshold import Acts, Threshold

# Each further piece of a message adds a smaller share to its time.
_MOST_PIECES = 4


class Prediction(NamedTuple):
    """A curve may bend between the sizes `low` and `high`, bytes, both included: at `multiple`
    times the threshold."""

    low: float
    high: float
    multiple: int = 1


# The prediction of a threshold whose value a library does not tell.
ANYWHERE = Prediction(1.0, float(1 << 40))

Predict = Callable[[Threshold, Configuration, Sequence[Environment]], Iterator[Prediction]]


class Kind(NamedTuple):
    """What thresholds that act alike are (`name`), what they do to longer messages (`effect`), and
    where they predict bends, in words, in which V is their value and H is how much of it may be
    headers (`at`). Between sizes that are close, they make bends of the kind `makes`; None: of any.
    What handles all bytes of a longer message differently makes a jump; what fills gradually
    changes a slope, and makes nothing faster."""

    name: str
    effect: str
    at: str
    makes: BendKind | None
    predict: Predict


def _value(threshold: Threshold, *_: object) -> Iterator[Prediction]:
    yield Prediction(threshold.value - threshold.header, threshold.value)


def _pieces(threshold: Threshold, *_: object) -> Iterator[Prediction]:
    least, most = threshold.value - threshold.header, threshold.value
    for count in range(1, _MOST_PIECES + 1):
        yield Prediction(count * least, count * most, count)


def _capacity(threshold: Threshold, curve: Configuration, *_: object) -> Iterator[Prediction]:
    # A message that fills it to the last byte may be handled in either way.
    least = min(threshold.value - threshold.header, threshold.value - 1)
    yield Prediction(least / curve.window, threshold.value / curve.window)


def _cache(
    threshold: Threshold, curve: Configuration, ends: Sequence[Environment]
) -> Iterator[Prediction]:
    share = _cached_bytes(threshold, curve, ends)
    if share and not _outgrows_stages(curve, threshold.value / share):
        usable = 1 / 4 if len(threshold.cores) > 1 else 1 / 2
        yield Prediction(usable * threshold.value / share, threshold.value / share)


KINDS: dict[Acts, Kind] = {
    "protocol": Kind(
        "another protocol", "longer messages go by another protocol", "V - H to V", "jump", _value
    ),
    "copy": Kind(
        "another way to copy",
        "longer messages are copied by other instructions",
        "V",
        "jump",
        _value,
    ),
    "pieces": Kind(
        "packets or fragments",
        "longer messages go in several pieces",
        "V - H to V, and twice, three and four times that",
        None,
        _pieces,
    ),
    "capacity": Kind(
        "a capacity (pipe, socket buffer)",
        "what is longer does not fit into it, and the sender waits for the receiver",
        "V - H to V, divided by the messages of a window; of a socket buffer, H is three quarters: "
        "the kernel counts its own records, too",
        None,
        _capacity,
    ),
    "cache": Kind(
        "a cache",
        "the buffers of longer messages do not fit into it",
        "V / 2f to V / f, where f is the number of buffers in it: of each end whose core shares "
        "it, one that it sends from and one that it receives into (with `--buffers same` only one; "
        "of an end in the memory of a CUDA device only what its messages are staged in: one, or "
        "two where they go both ways at once, and none without `--staging`), times the messages of "
        "a window with places of their own. It fills gradually: other data is in it, too. Of one "
        "that several cores share, other programs hold a part: V / 4f to V / f",
        "slope",
        _cache,
    ),
    "page": Kind(
        "a page", "the buffers of longer messages are on several pages", "V", "slope", _value
    ),
}


def predictions(
    threshold: Threshold, curve: Configuration, ends: Sequence[Environment] = ()
) -> Iterator[Prediction]:
    """The sizes at which a threshold predicts a bend of a curve, whose `ends` ran there."""
    if not threshold.value:
        yield ANYWHERE
        return
    yield from KINDS[threshold.acts].predict(threshold, curve, ends)


def is_in_host(curve: Configuration, end: EndSettings) -> bool:
    """Whether messages of an end are in the host's memory: in its buffers, or in a stage."""
    return curve.staging is not None or not is_on_device(end.memory)


def _outgrows_stages(curve: Configuration, size: float) -> bool:
    """Whether messages of this size are staged at both ends, in chunks: then they take no more
    room in the host's memory than shorter ones."""
    is_staged = curve.staging and all(is_on_device(end.memory) for end in curve.ends)
    return bool(is_staged) and size > 2 * (curve.staging or 0)


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
