"""A flag: a reason to doubt a row; and the evidence from which the rules find one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.adjustment import Probed, adjusted_latency, typical_rtts
from halftrip.analysis.summaries import (
    configuration_times,
    is_over_all_time,
    summarize_configuration,
)
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery, add_deliveries
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.usage import Usage, add_both_ends
from halftrip.stats.adjustment import Adjusted, Correlation, rank_correlation
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.summary import Summary
from halftrip.units import significant

# The rules need this many samples of a slice, as warm-up does.
FEWEST = 24


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


class Evidence(NamedTuple):
    """What is known of one row of a run: its measurements, one for each slice, their times, its
    summary, its latency at the run's typical core-to-core round trip (None: not known), how many of
    its messages arrived, the resource usage of both ends, and the core-to-core round trips, ns,
    with their median (None: none is known)."""

    run: Run
    configuration: Configuration
    measurements: Sequence[Measurement]
    times: ConfigurationTimes
    summary: Summary
    adjusted: Adjusted | None
    delivery: Delivery | None
    usage: tuple[Usage, Usage] | None
    rtts: Sequence[float]
    median_rtt: float | None

    @property
    def is_over_all_time(self) -> bool:
        """Whether the bandwidth is not that of the median window; see `summaries`."""
        return is_over_all_time(self.configuration, self.delivery)

    @property
    def usage_by_rank(self) -> list[tuple[int, Usage]]:
        """The ranks of both ends and their usage; empty where it is not known."""
        return (
            []
            if self.usage is None
            else list(zip(self.configuration.pair, self.usage, strict=True))
        )

    @property
    def with_rtt(self) -> Correlation | None:
        """Whether the medians of slices go with the core-to-core round trip."""
        return rank_correlation(self.times.rtts, [each.median.median for each in self.times.slices])

    @property
    def steady(self) -> list[Floats]:
        """The times of each slice that counts."""
        return self.times.steady


def evidence(
    run: Run,
    configuration: Configuration,
    measurements: Sequence[Measurement],
    typical: dict[Probed, float] | None = None,
) -> Evidence:
    """The evidence of one row; `measurements` are all those of its configuration, at least one.
    `typical` has the typical round trip of each pair, where that is known already."""
    times = configuration_times(measurements)
    rtts = [rtt for measurement in measurements for rtt in measurement.core_to_core_rtts]
    return Evidence(
        run=run,
        configuration=configuration,
        measurements=measurements,
        times=times,
        summary=summarize_configuration(measurements, times),
        adjusted=adjusted_latency(
            times, typical_rtts(run) if typical is None else typical, configuration
        ),
        delivery=add_deliveries(measurement.delivery for measurement in measurements),
        usage=add_both_ends(measurement.usage for measurement in measurements),
        rtts=rtts,
        median_rtt=median(rtts) if rtts else None,
    )


def us(ns: float) -> str:
    """A time in the text of a flag."""
    return f"{significant(ns / 1e3, 3)} us"


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 sample``, ``1,234 samples``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """A share in the text of a flag; ``anything`` for an infinite one."""
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else "anything"
