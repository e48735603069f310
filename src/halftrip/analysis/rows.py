"""The rows of a table: the summary of each configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from halftrip.analysis.flags import Known, contradictions, evidences, evidences_of, flags_of
from halftrip.analysis.flags.flag import Evidence, Flag, typical_rtts
from halftrip.analysis.like_states import MeasuredRow, Part
from halftrip.analysis.one_way import Clocks, OneWay, one_way
from halftrip.analysis.packed_rows import RowPacker
from halftrip.analysis.states import RunStates, State, run_states
from halftrip.analysis.summaries import (
    is_over_all_time,
    kernel_copy,
    stated_interval,
    summarize_configuration,
    with_known_times,
)
from halftrip.analysis.usage import (
    MessageCost,
    UsedByEnds,
    count_suspect,
    message_costs,
    used_by_ends,
)
from halftrip.analysis.verdict import Verdict, verdict
from halftrip.forked_work import mapped, usable_cores
from halftrip.plan.setting import Of
from halftrip.plan.settings import WITH_FIELDS
from halftrip.registry import TRANSPORTS
from halftrip.results.background import BackgroundTraffic, together
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery, delivered_share
from halftrip.results.reported import Reported, Source, StatedInterval
from halftrip.results.run import Run
from halftrip.results.usage import Usage
from halftrip.stats.adjustment import Adjusted, Correlation
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median
from halftrip.stats.summary import Components, Summary, relative_width

# From this size on, bytes, the bandwidth says more than the latency.
LARGE = 64 << 10
# So many rows take longer to judge than it takes to share them out.
MANY = 3000
# So many are sent back at once.
_BATCH = 512


class Row(NamedTuple):
    """A configuration and its figures.

    `iterations` is how many a sample holds, at most. `core_to_core_rtt` is the lowest and the
    highest core-to-core round trip before and after its blocks, ns, `kernel_copy` the median time
    of a copy by the kernel beside its slices, ns; `adjusted` is the latency at
    the run's typical one, and `with_rtt` whether its level goes with it (None: not known). `flags`
    are empty where they were not asked for. `peer_bandwidth` is what the responder received by its
    own clock, bytes per second; None where it takes no times, where both send, and where
    `is_over_all_time`. Where both send, `each_way` is the bandwidth to the responder and to the
    initiator, each until the last receive of a window completed. `verified` is how many messages
    were checked and found intact; None without --verify. `one_way` are the times there and back by
    the clocks of both ends; None where these were not taken, or not compared. `usage` is the
    resource usage of the initiator and the responder (None: not known, or virtual time), `costs`
    what a message costs them by their hardware counters (None: not counted), and
    `suspect` how many samples were probably taken while one of them had lost its core (None: not
    known, or not asked for).
    `launches` is how many launches have samples, and `components` by how much they differ. `slices`
    is how many slices count, `left_out` how many do not, because the path was still warming up.
    `state` is the state of the machine that all these figures are of, where the times go with it
    (None: they are of all slices); `others` are the same rows in the other states, and empty there.
    `measured` is the whole row, in all states.
    `reported` is what another tool has printed of each of its measurements, and `source` which
    table of what was imported it is from; empty, and None, of a measurement of halftrip's.
    """

    configuration: Configuration
    summary: Summary
    iterations: int
    core_to_core_rtt: tuple[float, float] | None
    kernel_copy: float | None
    adjusted: Adjusted | None
    with_rtt: Correlation | None
    verdict: Verdict
    flags: tuple[Flag, ...]
    peer_bandwidth: float | None
    each_way: tuple[float, float] | None
    delivery: Delivery | None
    verified: int | None
    one_way: OneWay | None
    usage: tuple[Usage, Usage] | None
    costs: tuple[MessageCost | None, MessageCost | None]
    suspect: int | None
    slices: int
    left_out: int
    launches: int
    components: Components | None
    state: State | None
    others: tuple[Row, ...]
    measured: MeasuredRow
    reported: tuple[Reported, ...]
    source: Source | None

    @property
    def traffic(self) -> BackgroundTraffic | None:
        """What went on beside all its slices; None where nothing did."""
        return together(each.background for each in self.measured.measurements)

    @property
    def delivered(self) -> float:
        """The share of the messages in the samples that arrived."""
        return delivered_share(self.configuration, self.delivery)

    @property
    def stated(self) -> StatedInterval | None:
        """The interval that its source states."""
        return stated_interval(self.reported)

    @property
    def used(self) -> UsedByEnds:
        """The resource usage of both ends, with what it was for."""
        return used_by_ends(self.configuration, self.usage, self.delivered)

    @property
    def timed(self) -> Summary:
        """The summary, without times that are of no known message."""
        return with_known_times(self.summary, self.configuration, self.reported)

    @property
    def known_one_way(self) -> OneWay | None:
        """The times there and back, where the clocks are known well enough."""
        return self.one_way if self.one_way is not None and self.one_way.is_known else None

    @property
    def is_over_all_time(self) -> bool:
        """Whether the bandwidth is not that of the median window."""
        return is_over_all_time(self.configuration, self.delivery)

    @property
    def bandwidth(self) -> float:
        """Payload in all directions in which it is sent at once, bytes per second, over the time in
        which both windows were under way."""
        return self.configuration.directions * self.summary.bandwidth

    @property
    def all_pairs_bandwidth(self) -> float | None:
        """That of all pairs at once, where an imported table has that sum."""
        is_sum = self.source is not None and self.source.statistic == "sum"
        return self.configuration.concurrency * self.bandwidth if is_sum else None

    def over_time(self, value: float) -> Estimate:
        """As that of the summary; without an interval where it is over all the time."""
        return Estimate(value) if self.is_over_all_time else self.summary.over_time(value)

    @property
    def rate(self) -> float:
        """Messages per second that arrived, in the same directions; NaN where no time passed, and
        of empty messages over the whole time."""
        rates = [each.rate for each in self.reported if each.rate is not None]
        if rates:
            return self.configuration.directions * median(rates)
        if self.is_over_all_time:
            size = self.configuration.size
            return self.bandwidth / size if size else math.nan
        latency = self.timed.latency
        return (
            self.configuration.directions * self.delivered / latency * 1e9
            if latency > 0
            else math.nan
        )


def rows(
    run: Run,
    flags: bool = True,
    known: dict[Configuration, Known] | None = None,
    states: RunStates | None = None,
    many: int = MANY,
) -> list[Row]:
    """The rows of a run in the order of a table, whatever order they were measured in; with all
    their `flags`, or, which takes a fraction of the time, without. `known` and `states` are those
    of `evidences`. So `many` rows or more are judged by all cores."""
    states = states or run_states(run)
    # What is imported is little.
    is_much = known is None and not run.sources and len(run.by_configuration) >= many
    if is_much and (cores := usable_cores()) > 1:
        made = _judged_by(cores, run, flags, states)
    else:
        made = _judged_together(evidences(run, known, states), Clocks(run), flags)
    return sorted(made, key=lambda each: _order(each.configuration))


def _judged_by(cores: int, run: Run, flags: bool, states: RunStates) -> list[Row]:
    """The rows in the order of the run, judged by so many cores."""
    rows, rtts = [*run.by_configuration.items()], typical_rtts(run)
    packer: RowPacker[Row] = RowPacker(run, states)
    # Only rows of the same pair and transport are compared with each other.
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, (each, _) in enumerate(rows):
        groups.setdefault((each.pair, each.transport, each.variant), []).append(place)
    clocks = Clocks(run)

    def judged(places: Sequence[int]) -> bytes:
        found = [*evidences_of(run, [rows[place] for place in places], rtts, states)]
        made = _judged_together(found, clocks, flags)
        return packer.packed([*zip(places, made, strict=True)])

    found: dict[int, Row] = {}
    for data in mapped(judged, [*_in_batches(groups.values())], cores):
        found |= packer.unpacked(data)
    return [found[place] for place in range(len(rows))]


def _in_batches(groups: Iterable[Sequence[int]]) -> Iterator[list[int]]:
    """The groups, several small ones together."""
    batch: list[int] = []
    for group in groups:
        batch += group
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _judged_together(found: Sequence[Evidence], clocks: Clocks, flags: bool) -> list[Row]:
    """These rows, in this order; all that are compared with one of them are among them."""
    beside = contradictions(found)
    made = []
    for evidence in found:
        contradicted = beside.get(evidence.configuration, [])
        row = _judged(evidence, contradicted, clocks, flags)
        # Other rows are in the state that held most.
        others = [_judged(each, [], clocks, flags) for each in evidence.others]
        made.append(row._replace(others=tuple(others)))
    return made


def in_part(row: Row, part: Part) -> Row:
    """The row with the summary, and the width of its verdict, of a part of its slices."""
    measured = row.measured
    if part.word and (own := in_state(row, part.word)) is not None:
        return own
    if len(part.measurements) == len(measured.measurements) and row.state is None:
        return row
    summary = summarize_configuration(part.measurements, measured.times_of(part), part.delivery)
    found = row._replace(summary=summary, delivery=part.delivery, state=None, others=())
    width = 0.0 if found.is_over_all_time else relative_width(summary)
    return found._replace(verdict=row.verdict._replace(width=width))


def in_state(row: Row, word: str) -> Row | None:
    """The row in the state that is called so; None where it has no figures in it."""
    every = (row, *row.others)
    return next((each for each in every if each.state and each.state.word == word), None)


def in_every_state(found: Iterable[Row]) -> list[Row]:
    """The rows, each followed by itself in its other states."""
    return [each for row in found for each in (row, *row.others)]


def _judged(evidence: Evidence, beside: Sequence[Flag], clocks: Clocks, flags: bool) -> Row:
    row = _row(evidence, beside, clocks)
    if not flags:
        return row
    of_samples = count_suspect(evidence.measurements)
    return row._replace(flags=flags_of(evidence, beside), suspect=of_samples)


# The settings whose rows stand apart; those of the others stand size by size.
_BEFORE_SIZE = [each.of for each in WITH_FIELDS.values() if each.before_size]
_AFTER_SIZE = [each.of for each in WITH_FIELDS.values() if not each.before_size]


def _values(configuration: Configuration, settings: Iterable[Of]) -> Iterator[tuple[Any, ...]]:
    """Values that can be compared, also where one is None, or a number unknown."""
    values = (of(configuration) for of in settings)
    return ((value is not None, isinstance(value, str), value) for value in values)


def _order(configuration: Configuration) -> tuple[Any, ...]:
    who = configuration.concurrency, configuration.pair, configuration.thread
    setting = _order_of_setting(configuration.setting)
    cores = ((end.core is not None, end.core or 0) for end in configuration.ends)
    return (*TRANSPORTS.place(configuration.transport), *who, *setting, *cores)


# Of a map of pairs, all rows have the same.
@lru_cache(maxsize=1024)
def _order_of_setting(setting: Configuration) -> tuple[Any, ...]:
    return (
        setting.pattern,
        setting.mode,
        *_values(setting, _BEFORE_SIZE),
        # Those of plug-ins: numbers before texts.
        [(name, isinstance(value, str), value) for name, value in setting.extra],
        setting.variant,
        setting.size,
        *_values(setting, _AFTER_SIZE),
        str(msgspec.structs.astuple(setting)),
    )


def _row(evidence: Evidence, beside: Sequence[Flag], clocks: Clocks) -> Row:
    measurements, rtts = evidence.measurements, evidence.rtts
    return Row(
        configuration=evidence.configuration,
        summary=evidence.summary,
        iterations=max(measurement.iterations for measurement in measurements),
        core_to_core_rtt=(min(rtts), max(rtts)) if rtts else None,
        kernel_copy=kernel_copy(measurements),
        adjusted=evidence.adjusted,
        with_rtt=evidence.with_rtt,
        verdict=verdict(evidence, beside[0] if beside else None),
        flags=(),
        peer_bandwidth=_peer_bandwidth(evidence),
        each_way=_each_way(evidence),
        delivery=evidence.delivery,
        verified=_total([m.verified for m in measurements]),
        one_way=_one_way(evidence, clocks),
        usage=evidence.usage,
        costs=message_costs(evidence.run.counted_by_configuration.get(evidence.configuration, ())),
        suspect=None,
        slices=sum(evidence.times.counted),
        left_out=len(evidence.times.counted) - sum(evidence.times.counted),
        launches=len(evidence.times.by_launch),
        components=evidence.components,
        state=evidence.state,
        others=(),
        measured=evidence.measured,
        reported=tuple(m.reported for m in measurements if m.reported is not None),
        source=evidence.run.source_of.get(evidence.configuration),
    )


def _one_way(evidence: Evidence, clocks: Clocks) -> OneWay | None:
    sampled = [m for m in evidence.measurements if m.samples.size]
    counted = [m for m, counts in zip(sampled, evidence.times.counted, strict=True) if counts]
    return one_way(clocks, counted, evidence.summary.latency)


def _peer_bandwidth(evidence: Evidence) -> float | None:
    # The receiver's median window is no better than the sender's where all the time counts.
    if evidence.configuration.directions == 2 or evidence.is_over_all_time:
        return None
    return _bandwidth(
        evidence.configuration, [(m.peer_median, m.iterations) for m in evidence.measurements]
    )


def _each_way(evidence: Evidence) -> tuple[float, float] | None:
    medians = [(m.receive_medians or (None, None), m.iterations) for m in evidence.measurements]
    there, back = (
        _bandwidth(
            evidence.configuration, [(both[end], iterations) for both, iterations in medians]
        )
        for end in (0, 1)
    )
    return None if there is None or back is None else (there, back)


def _bandwidth(
    configuration: Configuration, samples: Iterable[tuple[float | None, int]]
) -> float | None:
    """The bandwidth of the median of several measurements, of each of which the median sample is
    given: its time, ns (None: not known), and how many iterations it holds."""
    messages = configuration.messages_per_iteration
    times = [ns / (iterations * messages) for ns, iterations in samples if ns]
    return configuration.payload / median(times) * 1e9 if times else None


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def by_limit(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each limit on the pairs that talk at the same time, the smallest first. A round
    may have fewer pairs than its limit allows, so that a row does not tell its limit: it is told by
    what else was measured of the same pair."""
    same: dict[tuple[Configuration, tuple[int, int], int], list[Row]] = {}
    for row in rows:
        each = row.configuration
        same.setdefault((each.setting, each.pair, each.thread), []).append(row)
    ordered = [
        sorted(found, key=lambda row: row.configuration.concurrency) for found in same.values()
    ]
    most = max(map(len, ordered), default=0)
    return [[found[i] for found in ordered if len(found) > i] for i in range(most)]


def least(rows: Sequence[Row]) -> list[Row]:
    """The rows of each pair with the fewest pairs at the same time."""
    return next(iter(by_limit(rows)), [])
