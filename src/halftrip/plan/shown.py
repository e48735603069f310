"""The sizes that the first screen of a run shows: they are measured first, too."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from halftrip.results.configuration import Configuration

# The sizes that people know by heart, as far as they are measured.
_KNOWN_SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 4 << 20)
# A run of so few known sizes is shown by others.
_FEWEST_KNOWN = 3


def shown_sizes(sizes: Collection[int]) -> list[int]:
    """Those of the measured `sizes`, bytes, whose latencies stand in the overview of a run, the
    smallest first: all of a few, else the known ones, else as many, evenly chosen."""
    measured = sorted(set(sizes))
    if len(measured) <= len(_KNOWN_SIZES):
        return measured
    known = [size for size in _KNOWN_SIZES if size in measured]
    if len(known) >= _FEWEST_KNOWN:
        return known
    last = len(measured) - 1
    steps = len(_KNOWN_SIZES) - 1
    return [measured[last * step // steps] for step in range(steps + 1)]


def shown_first(settings: Sequence[Configuration]) -> set[Configuration]:
    """The settings whose rows the first screen of a run shows: of latencies those of `shown_sizes`,
    and the smallest by which paths are compared; of rates the smallest messages of each curve. What
    is delayed is shown by other views."""
    prompt = [each for each in settings if not each.delay]
    sizes = {each.size for each in prompt if not each.is_rate}
    wanted = {*shown_sizes(sizes), *sorted(sizes)[:1]}
    smallest: dict[Configuration, Configuration] = {}
    for each in prompt:
        if each.is_rate and each.size <= smallest.setdefault(each.curve, each).size:
            smallest[each.curve] = each
    found = {each for each in prompt if not each.is_rate and each.size in wanted}
    return found.union(smallest.values())
