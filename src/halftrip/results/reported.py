"""What another tool has reported of a measurement: the part of a run file that is imported."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.bounds import Amount, Count, Level, Name, Text

# What the time of a row is, of the exchanges that the tool made for it.
Statistic = Literal["mean", "median", "typical", "sum"]
# A figure of single exchanges beside the row's time: its quantiles, the least and the most, and the
# standard deviation.
Spread = Literal["min", "p50", "p90", "p99", "p99.9", "max", "stddev"]
# What else tells a configuration from others, by name and value, in the order of names.
Variant = tuple[tuple[Name, Text], ...]
# Names in a variant by which a tool, or its user, tells its tables apart: other tools have others
# for the same. All else in a variant is a setting.
TOOL = "tool"
LABELS = frozenset({TOOL, "test", "network", "benchmark"})
# Of a run that is measured against an earlier one: what its launches differ in, and how.
SIDE, BASE, NEW = "side", "base", "new"


def variant_text(variant: Variant) -> str:
    """A variant in one text: ``env.UCX_TLS tcp, mpiexec mpiexec.mpich``."""
    return ", ".join(f"{name} {value}" for name, value in variant)


class StatedInterval(msgspec.Struct, frozen=True, kw_only=True):
    """An interval that another tool has printed of a time: one-way times, ns, at a confidence
    `level`, 0.99 for 99 %, of which statistic `of` single exchanges. It is of a single run."""

    low: Amount
    high: Amount
    level: Level
    of: Statistic


class Reported(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What another tool has printed of a measurement, in line number `place` of its output.

    `figures` are the cells of its row as they were printed, by the names of its columns. `spread`
    has figures of single exchanges as one-way times, ns. `step` is the smallest difference that the
    digits of its time can show, also one way, ns. `bandwidth` is bytes per second in one direction,
    and `rate` messages per second, where it prints these and no time, or more digits of them.
    `counted`: it says how many exchanges it made, which is the measurement's `iterations`; else
    that is 1. `interval` is the one that it states of the time. `source` is the number of its table
    among the run's sources, from 0 (None: the one with its variant that `place` is in), where they
    are of several files.
    """

    place: Count
    figures: dict[Name, Text]
    spread: dict[Spread, Amount] = {}
    step: Amount = 0.0
    bandwidth: Amount | None = None
    rate: Amount | None = None
    counted: bool = False
    interval: StatedInterval | None = None
    source: Count | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A table of another tool's that has no measurements, such as a log of the system: its title,
    the names of its columns, and its cells as they were printed."""

    title: Text
    columns: list[Text]
    rows: list[list[Text]]


class Source(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="record", tag="source"
):
    """A table of another tool's output that was imported: the measurements with its `variant`.

    `tool` is its format by halftrip's name, `version` the tool's where it says so. `file` is the
    name of what was imported, and `place` the line where the table begins in it. `statistic` is
    what the time of a row is. `hosts` are the names of the ranks' hosts, by rank, `date` is when it
    was measured, ISO 8601, both as far as they are known. `warm_up` is how many exchanges were made
    before the first row (None: not known). `facts` are what else the tool has said of the table, as
    it was written, by names of its style; `listings` are tables without measurements.
    """

    tool: Name
    file: Text
    place: Count
    statistic: Statistic
    variant: Variant = ()
    version: Text | None = None
    hosts: list[Text] = []
    date: Text | None = None
    warm_up: Count | None = None
    facts: dict[Name, Text] = {}
    listings: list[Listing] = []
