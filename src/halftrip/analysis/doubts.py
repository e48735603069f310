"""Why rows of several runs cannot be trusted, in brief, and what is otherwise at another level."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halftrip.analysis.environments import Change
from halftrip.analysis.flags import Evidence, contradictions
from halftrip.analysis.flags.flag import percent
from halftrip.analysis.verdict import NOT_OK, Word, verdict
from halftrip.results.configuration import Configuration
from halftrip.stats.median import median

# Medians of shares that differ by no more than this are the same; it is also the least that names
# other tasks as the cause.
_LEAST_SHARE = 0.1
_NO_CAUSE = "none"


class Doubt(NamedTuple):
    """The verdict on a row of a run, the name of its cause (None: it is ok), and the share of the
    time in which other tasks had the core of one of its ends, the larger one (NaN: not known)."""

    word: Word
    cause: str | None
    others: float


def doubts(rows: Sequence[Evidence]) -> dict[Configuration, Doubt]:
    """Those of the rows of a run; of a row that was measured on several cores, the worst."""
    beside = contradictions(rows)
    found: dict[Configuration, Doubt] = {}
    for row in rows:
        of = row.configuration
        word, _, cause = verdict(row, next(iter(beside.get(of, [])), None))
        shares = [usage.others_share for _, usage in row.usage_by_rank]
        others = max((each for each in shares if each is not None), default=math.nan)
        each = Doubt(word, None if cause is None else cause.name, others)
        known = found.setdefault(of.without_cores, each)
        if _WORDS.index(each.word) > _WORDS.index(known.word):
            found[of.without_cores] = each
    return found


_WORDS: tuple[Word, ...] = ("ok", *NOT_OK)


def changes(before: Sequence[Doubt], after: Sequence[Doubt]) -> list[Change]:
    """What is otherwise of rows at one level than at the level before: the cause that most have,
    and the median of the shares of other tasks."""
    found = []
    base, new = (_of_most(each.cause or _NO_CAUSE for each in level) for level in (before, after))
    if base and new and base != new:
        found.append(Change("cause", base, new))
    shares = [[each.others for each in level] for level in (before, after)]
    one, other = (median(known) if (known := [*filter(_is_known, each)]) else math.nan
                  for each in shares)  # fmt: skip
    if abs(other - one) > _LEAST_SHARE:
        found.append(Change("share of other tasks", percent(one), percent(other)))
    return found


def _is_known(share: float) -> bool:
    return not math.isnan(share)


def _of_most(names: Iterable[str]) -> str:
    """The name that more than half of them are; empty where none is."""
    counts = Counter(names)
    ((name, count),) = counts.most_common(1) or [("", 0)]
    return name if 2 * count > counts.total() else ""
