"""The figures of a measurement: a slice of a configuration in one launch."""

from __future__ import annotations

from typing import NamedTuple

from halftrip.analysis.figure import Figure, figures_of
from halftrip.analysis.figures import (
    CORE_TO_CORE,
    DELIVERY,
    KERNEL_COPY,
    STATE,
    SUMMARY,
    SUSPECT,
    USAGE,
    VERIFIED,
    of_end,
)
from halftrip.analysis.setting_figures import CONFIGURATION
from halftrip.analysis.states import HostStates, RunStates, State
from halftrip.analysis.summaries import summarize_measurement
from halftrip.analysis.usage import UsedByEnds, count_suspect, used_by_ends
from halftrip.results.counts import delivered_share
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.levels import Held
from halftrip.stats.summary import Summary


class MeasuredSlice(NamedTuple):
    """A measurement, the run that it is of, its states, and its summary."""

    run: Run
    measurement: Measurement
    states: RunStates
    summary: Summary

    @classmethod
    def of(cls, run: Run, measurement: Measurement, states: RunStates) -> MeasuredSlice:
        """A measurement of a run with these states."""
        return cls(run, measurement, states, summarize_measurement(measurement))

    @property
    def state(self) -> State | None:
        """The state that held in it; None where there is one only, where it changed, and where it
        is not known."""
        host, held = self._held
        return None if host is None or held.level is None else host.states[held.level]

    @property
    def state_changed(self) -> bool | None:
        """Whether the state changed in it; None where there is one only, or none is known."""
        host, held = self._held
        return None if host is None else held.changed

    @property
    def _held(self) -> tuple[HostStates | None, Held]:
        host = self.states.of(self.measurement.configuration)
        if host is None or not host.states:
            return None, Held(None)
        return host, host.held(self.measurement)

    @property
    def used(self) -> UsedByEnds:
        """What both ends have used."""
        found = self.measurement
        delivered = delivered_share(found.configuration, found.delivery)
        return used_by_ends(found.configuration, found.usage, delivered)

    @property
    def tool(self) -> str | None:
        """The tool that measured it, where it was imported."""
        source = self.run.source_of.get(self.measurement.configuration)
        return None if source is None else source.tool

    @property
    def iterations(self) -> int | None:
        """How many iterations a sample has; None where another tool does not say."""
        found = self.measurement
        is_known = found.reported is None or found.reported.counted
        return found.iterations if is_known else None

    @property
    def core_to_core_rtt(self) -> tuple[float, float] | None:
        """The lowest and the highest core-to-core round trip beside its samples, ns."""
        rtts = self.measurement.core_to_core_rtts
        return (min(rtts), max(rtts)) if rtts else None

    def host(self, end: int) -> str | None:
        """The name of the host of one end; None where it is not known."""
        return self.run.names.hosts.get(self.measurement.configuration.pair[end])


SLICE: tuple[Figure[MeasuredSlice], ...] = (
    Figure("started", "text?", lambda of: of.run.measured, "When the run started, UTC, ISO 8601"),
    Figure("initiator_host", "text?", lambda of: of.host(0), "Name of the initiator's host"),
    Figure("responder_host", "text?", lambda of: of.host(1), "Name of the responder's host"),
    *figures_of(MeasuredSlice, lambda of: of.measurement.configuration, CONFIGURATION),
    Figure("launch", "whole", lambda of: of.measurement.launch,
           "Number of the launch of fresh processes, from 0"),
    Figure("slice", "whole", lambda of: of.measurement.slice, "Number of the slice, from 0"),
    Figure("at_s", "number?", lambda of: of.measurement.at,
           "When it began, after the launch began, s"),
    Figure("iterations", "whole?", lambda of: of.iterations, "Iterations of each of its samples"),
    Figure("messages_per_iteration", "whole",
           lambda of: of.measurement.configuration.messages_per_iteration,
           "Messages that follow each other one way in an iteration"),
    Figure("warm_up_iterations", "whole?",
           lambda of: of.measurement.warm_up and of.measurement.warm_up.iterations,
           "Iterations of calibration and warm-up"),
    Figure("warm_up_ns", "whole?", lambda of: of.measurement.warm_up and of.measurement.warm_up.ns,
           "Time of these, ns"),
    Figure("stopped", "text?", lambda of: of.measurement.stopped,
           "Why it ended: converged, time, count or full"),
    Figure("tool", "text?", lambda of: of.tool,
           "The tool that measured it, where it was imported"),
    *figures_of(MeasuredSlice, lambda of: of.summary, SUMMARY),
    *figures_of(MeasuredSlice, lambda of: of.measurement.delivery, DELIVERY),
    *figures_of(MeasuredSlice, lambda of: of.measurement.verified, VERIFIED),
    *figures_of(MeasuredSlice, lambda of: of.core_to_core_rtt, CORE_TO_CORE),
    *figures_of(MeasuredSlice, lambda of: of.measurement.kernel_copy, KERNEL_COPY),
    *figures_of(MeasuredSlice, lambda of: of.state, STATE),
    Figure("state_changed", "yes or no?", lambda of: of.state_changed,
           "Whether the state changed in it, so that it counts for none"),
    *figures_of(MeasuredSlice, lambda of: count_suspect([of.measurement]), SUSPECT),
    *figures_of(MeasuredSlice, lambda of: of.used[0], of_end(0, USAGE)),
    *figures_of(MeasuredSlice, lambda of: of.used[1], of_end(1, USAGE)),
)  # fmt: skip
