"""A plan that measures one curve of an earlier run again, around a size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from halftrip.errors import UsageError
from halftrip.plan.memory import staging_option
from halftrip.plan.settings import in_place
from halftrip.plan.vary import STARTING_KEYS
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host
from halftrip.results.reported import SIDE

# Sizes from this share of the lowest place to this many times the highest, and so many to each
# doubling.
_BEFORE, _AFTER = 0.6, 1.7
_PER_OCTAVE = 3
# The sizes beside a place are this share away from it: two at each side, so that noise of one size
# is no bend.
_BESIDE = (0.03, 0.06)
# Sizes are multiples of this: others are copied in other ways.
_UNIT = 8
# A place with ends that differ by more than this factor is measured within, too.
_NARROW = 1.2
# Of an earlier plan, what says where and how ranks run. All else is the curve's own, or concerns
# other rows.
_KEPT = (
    "threads", "ranks", "cores", "pairs", "timeout", "warmup", "placement_state",
    "launcher", "mpiexec", "dragon", "hosts", "peer", "secret_file", "ssh",
    "remote_command", "interface", "data_ports",
)  # fmt: skip
# Keys that are left out where a plan that says nothing means the same.
_UNLESS_USUAL = ("window", "delay", "staging")


def sizes_around(places: Iterable[tuple[float, float]]) -> tuple[int, ...]:
    """The sizes, bytes, that show whether a curve bends at these places, each of which is between
    two sizes."""
    places = list(places)
    low = _BEFORE * min(place[0] for place in places)
    high = _AFTER * max(place[1] for place in places)
    count = math.ceil(_PER_OCTAVE * math.log2(high / low))
    grid = [low * (high / low) ** (step / count) for step in range(count + 1)]
    for first, last in places:
        if last <= _NARROW * first:
            # What is in it may be on either side.
            nearest = max(_BESIDE)
            grid = [
                each for each in grid if not (1 - nearest) * first < each < (1 + nearest) * last
            ]
        for share in _BESIDE:
            grid += [(1 - share) * first - _UNIT, (1 + share) * last + _UNIT]
    return tuple(sorted({max(1, round(each / _UNIT) * _UNIT) for each in grid}))


def curve_keys(curve: Configuration, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a plan that measures this curve alone; `plan` are those of the earlier run. Its
    variables that were varied are axes with one value. Raises UsageError for the side of a run that
    was measured against another one."""
    keys: dict[str, Any] = {name: plan[name] for name in _KEPT if name in plan}
    keys |= {
        "transport": [curve.transport],
        "pattern": [curve.pattern],
        "mode": [curve.mode],
        **{
            each.name: [each.of(curve)]
            for each in in_place("configuration", "ends")
            if each.several and each.name not in _UNLESS_USUAL
        },
        **{
            each.name: each.of(curve)
            for each in in_place("configuration")
            if not each.several and each.of(curve) is not None
        },
        "concurrent_pairs": [curve.concurrency],
    }
    if curve.delay:
        keys["delay"] = [curve.delay]
    if not all(is_of_host(end.memory) for end in curve.ends):
        keys["staging"] = [staging_option(curve.staging)]
    if curve.window != (curve.shape.window or 1):
        keys["window"] = [curve.window]
    # Where a transport has no choice, its standard is all that there is.
    keys |= {
        each.name: [each.of(curve)]
        for each in in_place("transport", "extra")
        if plan.get(each.name) and each.of(curve) not in (None, each.standard)
    }
    keys |= {
        each.name: [each.of(curve)]
        for each in in_place("sockets")
        if each.of(curve) != each.standard
    }
    return keys | _varied(curve)


def _varied(curve: Configuration) -> dict[str, Any]:
    """The keys for what is varied."""
    keys: dict[str, Any] = {}
    vary: dict[str, list[str]] = {}
    for name, value in curve.variant:
        if name == SIDE:
            raise UsageError("--prove: a run against another one has two sides; name one of them")
        if name in STARTING_KEYS:
            keys[name] = value
        else:
            vary[name] = [value]
    if vary:
        keys["vary"] = vary
    return keys
