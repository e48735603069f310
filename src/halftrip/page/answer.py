"""The answer of a run, in three sentences with figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from halftrip.analysis import under_load
from halftrip.analysis.flags.flag import percent
from halftrip.analysis.flags.machine_causes import IMPOSSIBLE
from halftrip.analysis.flags.table import NO_INTERVAL
from halftrip.analysis.rows import Row
from halftrip.page.asked import counted
from halftrip.report.document import Document
from halftrip.report.numbers import digits_of, number
from halftrip.results.configuration import NO_BACKGROUND
from halftrip.stats.median import median
from halftrip.units import significant, size_in_words
from halftrip.views import pairs, ranking, states
from halftrip.views import under_load as views
from halftrip.views.why import groups, is_of_sweep

# The size that people compare, bytes.
_SMALL = 8
_NONE = "Nothing was measured"
# So many causes are named, the most frequent first.
_MOST_CAUSES = 3


def answer(document: Document) -> list[str]:
    """Which hosts and links are slow, which path is the fastest, and by how much, what traffic
    beside it does, the lowest latency of small messages, the highest bandwidth or message rate, the
    state of the machine that they are of, and how far these can be trusted, each a sentence."""
    if not document.rows:
        reason = document.interrupted
        return [f"{_NONE}: {reason}." if reason else f"{_NONE}."]
    # Said of latencies and of bandwidths.
    slow = dict.fromkeys(pairs.slow(document))
    ranked = ranking.sentence(document)
    said = (
        *(f"{line[0].upper()}{line[1:]}." for line in slow),
        f"{ranked}." if ranked else "",
        _beside(document),
        _latency(document),
        _most(document),
        states.held_most(document.rows),
    )
    return [*filter(None, (*said, _trusted(document)))]


def _beside(document: Document) -> str:
    """The row that surely takes most longer beside traffic, or, without an interval, seems to."""
    found = under_load.under_load(document.rows, document.run.names)
    if not found:
        return ""
    surely = [each for each in found if math.isfinite(each.factor.low)]
    most = max(surely or found, key=lambda each: each.factor.low if surely else each.factor.value)
    what = f"{size_in_words(most.row.configuration.known_size)} {_over(most.row, document)}"
    factor = views.factor_in_words(most.factor)
    of_all = f", the most of {len(found)} rows beside traffic" if len(found) > 1 else ""
    return f"{what} take {factor} times as long as without the traffic{of_all}."


def _latency(document: Document) -> str:
    known = [row for row in _plain(document.latency_rows) if row.summary.latency > 0]
    if not known:
        return "No row's result is the time of a single message."
    sizes = {row.configuration.size for row in known if row.configuration.size_known}
    small = _SMALL if _SMALL in sizes else min((each for each in sizes if each), default=0)
    at_size = [row for row in known if row.configuration.size == small] or known
    best = _best(at_size, lambda row: -row.summary.latency)
    slowest = max(at_size, key=lambda row: row.summary.latency)
    differ = len({row.configuration.pattern for row in at_size}) > 1

    def who(row: Row) -> str:
        return _over(row, document) + (f" by {row.configuration.pattern}" if differ else "")

    lowest = "lowest latency" if len(at_size) > 1 else "latency"
    said = f"The {lowest} {_of_size(best)} is {_time(best)} one way, {who(best)}"
    said += _interval_of_time(best)
    if slowest is not best:
        said += f"; the highest is {_time(slowest)}, {who(slowest)}"
    return f"{said}."


def _most(document: Document) -> str:
    rows = _plain(document.rows)
    known = [row for row in rows if row.bandwidth > 0]
    if known:
        best = _best(known, lambda row: row.bandwidth)
        what, figure = "bandwidth", _per_second(best, best.bandwidth)
    else:
        known = [row for row in rows if row.rate > 0]
        if not known:
            return ""
        best = _best(known, lambda row: row.rate)
        digits = digits_of(best, 4)
        what, figure = "message rate", f"{significant(best.rate, digits)} messages/s"
    highest = f"highest {what}" if len(known) > 1 else what
    ways = ", both ways together" if best.configuration.directions == 2 else ""
    by = f"{_over(best, document)} by {best.configuration.pattern} {_of_size(best)}{ways}"
    interval = _interval_of_bandwidth(best) if what == "bandwidth" else _doubt(best)
    return f"The {highest} is {figure}, {by}{interval}."


def _plain(rows: Sequence[Row]) -> list[Row]:
    """The rows whose time is the path's alone, without a computation in between, nor, where there
    are such rows, traffic beside it."""
    found = [row for row in rows if not row.configuration.delay]
    idle = [row for row in found if row.configuration.background == NO_BACKGROUND]
    return idle or found


def _best(rows: Sequence[Row], goodness: Callable[[Row], float]) -> Row:
    """The best that is possible; one with an interval, where there are some."""
    possible = [row for row in rows if not _is_impossible(row)] or rows
    known = [row for row in possible if math.isfinite(row.verdict.width)]
    return max(known or possible, key=goodness)


def _is_impossible(row: Row) -> bool:
    return row.verdict.cause is not None and row.verdict.cause.name == IMPOSSIBLE


def _over(row: Row, document: Document) -> str:
    return f"over {ranking.path(row, document)}"


def _of_size(row: Row) -> str:
    if not row.configuration.size_known:
        return "of messages of a size that is not known"
    if row.configuration.size == 0:
        return "of empty messages"
    return f"of messages of {size_in_words(row.configuration.size)}"


def _time(row: Row) -> str:
    digits = digits_of(row, 4)
    return f"{number(row.summary.latency, digits, 1e3)} us"


def _interval_of_time(row: Row) -> str:
    low, high = row.summary.low, row.summary.high
    if not (math.isfinite(low) and math.isfinite(high)):
        return _doubt(row)
    digits = digits_of(row) + 1
    ends = f"{number(low, digits, 1e3)} to {number(high, digits, 1e3)} us"
    return f" (95 % interval {ends}){_doubt(row)}"


def _per_second(row: Row, value: float) -> str:
    digits = digits_of(row, 4)
    scale, unit = (1e9, "GB/s") if value >= 1e9 else (1e6, "MB/s")
    return f"{significant(value / scale, digits)} {unit}"


def _interval_of_bandwidth(row: Row) -> str:
    value = row.bandwidth
    if row.is_over_all_time:
        return " (over all the time, so without an interval)"
    _, *ends = row.over_time(value)
    if not all(map(math.isfinite, ends)):
        return _doubt(row)
    scale, unit = (1e9, "GB/s") if value >= 1e9 else (1e6, "MB/s")
    digits = digits_of(row) + 1
    said = " to ".join(significant(end / scale, digits) for end in ends)
    return f" (95 % interval {said} {unit}){_doubt(row)}"


def _doubt(row: Row) -> str:
    """That a figure is not to be trusted, where that is so of the best."""
    if row.verdict.word == "ok":
        return ""
    cause = row.verdict.cause
    if cause is not None and cause.name == NO_INTERVAL:
        return ", a single figure without an interval"
    why = "" if cause is None else f": {cause.name}"
    return (
        f", to be used with caution{why}"
        if row.verdict.word == "caution"
        else (f", which cannot be trusted{why}")
    )


def _trusted(document: Document) -> str:
    rows = document.rows
    if all(row.configuration.is_simulated for row in rows):
        return "All of this is computed from a model; no machine was measured."
    counts: Counter[str] = Counter(row.verdict.word for row in rows)
    total = counted(len(rows), "row")
    if counts["ok"] == len(rows):
        whole = "The only row" if len(rows) == 1 else f"All {total}"
        return f"{whole} can be trusted as measured: no interval is wider than 2 %."
    first = next(iter(groups(document)), None)
    if first is not None and first.cause.name == NO_INTERVAL and len(first.rows) == len(rows):
        return (
            f"How far to trust {'it' if len(rows) == 1 else f'these {total}'} cannot be told: the "
            "source gives single figures, without intervals."
        )
    causes = [(group.cause.name, len(group.rows)) for group in groups(document)]
    if len(rows) == 1:
        how = "can be used with caution" if counts["caution"] else "cannot be trusted"
        why = "".join(f": {name}" for name, _ in causes)
        return f"The only row {how}{why}. {_good_for(rows)}".rstrip()
    parts = [
        f"{counts[word]:,} {said}"
        for word, said in (
            ("ok", "can be trusted as measured"),
            ("caution", "can be used with caution"),
            ("no", "cannot be trusted"),
        )
        if counts[word]
    ]
    said = f"Of {total}, {', '.join(parts)}"
    if causes:
        named = [f"{name} ({count})" for name, count in causes[:_MOST_CAUSES]]
        left = len(causes) - len(named)
        named += [f"{counted(left, 'other cause')}"] * (left > 0)
        said += f": {', '.join(named)}"
    if first is not None and is_of_sweep(first, document):
        return f"{said}. All sizes of this sweep together tell its curve: see the model."
    return f"{said}. {_good_for(rows)}".rstrip()


def _good_for(rows: Sequence[Row]) -> str:
    """What figures can tell that are not ok: how near they are known; empty where none of those
    that are possible has an interval."""
    possible = [row.verdict.width for row in rows if not _is_impossible(row)]
    widths = sorted(filter(math.isfinite, possible))
    if not widths:
        return ""
    half = f"half within {percent(median(widths))}"
    worst = "beyond 100 %" if widths[-1] > 1 else f"within {percent(widths[-1])}"
    within = worst if len(widths) == 1 else f"{half}, the widest {worst}"
    without = len(rows) - len(widths)
    but = f"; {counted(without, 'row')} without an interval" if without else ""
    return (
        f"As the machine was, each figure holds within its interval ({within}{but}): what differs "
        "by more does differ."
    )
