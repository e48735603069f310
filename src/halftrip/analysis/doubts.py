"""Why rows of several runs cannot be trusted, in brief, and what is otherwise at another level."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halftrip.analysis.environments import Change
from halftrip.analysis.flags import Evidence, contradictions
from halftrip.analysis.flags.flag import Flag, percent
from halftrip.analysis.verdict import NOT_OK, Word, verdict
from halftrip.results.configuration import Configuration
from halftrip.stats.median import median

# Medians of shares that differ by no more than this are the same; it is also the least that names
# other tasks as the cause.
_LEAST_SHARE = 0.1
_NO_CAUSE = "none"


class Doubt(NamedTuple):
    """The verdict on a row of a run, the name of its cause (None: it is ok), and the share of the
    time in which other tasks had the core of one of its ends, the larger one (NaN: not known).
    Where the row goes with the state of the machine, of its slices at `level`; NaN: of all."""

    word: Word
    cause: str | None
    others: float
    level: float = math.nan


def doubts(rows: Sequence[Evidence]) -> dict[Configuration, list[Doubt]]:
    """Those of the rows of a run, one for each state and for all cores that a row was measured
    in."""
    beside = contradictions(rows)
    found: dict[Configuration, list[Doubt]] = {}
    for row in rows:
        of = row.configuration
        for each in (row, *row.others):
            contradiction = next(iter(beside.get(of, [])), None) if each is row else None
            found.setdefault(of.without_cores, []).append(_doubt(each, contradiction))
    return found


def _doubt(row: Evidence, contradiction: Flag | None) -> Doubt:
    word, _, cause = verdict(row, contradiction)
    shares = [usage.others_share for _, usage in row.usage_by_rank]
    others = max((each for each in shares if each is not None), default=math.nan)
    level = math.nan if row.state is None else row.state.value
    return Doubt(word, None if cause is None else cause.name, others, level)


def doubt_at(found: Sequence[Doubt], level: float) -> Doubt | None:
    """The worst of a row in a run, at the known level nearest to this one (NaN: at any); None where
    nothing is known."""
    if not math.isnan(level) and (known := [each for each in found if each.level > 0]):
        nearest = min(known, key=lambda each: abs(math.log(each.level / level))).level
        found = [each for each in known if each.level == nearest]
    return max(found, key=lambda each: _WORDS.index(each.word), default=None)


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
