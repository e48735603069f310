"""What a history needs of a run: the figure of each row, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from halftrip.analysis.doubts import Doubt, doubts
from halftrip.analysis.flags import Evidence, evidences
from halftrip.analysis.like_states import MeasuredRow, Part
from halftrip.analysis.states import Quantity, run_states
from halftrip.analysis.summaries import summarize_configuration
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median


class LevelFigure(NamedTuple):
    """The figure of a row while a `quantity` of the machine was at `level`, in its unit."""

    quantity: Quantity
    level: float
    figure: Estimate


class RunFigures(NamedTuple):
    """What a history needs of a run: a name, when it was measured, its environment (`run` has no
    measurements), the figure of each row (the latency, ns, or the bandwidth, bytes per second), and
    its median core-to-core round trip, ns (NaN: not known). `levels` has the figures of a row by
    the level of the machine that they were measured at, the one that held most first; none where it
    is not known, and of a row that does not go with it. `goes` says of rows whether they go with
    the level, where the run shows it; `doubts` how far they can be trusted."""

    name: str
    measured: datetime
    run: Run
    figures: Mapping[Configuration, Estimate]
    core_to_core_rtt: float
    levels: Mapping[Configuration, Sequence[LevelFigure]] = {}
    goes: Mapping[Configuration, bool] = {}
    doubts: Mapping[Configuration, Sequence[Doubt]] = {}


def is_bandwidth(configuration: Configuration) -> bool:
    """Whether the figure of a configuration is its bandwidth: there is none of empty messages."""
    return configuration.is_rate and configuration.size > 0


def run_figures(name: str, run: Run) -> RunFigures:
    """What a history needs of a run, which may have millions of samples."""
    states = run_states(run)
    evidence = evidences(run, states=states)
    measured = {each.configuration.without_cores: each for each in evidence}
    measurements: dict[Configuration, list[Measurement]] = {}
    for configuration, found in run.by_configuration.items():
        measurements.setdefault(configuration.without_cores, []).extend(found)
    figures: dict[Configuration, Estimate] = {}
    levels: dict[Configuration, list[LevelFigure]] = {}
    goes: dict[Configuration, bool] = {}
    for configuration, found in measurements.items():
        own = measured.get(configuration)
        if own is None or len(own.measured.measurements) < len(found):
            # It was measured on several cores.
            own = None
            row = MeasuredRow(configuration, found, states.of(configuration), within=True)
        else:
            row = own.measured
        made = [(part, _figure(row, part, own)) for part in row.parts]
        known = [(part, figure) for part, figure in made if figure is not None]
        whole = made[0][1] if len(made) == 1 else _figure(row, row.whole, own)
        if whole is not None:
            figures[configuration] = whole
        if row.goes_with_state is not None:
            goes[configuration] = row.goes_with_state
        levels[configuration] = [
            LevelFigure(part.quantity, part.level.middle, figure)
            for part, figure in known
            if part.quantity is not None and part.level is not None
        ]
    rtts = [
        rtt
        for measurement in run.measurements
        if not measurement.configuration.is_simulated
        for rtt in measurement.core_to_core_rtts
    ]
    moment = datetime.fromisoformat(run.header.started)
    return RunFigures(
        name=name,
        measured=moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        run=msgspec.structs.replace(
            run, measurements=(), failures=(), aggregates=(), host_counters=()
        ),
        figures=figures,
        core_to_core_rtt=median(rtts) if rtts else math.nan,
        levels=levels,
        goes=goes,
        doubts=doubts(evidence),
    )


def _figure(row: MeasuredRow, part: Part, known: Evidence | None) -> Estimate | None:
    """The figure of these slices of a row; None where it has none above 0. `known` is what was
    found of it before."""
    configuration = row.configuration
    if known is not None and known.measurements is part.measurements:
        summary = known.summary
    else:
        summary = summarize_configuration(part.measurements, row.times_of(part), part.delivery)
    found = summary.time
    if is_bandwidth(configuration):
        found = summary.over_time(configuration.directions * summary.bandwidth)
    return found if 0 < found.value < math.inf else None
