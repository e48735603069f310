"""The document of a run: all that can be shown of it, computed once. Every format prints one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from rich.console import RenderableType

from halftrip.analysis.breakpoints import Breakpoint, breakpoints
from halftrip.analysis.expectation import Expectations
from halftrip.analysis.flags import Known
from halftrip.analysis.rows import Row, rows
from halftrip.analysis.single_copies import copy_times
from halftrip.analysis.states import RunStates, run_states
from halftrip.report.fields import FIELDS, curve_name, varying
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.results.records import Aggregate, Failure, Notice, Skip
from halftrip.results.run import Run
from halftrip.stats.piecewise import CurvePoint

_WITH_DIGITS = re.compile(r"\S*\d\S*")


class Baselines(NamedTuple):
    """The machine's own limits: all core-to-core round trips of the run, ns, those of the nearest
    and of the farthest page of probes that had several, and the times of a memcpy and of a
    process_vm_readv by their size in bytes, ns, the median over launches."""

    core_to_core_rtts: list[float]
    copy_times: dict[int, float]
    pages: Sequence[tuple[float, float]] = ()
    kernel_copy_times: Mapping[int, float] = MappingProxyType({})


class RowsBySize(NamedTuple):
    """The rows of a curve by size, a name that tells it from the others, and its breakpoints;
    `is_rate` is that of its configurations."""

    name: str
    is_rate: bool
    rows: dict[int, Row]
    breakpoints: tuple[Breakpoint, ...]


class Document(NamedTuple):
    """All that can be shown of a run. `latency_rows` are of patterns whose result is the time of a
    message, `rate_rows` of patterns whose result is a bandwidth, `rows` are both. `curves` has the
    curves of both, with --refine only. `aggregates` has one of each round, in the order of a
    table, `skips` are in that of the file. `warnings` are lines about what could not be read in the
    kernel's files. `round_trips`: a ping-pong is shown by its round trip, not by half of it.
    `states` are those of the machine. `expectations` are what it is judged by. `is_running`: it is
    measured still, and has no end yet."""

    run: Run
    rows: list[Row]
    latency_rows: list[Row]
    rate_rows: list[Row]
    curves: list[RowsBySize]
    aggregates: list[Aggregate]
    baselines: Baselines
    skips: list[Skip]
    failures: list[Failure]
    warnings: list[str]
    round_trips: bool
    states: RunStates
    expectations: Expectations
    is_running: bool = False

    @property
    def interrupted(self) -> str | None:
        """Why the run is not complete; None if it is, or goes on."""
        return None if self.is_running else self.run.interrupted

    @property
    def is_short(self) -> bool:
        """Whether rows may lack slices that they were to have."""
        return self.is_running or self.interrupted is not None


# A format makes of a document a text, or something that rich can print.
Format = Callable[[Document], str | RenderableType]
# A style makes of it what an older tool would have printed. Raises UsageError, which says what the
# run lacks, and how to measure it.
Style = Callable[[Document], str]


def document(
    run: Run,
    round_trips: bool = False,
    flags: bool = True,
    expectations: Expectations | None = None,
) -> Document:
    """The document of a run, with or without the `flags` of its rows. Round trips are also shown
    where its plan says so. `expectations`: None stands for those of its plan."""
    states = run_states(run)
    return _document(run, rows(run, flags, states=states), states, round_trips, expectations)


def document_so_far(
    run: Run,
    known: dict[Configuration, Known],
    expectations: Expectations | None = None,
) -> Document:
    """The document of a run that goes on, without flags. `known` is what earlier documents of it
    have found out, and gets what this one finds out: only rows that have new measurements are
    analysed anew, so that of the others what depends on all rows together is that of before."""
    states = run_states(run)
    made = _document(run, rows(run, False, known, states), states, False, expectations)
    return made._replace(is_running=True)


def _document(
    run: Run,
    all_rows: list[Row],
    states: RunStates,
    round_trips: bool,
    expectations: Expectations | None,
) -> Document:
    latency = [row for row in all_rows if not row.configuration.is_rate]
    rate = [row for row in all_rows if row.configuration.is_rate]
    curves = (
        [*_curves(latency, run.names), *_curves(rate, run.names)]
        if run.header.plan.get("refine")
        else []
    )
    return Document(
        run=run,
        rows=all_rows,
        latency_rows=latency,
        rate_rows=rate,
        curves=curves,
        aggregates=sorted(of_rounds(run.aggregates), key=_order),
        baselines=_baselines(run),
        skips=list(run.skips),
        failures=list(run.failures),
        warnings=_warnings(run.notices),
        round_trips=round_trips or bool(run.header.plan.get("rtt")),
        states=states,
        expectations=expectations or Expectations.of_plan(run.header.plan),
    )


def printed_once(notices: Iterable[Notice]) -> list[Notice]:
    """What programs have printed, each sentence of a host once: names of files and numbers of
    processes differ between launches."""
    found: dict[tuple[str, str], Notice] = {}
    for notice in notices:
        if notice.kind == "printed":
            found.setdefault((notice.host, _WITH_DIGITS.sub("", notice.text)), notice)
    return list(found.values())


def _warnings(notices: Sequence[Notice]) -> list[str]:
    """Each once."""
    printed = printed_once(notices)
    told = (each for each in notices if each.kind != "printed" or each in printed)
    return list(dict.fromkeys(map(_warning, told)))


def _warning(notice: Notice) -> str:
    text = f"{notice.host}: {notice.text}"
    return f"left out: {text}" if notice.kind == "unread" else text


def _curves(table_rows: list[Row], names: Names) -> list[RowsBySize]:
    """The curves of the rows of one table."""
    fields = varying(row.configuration for row in table_rows)
    # The pattern is also named where all rows have the same.
    pattern = [field for field in FIELDS if field.name == "pattern" and field not in fields]
    curves: dict[str, dict[int, Row]] = {}
    for row in table_rows:
        configuration = row.configuration
        name = curve_name(configuration, [*pattern, *fields], names)
        curves.setdefault(name, {})[configuration.size] = row
    return [
        RowsBySize(
            name,
            table_rows[0].configuration.is_rate,
            of_curve,
            breakpoints(CurvePoint.of(size, row.summary) for size, row in of_curve.items()),
        )
        for name, of_curve in curves.items()
    ]


def of_rounds(aggregates: Iterable[Aggregate]) -> list[Aggregate]:
    """One aggregate of all slices and launches of each round."""
    rounds: dict[tuple[Configuration, tuple[tuple[int, int], ...]], list[Aggregate]] = {}
    for aggregate in aggregates:
        rounds.setdefault((aggregate.configuration, tuple(aggregate.pairs)), []).append(aggregate)
    return [
        msgspec.structs.replace(
            of_round[0],
            spans=[span for each in of_round for span in each.spans],
            messages=[count for each in of_round for count in each.messages],
        )
        for of_round in rounds.values()
    ]


def _order(aggregate: Aggregate) -> tuple[object, ...]:
    configuration = aggregate.configuration
    return (*configuration.kind, configuration.size, aggregate.pairs)


def _baselines(run: Run) -> Baselines:
    return Baselines(
        core_to_core_rtts=[
            rtt
            for m in run.measurements
            if not m.configuration.is_simulated
            for rtt in m.core_to_core_rtts
        ],
        copy_times=copy_times(run, by_kernel=False),
        kernel_copy_times=copy_times(run, by_kernel=True),
        pages=tuple(
            (block.core_to_core_rtt.after, block.core_to_core_farthest.after)
            for m in run.measurements
            for block in m.blocks
            if block.core_to_core_rtt is not None and block.core_to_core_farthest is not None
        ),
    )
