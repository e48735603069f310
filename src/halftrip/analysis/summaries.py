"""The summary of a configuration over its slices and launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery, add_deliveries, delivered_share
from halftrip.results.records import Measurement
from halftrip.results.reported import Reported, StatedInterval
from halftrip.stats import series
from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.summary import Components, SliceTimes, Summary, variance_components


def configuration_times(
    measurements: Sequence[Measurement],
    within: bool = True,
    of: ConfigurationTimes | None = None,
    known: Sequence[SliceTimes | None] | None = None,
) -> ConfigurationTimes:
    """The times of a configuration; `measurements` are its slices of all launches, at least one, or
    some of those whose times are `of`. Without the intervals `within` slices it takes half of the
    time. `known` is `slice_times` of these slices."""
    messages = measurements[0].configuration.messages_per_iteration
    # Samples are whole nanoseconds, and what was printed has a last digit.
    unit = 1.0 / (messages * max(measurement.iterations for measurement in measurements))
    unit = max([unit, *(each.reported.step for each in measurements if each.reported)])
    return series.configuration_times(measurements, unit, within, of, known)


def summarize_configuration(
    measurements: Sequence[Measurement],
    times: ConfigurationTimes | None = None,
    delivery: Delivery | None = None,
) -> Summary:
    """The summary of a configuration over the slices that count; `times` is the result of
    `configuration_times`, if it is known already, and `delivery` how many messages arrived, if that
    is not of these slices alone. Where `is_over_all_time`, the bandwidth is of all samples."""
    configuration = measurements[0].configuration
    if delivery is None:
        delivery = add_deliveries(measurement.delivery for measurement in measurements)
    delivered = delivered_share(configuration, delivery)
    summary = series.summarize_configuration(
        times or configuration_times(measurements),
        size=configuration.payload,
        first=first_message(measurements),
        delivered=delivered,
        single=all(
            measurement.iterations == 1 and measurement.reported is None
            for measurement in measurements
        ),
    )
    summary = with_reported(summary, [m.reported for m in measurements if m.reported])
    if not is_over_all_time(configuration, delivery):
        return summary
    sent = sum(
        m.samples.size * m.iterations * configuration.messages_per_iteration for m in measurements
    )
    elapsed = sum(int(m.samples.sum()) for m in measurements)
    bandwidth = configuration.payload * delivered * sent / elapsed * 1e9 if elapsed else math.nan
    return summary._replace(bandwidth=bandwidth)


def summarize_measurement(found: Measurement) -> Summary:
    """The summary of a measurement alone, without times that are of no known message."""
    reported = [found.reported] if found.reported is not None else []
    return with_known_times(summarize_configuration([found]), found.configuration, reported)


def first_message(measurements: Sequence[Measurement]) -> float:
    """The time of a message in the very first iteration, ns; NaN where it is not known."""
    first = measurements[0].first
    return (
        math.nan if first is None else first / measurements[0].configuration.messages_per_iteration
    )


def with_reported(summary: Summary, reported: Sequence[Reported]) -> Summary:
    """The summary with what another tool has reported: its bandwidths as printed, and for a single
    figure the quantiles of single exchanges, and the interval that it states."""
    if not reported:
        return summary
    rates = [each.bandwidth for each in reported if each.bandwidth is not None]
    if len(rates) == len(reported):
        summary = summary._replace(bandwidth=median(rates))
    if len(reported) > 1:
        return summary
    spread = reported[0].spread
    p90, p99, p999 = (Estimate(spread.get(name, math.nan)) for name in ("p90", "p99", "p99.9"))
    low, high = stated_estimate(summary.latency, reported)[1:]
    most = spread.get("max", math.nan)
    return summary._replace(low=low, high=high, p90=p90, p99=p99, p999=p999, max=most)


def with_known_times(
    summary: Summary, configuration: Configuration, reported: Sequence[Reported]
) -> Summary:
    """The summary without times where another tool has reported a bandwidth alone: of messages of
    no known size or rate nobody knows what one took."""
    known = not reported or configuration.size_known or not configuration.is_rate
    if known or any(each.rate is not None for each in reported):
        return summary
    return summary._replace(latency=math.nan, low=math.nan, high=math.nan)


def stated_interval(reported: Sequence[Reported]) -> StatedInterval | None:
    """The interval that the source of a single figure states of it; of several figures, these tell
    more."""
    return reported[0].interval if len(reported) == 1 else None


def stated_estimate(time: float, reported: Sequence[Reported]) -> Estimate:
    """A one-way time that another tool has printed, ns, with the interval that it states, at 95 %:
    as far as it errs normally, which these tools suppose, too."""
    stated = stated_interval(reported)
    if stated is None or not stated.low <= time <= stated.high:
        return Estimate(time)
    # Few commands read any.
    from statistics import NormalDist

    factor = NORMAL_95 / NormalDist().inv_cdf((1 + stated.level) / 2)
    return Estimate(time, time - factor * (time - stated.low), time + factor * (stated.high - time))


def is_over_all_time(configuration: Configuration, delivery: Delivery | None) -> bool:
    """Whether the bandwidth of a configuration is all bytes that arrived over all the time, and not
    that of the median window. It is so at a rate, where a sender that makes up for lost time is
    faster in many windows; and in a stream that lost datagrams, where a queue that fills up accepts
    for a while what it cannot deliver."""
    return configuration.rate is not None or (
        configuration.is_rate and delivery is not None and delivery.lost > 0
    )


def launch_components(times: ConfigurationTimes) -> Components | None:
    """The standard deviations between the launches of a configuration and between slices of one, as
    shares of the median; None with fewer than two launches. Where a launch has one slice, its
    two halves stand for slices."""
    launches = [
        [each for each in slices if each.times.size > 1] for slices in times.by_launch.values()
    ]
    launches = [slices for slices in launches if slices]
    if len(launches) < 2:
        return None
    medians = [
        [each.median.median for each in slices] if len(slices) > 1 else _of_halves(slices[0].times)
        for slices in launches
    ]
    latency = median([median(launch) for launch in medians])
    components = variance_components(medians)
    if not latency > 0:
        return None
    return Components(components.between / latency, components.within / latency)


def _of_halves(times: Floats) -> list[float]:
    """The medians of both halves of a slice of two samples or more; the first is the longer one."""
    middle = (times.size + 1) // 2
    return [median(times[:middle]), median(times[middle:])]


def kernel_copy(slices: Iterable[Measurement]) -> float | None:
    """The time of a copy beside slices of one size, ns, their median; None: none was measured."""
    known = [each.kernel_copy for each in slices if each.kernel_copy is not None]
    return median(known) if known else None
