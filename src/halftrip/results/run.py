"""A run: everything that a run file holds."""

from __future__ import annotations

from functools import cached_property

import msgspec

from halftrip.results.configuration import Configuration
from halftrip.results.records import (
    Again,
    Aggregate,
    Connection,
    CopyTime,
    Environment,
    Failure,
    Header,
    HostCounters,
    Measurement,
    Notice,
    RunEnd,
    Skip,
)


class Run(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a run file holds. `problems` are lines about what could not be read of it."""

    header: Header
    environments: tuple[Environment, ...] = ()
    skips: tuple[Skip, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    again: tuple[Again, ...] = ()
    failures: tuple[Failure, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    connections: tuple[Connection, ...] = ()
    copy_times: tuple[CopyTime, ...] = ()
    host_counters: tuple[HostCounters, ...] = ()
    notices: tuple[Notice, ...] = ()
    end: RunEnd | None = None
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Without the samples: there may be millions.
        configurations, taken = len(self.by_configuration), len(self.measurements)
        return f"Run({self.header.started}, {configurations} configurations, {taken} measurements)"

    @property
    def interrupted(self) -> str | None:
        """Why this run is not complete, or None if it is."""
        if self.end is None:
            return "the run ended without saying why"
        return self.end.reason

    @cached_property
    def by_configuration(self) -> dict[Configuration, list[Measurement]]:
        """The measurements of each configuration that count, in the order of the file, which is
        that of launch and slice; configurations in the order of their first measurement."""
        configurations: dict[Configuration, list[Measurement]] = {}
        for measurement in self.measurements:
            configurations.setdefault(measurement.configuration, []).append(measurement)
        for again in self.again:
            for configuration, found in configurations.items():
                newer = [m for m in found if m.launch >= again.launch]
                configurations[configuration] = newer or found
        return configurations
