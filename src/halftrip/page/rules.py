"""How a run keeps the twelve rules of Hoefler and Belli, Scientific Benchmarking of Parallel
Computing Systems (SC'15), decided from what is in it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from halftrip.page.asked import counted, named
from halftrip.render.blocks import Block, CheckLine
from halftrip.render.plain import lines_of, unfolded
from halftrip.report.document import Document
from halftrip.views.side_by_side import letters

Kept = Literal["kept", "in part", "not kept", "does not apply"]
# From the best to the worst: of several runs, a rule is kept as the worst of them keeps it.
_ORDER: tuple[Kept, ...] = ("does not apply", "kept", "in part", "not kept")


class _Judged(NamedTuple):
    """How one run keeps a rule."""

    kept: Kept
    how: str


def rules(documents: Sequence[Document], shown: Iterable[Block] = ()) -> list[CheckLine]:
    """The twelve rules in their order; of several runs, how each keeps them. `shown` is what the
    page says of them."""
    ratios = any(_RATIO.search(line) for block in unfolded(shown) for line in lines_of(block))
    found = [CheckLine(_OF_SPEEDUP, *(_WITH_RATIOS if ratios else _WITHOUT_RATIOS))]
    for asks, judge in _RULES:
        judged = [judge(document) for document in documents]
        worst = max((each.kept for each in judged), key=_ORDER.index)
        how = list(dict.fromkeys(each.how for each in judged))
        if len(how) > 1:
            names = letters(len(judged))
            how = [f"{name}: {each.how}" for name, each in zip(names, judged, strict=True)]
        found.append(CheckLine(asks, worst, how))
    return found


def _is_imported(document: Document) -> bool:
    return bool(document.run.sources)


def _is_simulated(document: Document) -> bool:
    return bool(document.rows) and all(row.configuration.is_simulated for row in document.rows)


# How a ratio of times or rates is written, wherever one is.
_RATIO = re.compile(r"\btimes (?:as|its)\b")
_OF_SPEEDUP = "Say what a speedup is relative to, and how fast that is."
_WITHOUT_RATIOS: tuple[Kept, list[str]] = (
    "does not apply",
    ["No speedup is reported: all figures are absolute, in us and bytes/s."],
)
_WITH_RATIOS: tuple[Kept, list[str]] = (
    "kept",
    [
        (
            "What is so many times as fast, or takes as many times as long, stands beside what "
            "that is relative to; tables have the figures of both, in us and bytes/s."
        )
    ],
)


def _subset(document: Document) -> _Judged:
    left_out = len(document.skips) + len(document.failures) + len(document.run.failed_launches)
    if _is_imported(document):
        return _Judged("in part", "What its tool has left out, and why, is not in its output.")
    if document.interrupted is not None:
        return _Judged("in part", f"The run is not complete: {document.interrupted}.")
    if left_out:
        said = f"{counted(left_out, 'part')} of the plan could not be measured; each has its reason"
        return _Judged("kept", f"{said} under what is missing.")
    return _Judged(
        "kept", "All that the plan asks for was measured, and the plan is in the report."
    )


def _means(document: Document) -> _Judged:
    statistics = dict.fromkeys(each.statistic for each in document.run.sources)
    if statistics:
        said = f"Its tool reports the {named(statistics)} of the times of its exchanges"
        mean = "mean" in statistics or "sum" in statistics
        return _Judged(
            "kept",
            f"{said}{'; times are costs, of which that is the mean to use' if mean else ''}.",
        )
    return _Judged(
        "kept",
        "Times are summarised by medians; a bandwidth is all bytes over all their time or those of "
        "the median window, never a mean of rates.",
    )


def _ratios(document: Document) -> _Judged:
    if document.run.sides is not None:
        return _Judged(
            "in part",
            "Launches that were taken in turn are compared by the geometric mean of the ratios of "
            "their rounds, so that what drifts from round to round does not count.",
        )
    return _Judged(
        "kept", "No ratios are averaged; widths of intervals are shares of their own row's figure."
    )


def _intervals(document: Document) -> _Judged:
    rows = [row for row in document.rows if not row.is_over_all_time]
    if _is_simulated(document):
        return _Judged("kept", "Times of a model are the same each time, but for its own noise.")
    if not rows:
        return _Judged("not kept", "No row has an interval.")
    known = [row for row in rows if math.isfinite(row.verdict.width)]
    launches = max(row.launches for row in rows)
    over = f"over {launches} launches" if launches > 1 else "over the slices of one launch"
    if len(known) == len(rows):
        if launches > 1:
            return _Judged("kept", f"Every row has a 95 % interval of its median, {over}.")
        return _Judged(
            "in part",
            f"Every row has a 95 % interval of its median, {over}: another launch may differ by "
            "more (--launches).",
        )
    if not known:
        return _Judged("not kept", "No row has an interval: it cannot be told how far they hold.")
    return _Judged(
        "in part", f"{len(known):,} of {counted(len(rows), 'row')} have a 95 % interval, {over}."
    )


def _normality(document: Document) -> _Judged:
    if _is_imported(document) and not _has_intervals(document):
        return _Judged("does not apply", "Single figures: nothing is assumed about how they vary.")
    if any(1 < row.launches <= _STUDENT for row in document.rows):
        return _Judged(
            "in part",
            "Within a launch nothing is assumed. Of so few launches the interval is Student's t of "
            "the logarithms of their medians, which takes these for normal; six or more need not.",
        )
    return _Judged(
        "kept", "Intervals of medians are by ranks; nothing is assumed about the distribution."
    )


# Of up to so many launches, the interval is Student's.
_STUDENT = 5


def _has_intervals(document: Document) -> bool:
    return any(math.isfinite(row.verdict.width) for row in document.rows)


def _comparison(document: Document) -> _Judged:
    if len(document.rows) < 2:
        return _Judged("does not apply", "It has no two rows to compare.")
    if not _has_intervals(document):
        return _Judged("not kept", "Without intervals, a difference may be chance.")
    return _Judged(
        "kept",
        "Every figure stands beside its interval, and pictures show it; halftrip compare tests "
        "differences, with corrections for many rows.",
    )


def _percentiles(document: Document) -> _Judged:
    rows = document.rows
    tails = sum(math.isfinite(row.summary.p99.value) for row in rows)
    if not tails:
        said = "no figure but one for each row" if _is_imported(document) else "no quantiles"
        return _Judged("not kept", f"It has {said}: slow messages cannot be seen.")
    if tails < len(rows):
        return _Judged("in part", f"{tails:,} of {counted(len(rows), 'row')} have a p99.")
    return _Judged("kept", "Medians stand beside p99 and the longest time; rows with two levels, "
                           "which a median hides, are flagged.")  # fmt: skip


def _setup(document: Document) -> _Judged:
    run = document.run
    if _is_imported(document):
        return _Judged(
            "not kept" if not any(each.hosts for each in run.sources) else "in part",
            "Only what its tool has printed is known: no processors, software or settings.",
        )
    if _is_simulated(document):
        return _Judged("kept", "The model of the path is in the plan.")
    if not run.environments:
        return _Judged("not kept", "The environment of its ranks is not in the run file.")
    return _Judged(
        "kept",
        f"The plan, the command, and for {counted(len(run.first_ranks), 'rank')} the processor, "
        "cores, kernel, MPI, clock and variables are recorded, and are below.",
    )


def _method(document: Document) -> _Judged:
    if _is_imported(document):
        return _Judged("in part", "How its tool measures is documented there, not in its output.")
    ends = "One clock times a round trip, so none has to be synchronised"
    if any(row.one_way is not None and row.one_way.is_known for row in document.rows):
        ends = "One-way times have the error of their clocks beside them"
    return _Judged(
        "kept",
        f"{ends}; warm-up is left out, slices come in random order, and rows are medians "
        "(docs/method.md).",
    )


def _bounds(document: Document) -> _Judged:
    found = []
    if document.baselines.core_to_core_rtts:
        found.append("a cache line's way to the other core and back")
    if document.baselines.copy_times:
        found.append("memcpy")
    if document.run.connections:
        found.append("the speed of the link")
    if document.run.device_copies:
        found.append("copies of the device")
    if found:
        return _Judged("kept", f"Measured or recorded with it: {named(found)}.")
    return _Judged("not kept", "The limits of the machine are not known.")


def _plots(document: Document) -> _Judged:
    joined = "Neighbouring sizes are joined only up to four times apart, and never over a bend"
    if _has_intervals(document):
        return _Judged("kept", f"{joined}; bands are intervals, hollow points not to be trusted.")
    return _Judged("in part", f"{joined}; there are no intervals to draw.")


_RULES: tuple[tuple[str, Callable[[Document], _Judged]], ...] = (
    ("Give a reason for whatever is left out: parts of a benchmark, or of the machine.", _subset),
    ("Average costs, such as times, by the arithmetic mean, rates by the harmonic one.", _means),
    ("Do not average ratios; average what they are made of.", _ratios),
    ("Say whether values vary, and give the confidence intervals of those that do.", _intervals),
    ("Assume no normal distribution that has not been checked.", _normality),
    ("Compare what varies by sound statistics, such as intervals or tests.", _comparison),
    ("Ask whether a mean or a median is enough; worst cases need high quantiles.", _percentiles),
    ("Document every factor that varies, and the whole set-up, so that others can repeat it.",
     _setup),
    ("Say how parallel times are taken: clocks, synchronisation and summaries.", _method),
    ("Show upper bounds, so that a figure can be judged.", _bounds),
    ("Draw all that results need; join points only where values between them are to be expected.",
     _plots),
)  # fmt: skip
