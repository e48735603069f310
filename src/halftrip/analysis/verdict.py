"""The verdict on a row: whether its figures can be trusted, and the one cause that explains best
why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from halftrip.analysis.flags import contradictions, evidences
from halftrip.analysis.flags.cause import Cause
from halftrip.analysis.flags.flag import Evidence, Finding, Flag
from halftrip.analysis.flags.machine_causes import IMPOSSIBLE
from halftrip.analysis.flags.table import CAUSES, found_by
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.summary import relative_width

Word = Literal["ok", "caution", "no"]
# The words of rows that may be measured again.
NOT_OK: tuple[Word, ...] = ("caution", "no")

# The advice if another tool has measured, which does not have halftrip's options.
_TO_OTHERS = "measure it again, several times"
# The interval's wider side, as a share of the latency, up to which a row is ok, and up to which it
# may be used with caution.
OK_WIDTH = 0.02
CAUTION_WIDTH = 0.1


class Verdict(NamedTuple):
    """`width` is the interval's wider side as a share of the latency; infinite where there is
    none. `cause`, by the name that it has in the table of causes, is None where the row is ok."""

    word: Word
    width: float
    cause: Flag | None


def verdict(row: Evidence, contradiction: Flag | None = None) -> Verdict:
    """The verdict on a row; `contradiction` is what its neighbours say against it, if they do.

    It is ``ok`` where the interval is within 2 % of the latency, ``caution`` within 10 %, or where
    a cause matters however narrow the interval is, and ``no`` beyond that, without an interval, and
    where the figure is physically impossible. Of all causes it has the first that applies, in the
    order in which they explain the others.
    """
    # A bandwidth over all the time has no interval, and needs none.
    width = 0.0 if row.is_over_all_time else relative_width(row.summary)
    word: Word = "ok" if width <= OK_WIDTH else "caution" if width <= CAUTION_WIDTH else "no"
    cause = _first(found_by(row, "always"))
    if cause is not None and cause.name == IMPOSSIBLE:
        return Verdict("no", relative_width(row.summary), cause)
    if cause is None and word != "ok":
        cause = _first(found_by(row, "wide"))
    if cause is None and contradiction is not None:
        names = {each.flag: each.name for each in CAUSES if each.when == "contradict"}
        cause = contradiction._replace(name=names[contradiction.name])
    if cause is None and word != "ok":
        cause = _first(found_by(row, "little"))
    if cause is not None and row.run.sources and "--" in cause.advice:
        cause = cause._replace(advice=_TO_OTHERS)
    return Verdict("caution" if word == "ok" and cause is not None else word, width, cause)


def verdicts(run: Run) -> dict[Configuration, Verdict]:
    """The verdict on every row of a run."""
    rows = evidences(run)
    beside = contradictions(rows)
    return {
        row.configuration: verdict(row, next(iter(beside.get(row.configuration, [])), None))
        for row in rows
    }


def _first(found: Sequence[tuple[Cause, Finding]]) -> Flag | None:
    return next((cause.flagged(what, cause.name) for cause, what in found), None)
