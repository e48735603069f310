"""The verdict on a row: whether its figures can be trusted, and what was seen that explains why
not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from halftrip.analysis.flags.flag import OK_WIDTH, Evidence, Flag, together
from halftrip.analysis.flags.machine_causes import IMPOSSIBLE
from halftrip.analysis.flags.table import CAUSES, found_by, largest_first
from halftrip.stats.summary import relative_width

Word = Literal["ok", "caution", "no"]
# The words of rows that may be measured again.
NOT_OK: tuple[Word, ...] = ("caution", "no")

# The advice if another tool has measured, which does not have halftrip's options.
_TO_OTHERS = "measure it again, several times"
# The interval's wider side, as a share of the latency, up to which a row that is not ok may be used
# with caution.
CAUTION_WIDTH = 0.1


class Verdict(NamedTuple):
    """`width` is the interval's wider side as a share of the latency; infinite where there is
    none. `cause`, by the name that it has in the table of causes, is None where the row is ok; of
    several it has the name of the largest, and says all."""

    word: Word
    width: float
    cause: Flag | None


def verdict(row: Evidence, contradiction: Flag | None = None) -> Verdict:
    """The verdict on a row; `contradiction` is what its neighbours say against it, if they do.

    It is ``ok`` where the interval is within 2 % of the latency, ``caution`` within 10 %, where it
    is one that another tool states, or where a cause matters however narrow the interval is, and
    ``no`` beyond that, without an interval, and where the figure is physically impossible. Causes
    that were seen, in the whole row or in its slices, are all said, the largest first; else the
    first that applies, in the order in which they explain the others.
    """
    # A bandwidth over all the time has no interval, and needs none.
    width = 0.0 if row.is_over_all_time else relative_width(row.summary)
    is_known = width <= OK_WIDTH and row.stated is None
    word: Word = "ok" if is_known else "caution" if width <= CAUTION_WIDTH else "no"
    seen = [cause.named(found) for cause, found in largest_first(found_by(row, "always"))]
    impossible = next((each for each in seen if each.name == IMPOSSIBLE), None)
    if impossible is not None:
        # Whatever else was seen.
        return Verdict("no", relative_width(row.summary), impossible)
    if word != "ok":
        of_slices = [cause.named(found) for cause, found in largest_first(found_by(row, "slices"))]
        seen += [flag for flag in of_slices if flag.name not in {each.name for each in seen}]
        seen = seen or [*islice(_explaining(row, width), 1)]
    if not seen and contradiction is not None:
        names = {each.flag: each.name for each in CAUSES if each.when == "contradict"}
        seen = [contradiction._replace(name=names[contradiction.name])]
    if not seen and word != "ok":
        seen = [cause.named(found) for cause, found in islice(found_by(row, "little"), 1)]
    cause = together(seen) if seen else None
    if cause is not None and row.run.sources and "--" in cause.advice:
        cause = cause._replace(advice=_TO_OTHERS)
    return Verdict("caution" if word == "ok" and cause is not None else word, width, cause)


def _explaining(row: Evidence, width: float) -> Iterator[Flag]:
    """The causes of an interval that is so wide. One with a share explains no more than that."""
    for cause, found in found_by(row, "wide"):
        if math.isinf(width) or not found.share < width:
            yield cause.named(found)
