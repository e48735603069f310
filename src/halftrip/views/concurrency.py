"""What pairs get that talk at the same time, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.analysis.rows import LARGE, Row, by_limit
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.median import median
from halftrip.units import significant


def at_once(pairs: int) -> str:
    """So many pairs at the same time, in words."""
    return "one pair at a time" if pairs == 1 else f"{pairs} pairs at once"


def ratios(rows: Sequence[Row], names: Names) -> list[str]:
    """What pairs get that talk at the same time, of what they get with fewer: a line for each
    setting and limit."""
    settings: dict[Configuration, list[Row]] = {}
    for row in rows:
        settings.setdefault(row.configuration.setting, []).append(row)
    lines = []
    for setting, found in settings.items():
        first, *others = by_limit(found)
        for more in others:
            lines += _ratio(setting, first, more, names)
    return lines


def _ratio(
    setting: Configuration, first: Sequence[Row], more: Sequence[Row], names: Names
) -> list[str]:
    figure, what = _figure(setting)
    alone = {row.configuration.pair: figure(row) for row in first}
    found = {
        row.configuration.pair: figure(row) / alone[row.configuration.pair]
        for row in more
        if figure(row) > 0 and alone.get(row.configuration.pair, 0) > 0
    }
    if not found:
        return []
    fewest = max(row.configuration.concurrency for row in first)
    most = max(row.configuration.concurrency for row in more)
    before = "alone" if fewest == 1 else f"with {fewest}"
    choose = max if what == "latency" else min
    pair, worst = choose(found.items(), key=lambda item: item[1])
    where = f"worst {significant(worst, 2)}: {names.pairs([pair])}"
    of_pairs = f"median of {len(found)} pairs; {where}"
    middle = significant(median(list(found.values())), 2)
    return [f"{at_once(most)}: {setting.title}: {middle} x the {what} {before} ({of_pairs})"]


def _figure(setting: Configuration) -> tuple[Callable[[Row], float], str]:
    if setting.is_rate or setting.size >= LARGE:
        return lambda row: row.bandwidth, "bandwidth"
    return lambda row: row.summary.latency, "latency"
