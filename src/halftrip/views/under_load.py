"""What traffic beside a path does to messages over it, and the queue that this implies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE, as_written
from halftrip.analysis.rows import Row
from halftrip.analysis.under_load import (
    Queue,
    UnderLoad,
    is_between_hosts,
    is_busy,
    under_load,
    without_traffic,
)
from halftrip.plan.vary import in_words as variant_in_words
from halftrip.render.blocks import SPACE, Block, Column, Legend, table
from halftrip.report.document import Document
from halftrip.report.numbers import (
    FARTHEST,
    MARKS_OF_ROWS,
    NOTHING,
    factor_alone,
    factor_texts,
    in_unit,
    in_words,
    marked,
    number,
    supported_digits,
    width_of,
)
from halftrip.results.configuration import NO_BACKGROUND, Configuration
from halftrip.stats.estimate import Estimate
from halftrip.units import significant, size_in_words
from halftrip.views.columns import SIZE, column
from halftrip.views.ranking import path
from halftrip.views.row_tables import heading, path_columns

_SAYS = (
    "beside: what the background moved while messages were timed, in all directions together; "
    "x idle: how many times as long as without it (95 %); p99 and p99.9: of single messages. "
    f"{MARKS_OF_ROWS}: see --why."
)
_SHARED = (
    "There was no core left for the background: its threads took time from the cores that were "
    "timed, and what is longer is that, too."
)
# Of a figure that its interval supports less, fewer.
_MOST_DIGITS = 3
# Of one message.
_DIGITS_OF_ONE = 2


def has_traffic(rows: Sequence[Row]) -> bool:
    """Whether some rows were measured beside traffic."""
    return any(row.configuration.background != NO_BACKGROUND for row in rows)


def blocks(document: Document) -> list[Block]:
    """A table of latencies and one of bandwidths, with a line for each row: those without traffic,
    and below them those beside it."""
    factors = {each.row.configuration: each.factor for each in _found(document)}
    found: list[Block] = []
    for rows in map(_idle_first, (document.latency_rows, document.rate_rows)):
        if rows:
            shown = table(rows, _columns(rows, factors, document.round_trips), section=_section)
            found += [shown.titled(heading(document.run, rows, brief=True), "above"), SPACE]
    traffic = [row.traffic for row in document.rows if row.traffic is not None]
    shared = [_SHARED] if any(not each.own_cores for each in traffic) else []
    return [*found, Legend([_SAYS, *shared])]


def _idle_first(rows: Sequence[Row]) -> list[Row]:
    """The rows in their order, those that differ only in the background side by side."""
    places: dict[Configuration, int] = {}
    for row in rows:
        places.setdefault(without_traffic(row.configuration), len(places))

    def place(row: Row) -> tuple[int, bool]:
        configuration = row.configuration
        return places[without_traffic(configuration)], configuration.background != NO_BACKGROUND

    return sorted(rows, key=place)


def _found(document: Document) -> list[UnderLoad]:
    return under_load(document.rows, document.run.names)


def _section(row: Row) -> object:
    return row.configuration.transport, row.configuration.pair, row.configuration.variant


def _columns(
    rows: Sequence[Row], factors: dict[Configuration, Estimate], round_trips: bool
) -> list[Column]:
    of_rates = rows[0].configuration.is_rate

    def times(row: Row) -> float:
        """How many messages one way its time is shown of."""
        return row.configuration.messages_per_iteration if of_rates or round_trips else 1

    def factor(row: Row) -> str:
        return factor_in_words(factors.get(row.configuration))

    sizes = {row.configuration.known_size for row in rows}
    name = "round trip" if round_trips else "latency"
    main = Column(name, "us", _time(times), rank=ALWAYS)
    if of_rates:
        main = Column(
            "bandwidth", "MB/s", lambda row: marked(row, row.bandwidth, "MB/s"), rank=ALWAYS
        )
    return [
        *path_columns(rows),
        *[SIZE] * (len(sizes) > 1),
        column("background_bytes_per_s", rank=BRIEF),
        column("background_load", rank=MORE),
        main,
        Column("95 %", "", lambda row: width_of(row.verdict.width), rank=BRIEF),
        Column("x idle", "", factor, rank=ALWAYS),
        *[
            Column(f"{'window ' * of_rates}{said}", "us", _quantile(attribute, times), rank=BRIEF)
            for said, attribute in (("p99", "p99"), ("p99.9", "p999"))
        ],
        column("cause"),
    ]


def _time(times: Callable[[Row], float]) -> Callable[[Row], str]:
    return lambda row: marked(row, row.summary.latency * times(row), "us")


def _quantile(name: str, times: Callable[[Row], float]) -> Callable[[Row], str]:
    return lambda row: in_unit(getattr(row.summary, name).value * times(row), "us")


def factor_in_words(found: Estimate | None) -> str:
    """``2.1 (1.9 to 2.4)``."""
    if found is None:
        return NOTHING
    if not math.isfinite(found.high - found.low):
        return factor_alone(found.value)
    if found.high > FARTHEST * found.low:
        return f"{number(found.value, 2)} (not told)"
    value, low, high = factor_texts(found)
    return f"{value} ({low} to {high})"


def lines(document: Document) -> list[str]:
    """The queue that each row implies: a line for each between two hosts."""
    run = document.run
    found = [each for each in _found(document) if not each.row.configuration.is_rate]
    return [
        f"queue: {path(each.row, document)}, {size_in_words(each.row.configuration.known_size)}: "
        f"{_queues(each)}"
        for each in found
        if is_between_hosts(each.row, run.names)
    ]


def _queues(found: UnderLoad) -> str:
    traffic = found.row.traffic
    if traffic is not None and is_busy(traffic):
        load = significant(100 * traffic.load, 2)
        return f"cannot be told: the background was busy for {load} % of the time of a core"
    if found.standing is None:
        return "none is seen"
    standing = "a round trip takes {} longer, in which {} pass".format(*_queue(found.standing))
    if found.full is None:
        return standing
    by = {"longest": "the longest"}.get(found.full_by, found.full_by)
    said = "{} (the median); by {}: {}, {}".format(standing, by, *_queue(found.full))
    if not found.sent_again:
        return said
    return f"{said}, without {significant(100 * found.sent_again, 2)} % that were sent again"


def _queue(queue: Queue) -> tuple[str, str]:
    longer = in_words(queue.ns, _digits(queue.ns), 1e6, " ms")
    return longer, in_words(queue.bytes, _digits(queue.bytes), 1e3, " kB")


def queue_fields(document: Document) -> list[dict[str, Any]]:
    """A record for each row whose messages wait in a queue, for programs."""
    return [
        {
            "transport": each.row.configuration.transport,
            "background": each.row.configuration.background,
            "size_bytes": each.row.configuration.known_size,
            "hosts": [document.run.names.host(rank) for rank in each.row.configuration.pair],
            "variant": variant_in_words(each.row.configuration.variant),
            **_of_queue("standing", each.standing),
            "full_by": each.full_by or None,
            "sent_again_share": as_written(each.sent_again),
            **_of_queue("full", each.full),
        }
        for each in _found(document)
        if each.standing is not None
    ]


def _of_queue(name: str, queue: Queue | None) -> dict[str, float | None]:
    ends = ("", "_low", "_high")
    return {
        f"{name}{end}_{unit}": None if queue is None else as_written(getattr(queue, unit)[number])
        for unit in ("ns", "bytes")
        for number, end in enumerate(ends)
    }


def _digits(estimate: Estimate) -> int:
    if math.isnan(estimate.half_width):
        return _DIGITS_OF_ONE
    return min(supported_digits(estimate.half_width / estimate.value), _MOST_DIGITS)
