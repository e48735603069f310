"""What pairs lose that talk while others do: each beside all others, and alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import msgspec

from halftrip.analysis.ranking import slower_than
from halftrip.analysis.rows import Row
from halftrip.analysis.under_load import without_traffic
from halftrip.results.configuration import NO_BACKGROUND, Configuration
from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.estimate import Estimate, ratio
from halftrip.stats.median import median

# A pair whose messages take longer by less than this, beside what the others' do, is as they are.
_LEAST = 1.1
# How often chance alone names a pair.
_LEVEL = 0.05


class Beside(NamedTuple):
    """A row of a pair beside others, the same one `alone`, and how many times as long its messages
    take, with a 95 % interval as far as both rows have one; and how many times the 99th percentile
    of those of the row alone its own is (NaN: one of them is not known)."""

    row: Row
    alone: Row
    factor: Estimate
    tail: float


class Together(NamedTuple):
    """The rows of pairs that talk at the same time, of one `setting`, the one that suffers most
    first. `worst`: the first one suffers more than the others, surely, by a tenth at least, and
    takes longer than they do: one that is only nearer while it is alone is not worse."""

    setting: Configuration
    rows: list[Beside]
    worst: bool


def together(rows: Sequence[Row]) -> list[Together]:
    """Of each setting and number of pairs at the same time the rows beside others; none where no
    pair was also measured with fewer others and without traffic."""
    alone: dict[Configuration, Row] = {}
    for row in sorted(rows, key=lambda row: -row.configuration.concurrency):
        if row.configuration.background == NO_BACKGROUND:
            alone[_alike(row.configuration)] = row
    groups: dict[tuple[Configuration, int], list[Beside]] = {}
    for row in rows:
        each = row.configuration
        first = alone.get(_alike(each))
        if first is None or first.configuration.concurrency >= each.concurrency:
            continue
        slower = slower_than(first, row)
        if slower is not None and slower.factor.value > 0:
            tail = ratio(row.summary.p99, first.summary.p99).value
            found = Beside(row, first, slower.factor, tail)
            groups.setdefault((each.setting, each.concurrency), []).append(found)
    return [judged(setting, found) for (setting, _), found in groups.items()]


def _alike(configuration: Configuration) -> Configuration:
    return msgspec.structs.replace(without_traffic(configuration), concurrency=1)


def judged(setting: Configuration, found: list[Beside]) -> Together:
    """These rows, in order. Among many pairs chance makes one the worst: its interval is as much
    wider (Bonferroni)."""
    ordered = sorted(found, key=lambda each: -each.factor.value)
    first, *others = (each.factor for each in ordered)
    wider = NormalDist().inv_cdf(1 - _LEVEL / 2 / len(ordered)) / NORMAL_95
    if not others or not first.low > 0:
        return Together(setting, ordered, False)
    low = math.log(first.value) - wider * math.log(first.value / first.low)
    usual = median([each.high for each in others])
    times = [each.row.summary.latency for each in ordered]
    if times[0] < _LEAST * median(times[1:]):
        return Together(setting, ordered, False)
    return Together(setting, ordered, low > math.log(_LEAST * usual) if usual > 0 else False)
