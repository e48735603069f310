"""Lines under a table: breakpoints, aggregates, baselines, skips and failures, one-way times, and
what pairs get that talk at the same time."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import msgspec

from halftrip.analysis.breakpoints import Breakpoint
from halftrip.analysis.rows import LARGE, Row, by_limit
from halftrip.plan.vary import in_words
from halftrip.render.blocks import Items
from halftrip.report.document import Baselines, Document, RowsBySize
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.results.records import Aggregate, Skip
from halftrip.results.reported import Variant
from halftrip.results.run import Run
from halftrip.stats.estimate import ratio
from halftrip.stats.median import median
from halftrip.units import format_size, significant, size_name

_Key = TypeVar("_Key", bound=Hashable)

# A reason that is of one value of an option: `--memory cuda@1: there is no CUDA device 1`.
_OF_OPTION = re.compile(r"(?:(--[a-z-]+ )(\S+)(?=: ))?(.*)", re.DOTALL)
# More rounds than these of one configuration share a line.
_MOST_ROUNDS = 4
# Pages are said to be as far apart as in this share of the probes at most.
_MOST_PROBES = 0.9
_BREAKPOINTS_SAY = (
    "breakpoint: where one straight line of time over size ends and another begins "
    "(and the time of a message there)."
)


def breakpoints(curves: Sequence[RowsBySize]) -> list[str]:
    """The breakpoints of time over size, a line for each curve."""
    lines = []
    for curve in curves:
        where = [_between(point, curve.rows) for point in curve.breakpoints]
        lines.append(f"breakpoints: {curve.name}: {', '.join(where) or 'none found'}")
    return [*lines, _BREAKPOINTS_SAY] if lines else []


def _between(point: Breakpoint, rows: dict[int, Row]) -> str:
    times = (significant(rows[size].summary.latency / 1e3, 3) for size in point)
    # Both in the same form: 8128 to 8K is hard to read.
    names = [format_size(size) for size in point]
    if any(name == str(size) for name, size in zip(names, point, strict=True)):
        names = [str(size) for size in point]
    return f"{' to '.join(names)} ({' to '.join(times)} us)"


def aggregates(items: Sequence[Aggregate], names: Names) -> list[str]:
    """What pairs that talked at the same time transferred in total, a line for each round. `names`
    are those of ranks."""
    lines = []
    for aggregate in items:
        pairs = names.pairs(aggregate.pairs)
        threads = len(aggregate.pairs) // len(set(aggregate.pairs))
        by = f"{pairs}, {threads} threads each" if threads > 1 else pairs
        who = f"aggregate: {aggregate.configuration.title}, {by}: "
        if not sum(aggregate.spans):
            lines.append(f"{who}never all active at the same moment; allow more with --time")
            continue
        lines.append(
            f"{who}{significant(aggregate.bandwidth / 1e6, 4)} MB/s, "
            f"{significant(aggregate.rate / 1e6, 3)} million messages/s "
            f"(in {significant(sum(aggregate.spans) / 1e6, 3)} ms in which all were active)"
        )
    return lines


def summed_aggregates(items: Sequence[Aggregate], names: Names) -> list[str]:
    """As `aggregates`, but the rounds of a configuration share a line where there are many."""
    by_title: dict[str, list[Aggregate]] = {}
    for aggregate in items:
        by_title.setdefault(aggregate.configuration.title, []).append(aggregate)
    lines = []
    for title, rounds in by_title.items():
        rates = sorted(each.bandwidth / 1e6 for each in rounds if sum(each.spans))
        if len(rounds) <= _MOST_ROUNDS or not rates:
            lines += aggregates(rounds, names)
            continue
        low, middle, high = (significant(rate, 3) for rate in (rates[0], median(rates), rates[-1]))
        said = f"{low} to {high} MB/s, median {middle} MB/s"
        lines.append(f"aggregate: {title}, {len(rounds)} rounds of pairs: {said}")
    return lines


def losses(rows: Sequence[Row]) -> list[str]:
    """Which datagrams were lost, a line for each transport and pattern."""
    lost: dict[str, list[Row]] = {}
    for row in rows:
        if row.delivery is not None and row.delivery.lost:
            name = f"{row.configuration.transport} {row.configuration.pattern}"
            lost.setdefault(name, []).append(row)
    lines = []
    for name, of_name in lost.items():
        counts = [row.delivery for row in of_name if row.delivery is not None]
        total, sent = sum(each.lost for each in counts), sum(each.sent for each in counts)
        sizes = ", ".join(size_name(row.configuration.known_size) for row in of_name)
        share = significant(100 * total / sent, 2)
        lines.append(f"lost: {name} {sizes}: {total:,} of {sent:,} datagrams ({share} %)")
    return lines


def baselines(found: Baselines) -> list[str]:
    """The machine's own limits, a line for each."""
    lines = []
    rtts = found.core_to_core_rtts
    if rtts:
        lines.append(
            f"bound: a cache line to the other core and back takes {median(rtts):.0f} ns "
            f"(median of {len(rtts)} probes, {min(rtts):.0f} to {max(rtts):.0f})"
            + _pages(found.pages)
        )
    for name, times in (
        ("memcpy", found.copy_times),
        ("process_vm_readv", found.kernel_copy_times),
    ):
        if times:
            copies = [f"{format_size(s)} {significant(s / ns, 3)}" for s, ns in times.items()]
            lines.append(f"bound: {name} in one rank, GB/s (10^9 bytes): {', '.join(copies)}")
    return lines


def _pages(pages: Sequence[tuple[float, float]]) -> str:
    """How far pages are apart at the same moment: at most, but for one probe in ten, which
    something may have disturbed."""
    if not pages:
        return ""
    apart = sorted(pages, key=lambda each: each[1] / each[0])
    near, far = apart[round(_MOST_PROBES * (len(apart) - 1))]
    return f"; pages {near:.0f} to {far:.0f} ns"


def skips(document: Document) -> list[str]:
    """What was not measured and why, a line for each reason."""
    begun = {launch.variant for launch in document.run.launches}
    named: list[tuple[tuple[str, str, str], str]] = []
    for skip, variants in _by_skip(document.skips):
        what = [", ".join(names) for names in (skip.patterns, skip.modes) if names]
        if skip.sizes:
            what.append(", ".join(format_size(size) for size in skip.sizes))
        if skip.windows:
            what.append(f"(window {', '.join(map(str, skip.windows))})")
        if skip.pairs:
            what.append(document.run.names.pairs(skip.pairs))
        # What is the same in all of them has nothing to do with what is varied.
        some = [variant for variant in variants if variant] if set(variants) != begun else []
        for variant in some or [()]:
            who = f"{in_words(variant)}: " if variant else ""
            named.append(((who, " ".join(what), skip.reason), skip.transport))
    valued: list[tuple[tuple[str, str, str], str]] = []
    for (who, part, reason), transports in _joined(named).items():
        said = f"{who}not measured: {transports} {part}".rstrip()
        option, value, why = _OF_OPTION.findall(reason)[0]
        valued.append(((said, option, why), value))
    return [
        f"{said}: {option}{values}{why}" for (said, option, why), values in _joined(valued).items()
    ]


def _joined(named: Sequence[tuple[_Key, str]]) -> dict[_Key, str]:
    """The names that have the same key, in a list as text."""
    found: dict[_Key, dict[str, None]] = {}
    for key, name in named:
        found.setdefault(key, {})[name] = None
    return {key: ", ".join(names) for key, names in found.items()}


def _by_skip(skips: Sequence[Skip]) -> list[tuple[Skip, list[Variant]]]:
    """What was skipped for the same reason, and in which variants."""
    found: list[tuple[Skip, list[Variant]]] = []
    for skip in skips:
        alone = msgspec.structs.replace(skip, variant=())
        known = next((variants for each, variants in found if each == alone), None)
        if known is None:
            found.append((alone, [skip.variant]))
        else:
            known.append(skip.variant)
    return found


def failures(document: Document) -> list[str]:
    """What went wrong, a line for each failure."""
    reasons: dict[str, list[int]] = {}
    for failed in document.run.failed_launches:
        reasons.setdefault(f"{in_words(failed.variant)}: {failed.reason}", []).append(failed.launch)
    lines = [
        f"failed: {what}" + (f" (in {len(launches)} launches)" if len(launches) > 1 else "")
        for what, launches in reasons.items()
    ]
    for failure in document.failures:
        configuration = failure.configuration
        kind = f"{configuration.transport} {configuration.pattern} {configuration.mode}"
        ranks = document.run.names.pairs([configuration.pair])
        values = in_words(configuration.variant)
        what = " ".join(filter(None, (kind, size_name(configuration.known_size), values)))
        lines.append(f"failed: {what}, {ranks}: {failure.reason}")
    return lines


def missing_blocks(document: Document) -> list[Items]:
    """What was not measured, what failed, and why the run ended early."""
    ended = [] if document.interrupted is None else [f"interrupted: {document.interrupted}"]
    found = [
        Items(skips(document)),
        Items(document.warnings, "yellow"),
        Items([*failures(document), *ended], "bold red"),
    ]
    return [each for each in found if each.lines]


def missing(document: Document) -> list[str]:
    """The same, a line for each."""
    return [line for items in missing_blocks(document) for line in items.lines]


# One-way times: where the two ways differ, and why some are not known.

# More sizes than these are named by the first and the last.
_MOST_SIZES = 3
# Of more pairs than these, the first are named.
_MOST_WAYS = 3


def uneven_ways(document: Document) -> list[str]:
    """Where one way takes longer than the other, a line for each transport, pair and direction."""
    uneven = [row for row in document.latency_rows if row.one_way and row.one_way.is_uneven]

    def text(path: str, rows: Sequence[Row]) -> str:
        ways = [(way.there, way.back) for row in rows if (way := row.one_way) is not None]
        factors = sorted(max(way) / max(min(way), 1.0) for way in ways)
        ends = dict.fromkeys(significant(each, 2) for each in (factors[0], factors[-1]))
        slow, fast = ("there", "back") if ways[0][0] > ways[0][1] else ("back", "there")
        return f"one way: {path}: {' to '.join(ends)} times as long {slow} as {fast}"

    return _by_path(document, uneven, text)


def unknown_ways(document: Document) -> list[str]:
    """Which rows have no one-way times because the clocks of two hosts are not known well enough, a
    line for each transport and pair."""
    unknown = [row for row in document.latency_rows if row.one_way and not row.one_way.is_known]

    def text(path: str, rows: Sequence[Row]) -> str:
        error = max(row.one_way.error for row in rows if row.one_way is not None)
        first, second = _hosts(document.run, rows[0])
        known = f"the clocks of {first} and {second} are known within {_us(error)}"
        latencies = [_us(row.summary.latency) for row in rows]
        are = "is" if len(set(latencies)) == 1 else "are"
        span = " to ".join(dict.fromkeys((latencies[0], latencies[-1])))
        return f"no times there and back: {path}: {known}, and the latency {are} {span}"

    return _by_path(document, unknown, text)


def _by_path(
    document: Document, rows: Sequence[Row], text: Callable[[str, Sequence[Row]], str]
) -> list[str]:
    """The text of all rows of a path whose longer way is the same; of many paths, the first."""
    found: dict[tuple[str, Variant, tuple[int, int], bool], list[Row]] = {}
    for row in rows:
        way = row.one_way
        there_is_longer = way is not None and way.is_known and way.there > way.back
        configuration = row.configuration
        way_of = configuration.transport, configuration.variant
        key = *way_of, configuration.pair, there_is_longer
        found.setdefault(key, []).append(row)
    pairs = {row.configuration.pair for row in document.latency_rows}
    made = []
    for (transport, variant, pair, _), of_path in found.items():
        ranks = f" ranks {pair[0]}-{pair[1]}" if len(pairs) > 1 else ""
        values = "".join(f" {value}" for _, value in variant)
        made.append(text(f"{transport}{values} {_sizes_of(of_path)}{ranks}", of_path))
    if len(made) > _MOST_WAYS:
        made[_MOST_WAYS:] = [f"{len(made) - _MOST_WAYS} more paths likewise; see --format csv"]
    return made


def _sizes_of(rows: Sequence[Row]) -> str:
    sizes = sorted({row.configuration.size for row in rows})
    named = [size_name(size) for size in sizes]
    return ", ".join(named) if len(named) <= _MOST_SIZES else f"{named[0]} to {named[-1]}"


def _hosts(run: Run, row: Row) -> tuple[str, str]:
    hosts = {each.rank: each.host for each in run.environments}
    first, second = (hosts.get(rank, f"rank {rank}") for rank in row.configuration.pair)
    return first, second


def _us(ns: float) -> str:
    return f"{significant(ns / 1e3, 2)} us"


def bandwidth_of_link(setting: Configuration) -> str:
    """What the bandwidth of a link is called, which is that of one direction, as links are sold."""
    return "bandwidth each way" if setting.directions == 2 else "bandwidth"


# Pairs that talk at the same time.


def at_once(pairs: int) -> str:
    """So many pairs at the same time, in words."""
    return "one pair at a time" if pairs == 1 else f"{pairs} pairs at once"


def at_once_ratios(rows: Sequence[Row], names: Names) -> list[str]:
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
    tails = _tails(first, more) if what == "latency" else ""
    return [f"{at_once(most)}: {setting.title}: {middle} x the {what} {before} ({of_pairs}){tails}"]


def _tails(first: Sequence[Row], more: Sequence[Row]) -> str:
    """By how much tails grow: what shares a link waits now and then, which no median tells."""
    before = {row.configuration.pair: row.summary for row in first}
    said = []
    for name, words in (("p99", "p99"), ("p999", "p99.9")):
        ratios = [
            ratio(getattr(row.summary, name), getattr(before[row.configuration.pair], name)).value
            for row in more
            if row.configuration.pair in before
        ]
        known = [each for each in ratios if each > 0]
        said += [f"{words} {significant(median(known), 2)} x"] if known else []
    return f"; {', '.join(said)}" if said else ""


def tails_at_once(rows: Sequence[Row], names: Names) -> list[str]:
    """p99 and p99.9 of pairs that talk at the same time, a line for each setting: of the median
    pair, and of the worst."""
    groups: dict[tuple[Configuration, int], list[Row]] = {}
    for row in rows:
        each = row.configuration
        if each.concurrency > 1 and not each.is_rate:
            groups.setdefault((each.setting, each.concurrency), []).append(row)
    lines = []
    for (setting, count), found in groups.items():
        said = []
        for name, words in (("p99", "p99"), ("p999", "p99.9")):
            known = {
                row.configuration.pair: getattr(row.summary, name).value
                for row in found
                if getattr(row.summary, name).value > 0
            }
            if known:
                pair, worst = max(known.items(), key=lambda item: item[1])
                middle = significant(median(list(known.values())) / 1e3, 3)
                most = f", worst {significant(worst / 1e3, 3)} us: {names.pairs([pair])}"
                said.append(f"{words} {middle} us{most if len(known) > 1 else ''}")
        if said:
            lines.append(f"tails, {at_once(count)}: {setting.title}: {'; '.join(said)}")
    return lines


def _figure(setting: Configuration) -> tuple[Callable[[Row], float], str]:
    if setting.is_rate or setting.size >= LARGE:
        return lambda row: row.bandwidth, "bandwidth"
    return lambda row: row.summary.latency, "latency"
