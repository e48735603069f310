"""The rows of a run in tables: one for latencies and one for bandwidths, of datagrams apart; and
what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.figure import BRIEF
from halftrip.analysis.rows import Row, in_every_state
from halftrip.render.blocks import Column, Legend, Table, table
from halftrip.report.document import Document
from halftrip.report.fields import common, varying
from halftrip.report.numbers import mark
from halftrip.results.run import Run
from halftrip.views import columns, states
from halftrip.views.columns import is_round_trip

# The figures that rows are about.
_MAIN = ("latency_ns", "round_trip_ns", "total_bandwidth_bytes_per_s")
_STYLES = {"ok": "", "caution": "yellow", "no": "red"}


class RowTable(NamedTuple):
    """Some rows of a run, and their table, whose title is what all of them have in common; `rtt`:
    with round trips in place of latencies."""

    rows: Sequence[Row]
    table: Table
    rtt: bool

    @property
    def legend(self) -> Legend:
        """What the columns that are shown are."""
        return Legend(lambda shown: _legend(self.rows, shown, self.rtt))

    @property
    def with_said_once(self) -> Table:
        """The table, whose title also says what is the same in all rows."""
        return self.table._replace(title=[*self.table.title, *self.table.said_once])


def row_tables(document: Document, brief: bool) -> list[RowTable]:
    """The tables of all rows; `brief`: with the columns that people look for first, in the state
    that held most; else in all states."""
    groups = (
        [row for row in rows if (row.delivery is not None) == of_datagrams]
        for main in (document.latency_rows, document.rate_rows)
        for rows in [main if brief else in_every_state(main)]
        for of_datagrams in (False, True)
    )
    return [_row_table(document, rows, brief) for rows in groups if rows]


def _row_table(document: Document, rows: Sequence[Row], brief: bool) -> RowTable:
    # Where no pattern makes round trips, there is none to show.
    rtt = document.round_trips and any(map(columns.is_round_trip, rows))
    shown = [*path_columns(rows), *_figures(rows, rtt), columns.VERDICT, columns.CAUSE]
    if brief:
        shown = [column for column in shown if column.rank <= BRIEF]
    shown = [each._replace(is_marked=each.key in _MAIN) for each in shown]
    made = table(rows, shown, lambda row: _STYLES[row.verdict.word], _section, True, mark)
    return RowTable(rows, made.titled(heading(document.run, rows, brief)), rtt)


def path_columns(rows: Sequence[Row]) -> list[Column]:
    """The transport, and all other settings in which the rows differ."""
    configurations = [row.configuration for row in rows]
    several = len({each.transport for each in configurations}) > 1
    fields = [*[columns.TRANSPORT] * several, *varying(configurations)]
    return [columns.setting_column(field) for field in fields]


def _figures(rows: Sequence[Row], rtt: bool) -> list[Column]:
    is_rate = rows[0].configuration.is_rate
    shown = list(columns.RATE_COLUMNS if is_rate else columns.latency_columns(rtt))
    if is_rate and _send_both(rows):
        shown = [each._replace(name=_TOTAL) if each.name == _OWN else each for each in shown]
    if any(row.delivery is not None for row in rows):
        shown += columns.DELIVERY_COLUMNS
    if any(row.launches > 1 for row in rows):
        shown += columns.LAUNCH_COLUMNS
    return [*shown, columns.VERIFIED]


# The bandwidth of a row, and of rows in which both ends send at once.
_OWN, _TOTAL = "bandwidth", "total bandwidth"


def _send_both(rows: Sequence[Row]) -> bool:
    return any(row.configuration.directions == 2 for row in rows)


def heading(run: Run, rows: Sequence[Row], brief: bool) -> str:
    """What all rows have in common, and on which cores they were measured; `brief`: only what is
    not the default."""
    configurations = [row.configuration for row in rows]
    simulated = all(configuration.is_simulated for configuration in configurations)
    transports = dict.fromkeys(each.transport for each in configurations)
    shared = [*transports] if len(transports) == 1 else []
    shared += common(configurations, simulated, brief)
    state = run.header.plan.get("placement_state")
    if state is not None:
        shared.append(f"only while the cores are {state}")
    if simulated:
        return f"{', '.join(shared)}; virtual time, no machine"
    if brief:
        return ", ".join(shared)
    cores = [
        f"{e.rank} on {e.host}, {'any core' if e.core is None else f'core {e.core}'}"
        for e in run.first_ranks
    ]
    return ", ".join(shared) + (f"; rank {'; rank '.join(cores)}" if cores else "")


def _section(row: Row) -> tuple[object, ...]:
    """The settings that all rows of a section have in common."""
    configuration = row.configuration
    return (*configuration.kind, configuration.pair, configuration.both_ends("wait"))


# What their columns are.

_SAMPLES_SAY = "samples: each one {0}, or as many as x says{1}."
_TAILS_SAY = "; p99, max: of single ones (show --tails has more)"
_ONE_SIDED_SAYS = (
    "put, get: until done at both ends; without --touch timed, core-to-core is no bound of them."
)
_POLLED_SAYS = (
    "put-pingpong: by puts; a message has come when its target, which polls, sees its last byte."
)
_DELAY_SAYS = (
    "delay: the initiator computes so long after each send; its time counts, so that the time of a "
    "message is not the path's."
)
_OWN_PLACES_SAY = (
    "own places: each message of a window has memory of its own, where OSU, IMB and iperf3 have "
    "one place for all, which stays in a cache: --places same."
)
_AGGREGATE_SAYS = (
    "aggregate: over all the time in which all were active; a row is a median, without the stalls."
)


def _legend(table_rows: Sequence[Row], shown: Sequence[Column], rtt: bool) -> list[str]:
    """The lines for the columns that are `shown`; the rows are all those of the table."""
    names = {column.name for column in shown}
    is_rate = table_rows[0].configuration.is_rate
    lines = _imported(table_rows)
    if not lines:
        lines = _rate(table_rows, names) if is_rate else _latency(table_rows, names, rtt)
    lines += [column.says for column in shown if column.says]
    lines += filter(None, (states.words(table_rows),))
    one_sided = [row for row in table_rows if row.configuration.is_one_sided and not row.source]
    if any(not row.configuration.shape.is_polled for row in one_sided):
        lines.append(_ONE_SIDED_SAYS)
    if any(row.configuration.shape.is_polled for row in one_sided):
        lines.append(_POLLED_SAYS)
    if any(row.delivery is not None for row in table_rows):
        jitter = "; jitter: RFC 3550" if "jitter" in names else ""
        lines.append(
            "lost: datagrams that never came; "
            f"reordered: came after one that was sent later{jitter}."
        )
    if any(row.configuration.delay for row in table_rows):
        lines.append(_DELAY_SAYS)
    if any(row.configuration.concurrency > 1 and not row.source for row in table_rows):
        lines.append(_AGGREGATE_SAYS)
    return lines


def _imported(table_rows: Sequence[Row]) -> list[str]:
    """What another tool's figures are, where they are no medians over slices."""
    sources = [row.source for row in table_rows if row.source]
    if not sources:
        return []
    tools = ", ".join(dict.fromkeys(source.tool for source in sources))
    over = "over what it measured several times"
    if any(row.stated for row in table_rows):
        over += ", or as it states it"
    lines = [f"{tools}: its own figures; 95 %: interval {over}."]
    if not table_rows[0].configuration.is_rate:
        statistics = " or ".join(dict.fromkeys(source.statistic for source in sources))
        lines.append(f"latency: the {statistics} of its row, as the time of a message one way.")
    sized = [row.configuration.size_known for row in table_rows]
    has_bandwidth = any(row.bandwidth > 0 for row in table_rows)
    if not all(sized):
        none = "" if has_bandwidth else ", and so there is no bandwidth"
        lines.append(f"size ?: the tool does not say it{none}.")
    if any(sized) or has_bandwidth:
        both = _send_both(table_rows) and table_rows[0].configuration.is_rate
        name = _TOTAL if both else _OWN
        lines.append(f"{name}: {_summed(table_rows)}, 1 MB = 10^6 bytes.")
    return lines


def _summed(table_rows: Sequence[Row]) -> str:
    """Of which directions a bandwidth is."""
    both = _send_both(table_rows) and table_rows[0].configuration.is_rate
    return "the sum of both directions where both send" if both else "one direction"


def _samples(iteration: str, names: set[str]) -> list[str]:
    """The line about samples, where there is a column for them."""
    if "samples" not in names:
        return []
    return [_SAMPLES_SAY.format(iteration, _TAILS_SAY if names & {"p99", "max"} else "")]


def _latency(table_rows: Sequence[Row], names: set[str], rtt: bool) -> list[str]:
    round_trips = [is_round_trip(row) for row in table_rows]
    time = "round trip" if rtt else "latency"
    half = "half a round trip" if rtt else time
    whole = "of the whole iteration, of one message, or of one each way at once"
    over = states.over(table_rows)
    if not any(round_trips):
        lines = [f"latency: median {whole}; 95 %: interval of that median, {over}."]
        lines += ["first message: the first iteration, cold."] * ("first message" in names)
        lines += _samples("iteration", names)
        return [*lines, "bandwidth: size / latency, one direction, 1 MB = 10^6 bytes."]
    of = " of half a round trip" if not rtt else ""
    first = f"first message: the first iteration{', half' if not rtt else ''}, cold."
    lines = [
        f"{time}: median{of}; 95 %: interval of that median, {over}.",
        *_samples("round trip" if all(round_trips) else "iteration", names),
        f"bandwidth: size / {half}, one direction, 1 MB = 10^6 bytes.",
        *[first] * ("first message" in names),
    ]
    if not all(round_trips):
        lines.append(f"{_no_round_trips(table_rows)}: {whole}.")
    return lines


def _no_round_trips(table_rows: Sequence[Row]) -> str:
    """The patterns of rows that are no round trips, beside others that are."""
    kinds = dict.fromkeys(
        f"{row.configuration.mode} {row.configuration.pattern}"
        if row.configuration.shape.replies
        else row.configuration.pattern
        for row in table_rows
        if not is_round_trip(row)
    )
    return ", ".join(kinds)


def _could_share_a_place(row: Row) -> bool:
    """Whether it is a stream whose messages have places of their own, and need not have them."""
    configuration = row.configuration
    needs_them = configuration.verify or configuration.cache == "cold"
    shares = configuration.window == 1 or configuration.places != "own"
    has_no_memory = bool(row.source) or configuration.is_simulated
    return configuration.shape.is_stream and not (has_no_memory or shares or needs_them)


def _rate(table_rows: Sequence[Row], names: set[str]) -> list[str]:
    summed, name = _summed(table_rows), _TOTAL if _send_both(table_rows) else _OWN
    over_all_time = [row.is_over_all_time for row in table_rows]
    lines = []
    if not all(over_all_time):
        lines.append(
            f"{name}: payload that was acknowledged / time, {summed}, median, with its 95 % "
            f"interval {states.over(table_rows)}; 1 MB = 10^6 bytes. messages: likewise."
        )
    if any(over_all_time):
        of = f"{name} at a rate, and where some got lost" if lines else name
        lines.append(f"{of}: all that arrived / all the time, without an interval.")
        if all(over_all_time):
            lines.append("1 MB = 10^6 bytes. messages: likewise.")
    if any(map(_could_share_a_place, table_rows)):
        lines.append(_OWN_PLACES_SAY)
    at_peer = {
        "receiver": "receiver: by its own clock.",
        "each way": "each way: there + back, each until all of a window had come.",
    }
    if at_peer.keys() & names:
        lines.append(" ".join(text for name, text in at_peer.items() if name in names))
    which = [name for name in ("window p99", "max", "first window") if name in names]
    if which:
        lines.append(f"{', '.join(which)}: a window and its acknowledgement.")
    return lines
