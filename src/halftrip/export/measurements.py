"""The measurements and the samples of a run as tidy tables: CSV and Parquet have the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from halftrip.analysis.figure import Figure, fields, figures_of
from halftrip.analysis.figures import BY_NAME
from halftrip.analysis.rows import Row
from halftrip.analysis.setting_figures import extra_figures
from halftrip.analysis.slice_figures import SLICE, MeasuredSlice
from halftrip.report.document import Document
from halftrip.results.block import NO_TIMES, Times
from halftrip.texts import printable


class Measured(NamedTuple):
    """A measurement, its number in the file, and the row that it is of."""

    number: int
    row: Row
    slice: MeasuredSlice


class Found(NamedTuple):
    """A measurement: its line of the table, the times of its samples, shape (n,), ns, and how many
    iterations each of these has, with so many messages one after the other in each."""

    line: Mapping[str, Any]
    times: Times
    iterations: int
    messages: int


def _of_row(name: str, says: str) -> Figure[Measured]:
    """A figure of the row."""
    (found,) = figures_of(Measured, lambda of: of.row, [BY_NAME[name]])
    return found._replace(says=says)


MEASUREMENT: tuple[Figure[Measured], ...] = (
    Figure("measurement", "whole", lambda of: of.number,
           "Number of the measurement in this file, from 0"),
    *figures_of(Measured, lambda of: of.slice, SLICE),
    _of_row("verdict", "The verdict on its row, of all slices and launches: ok, caution or no"),
    _of_row("cause", "The cause that explains best why that is not ok"),
    _of_row("flags", "The names of the flags of its row, separated by blanks"),
)  # fmt: skip
# The columns of a sample that are those of its measurement.
_KEYS = (
    *("measurement", "transport", "pattern", "mode", "size_bytes", "pair", "thread"),
    *("launch", "slice"),
)


def _key(figure: Figure[Measured]) -> Figure[Found]:
    """A figure of the measurement for each of its samples."""
    return Figure(
        figure.name,
        figure.kind,
        lambda of: np.repeat(np.array([of.line[figure.name]]), of.times.size),
        figure.says,
    )


# Of all samples of a measurement: arrays of shape (n,).
SAMPLE: tuple[Figure[Found], ...] = (
    *(_key(each) for each in MEASUREMENT if each.name in _KEYS),
    Figure("sample", "whole", lambda of: np.arange(of.times.size),
           "Number of the sample in its measurement, from 0, in time order"),
    Figure("time_ns", "whole", lambda of: of.times, "Time of all its iterations, ns"),
    Figure("iterations", "whole", lambda of: np.full(of.times.size, of.iterations),
           "Its iterations"),
    Figure("latency_ns", "number", lambda of: of.times / (of.iterations * of.messages),
           "Time of one message of it, one way, ns"),
)  # fmt: skip


def measurement_figures(document: Document) -> list[Figure[Measured]]:
    """The columns of measurements; last, settings of plug-ins, as far as they are used."""
    extra = extra_figures(row.configuration for row in document.rows)
    others = figures_of(Measured, lambda of: of.row.configuration, extra)
    return list({each.name: each for each in (*MEASUREMENT, *others, *MEASUREMENT)}.values())


def measurements(document: Document) -> list[Found]:
    """All measurements that count, in the order of tables, then in time order."""
    every = [
        (row, each)
        for row in document.rows
        for each in document.run.by_configuration[row.configuration]
    ]
    figures, run, states = measurement_figures(document), document.run, document.states
    return [
        # Another tool has given a figure in place of samples.
        Found(
            _printable(fields(figures, Measured(number, row, MeasuredSlice.of(run, each, states)))),
            each.samples if each.reported is None else NO_TIMES,
            each.iterations,
            each.configuration.messages_per_iteration,
        )
        for number, (row, each) in enumerate(every)
    ]


def _printable(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: printable(value) if isinstance(value, str) else value for name, value in line.items()
    }
