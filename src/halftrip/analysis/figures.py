"""The figures: what a row says, and a slice of one. Each stands here once, with its name, its
value, what it is, and how tables show it; CSV, JSON, frames, Parquet, metrics, the schema and the
columns of tables are made of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halftrip.analysis.figure import (
    ALWAYS,
    BRIEF,
    MORE,
    NOT_SHOWN,
    VERDICT,
    Figure,
    Metric,
    Of,
    Shown,
    TableKind,
    fields,
    figures_of,
)
from halftrip.analysis.rows import Row
from halftrip.analysis.setting_figures import CONFIGURATION, with_extra
from halftrip.analysis.states import QUANTITIES, Quantity, State
from halftrip.analysis.usage import ENDS, EndUsage, MessageCost
from halftrip.results.background import BackgroundTraffic
from halftrip.results.counts import Delivery
from halftrip.results.usage import CoreUse
from halftrip.stats.summary import Summary

_LOW = "Lower end of the 95 % confidence interval of "
_HIGH = "Upper end of the 95 % confidence interval of "
_LATENCY: tuple[TableKind, ...] = ("latency",)
_RATE: tuple[TableKind, ...] = ("rate",)
_DELIVERY: tuple[TableKind, ...] = ("delivery",)
_WAYS_SAY = (
    "there, back: the message and its reply, one way each, by the clocks of both ends; if these "
    "are wrong by the clock error, one is too long by it, and the other too short."
)
_ADJUSTED_SAYS = (
    "adjusted: the latency at the core-to-core round trip that is typical of this run, by a robust "
    "regression over slices; compare rows by it."
)


def _quantile(
    name: str, words: str, shown: Shown = NOT_SHOWN, metric: Metric | None = None
) -> tuple[Figure[Summary], ...]:
    """A quantile, and both ends of its interval."""
    of = f"{name}_ns, ns"
    return (
        Figure(f"{name}_ns", "number?", lambda summary: getattr(summary, name).value,
               f"{words} percentile of the times of single messages, one way, ns", shown, metric),
        Figure(f"{name}_low_ns", "number?", lambda summary: getattr(summary, name).low, _LOW + of),
        Figure(f"{name}_high_ns", "number?", lambda summary: getattr(summary, name).high,
               _HIGH + of),
    )  # fmt: skip


SUMMARY: tuple[Figure[Summary], ...] = (
    Figure("latency_ns", "number?", lambda of: of.latency,
           "Median time of one message, one way; of a stream, of one of many, ns",
           Shown("latency", "us", ALWAYS, None, tables=_LATENCY, doubles=True),
           Metric("latency_seconds", "seconds", "Time of one message, one way.")),
    Figure("low_ns", "number?", lambda of: of.low, f"{_LOW}latency_ns, ns",
           metric=Metric("latency_low_seconds", "seconds", f"{_LOW}the latency.")),
    Figure("high_ns", "number?", lambda of: of.high, f"{_HIGH}latency_ns, ns",
           metric=Metric("latency_high_seconds", "seconds", f"{_HIGH}the latency.")),
    *_quantile("p90", "90th"),
    *_quantile("p99", "99th", Shown("p99", "us", BRIEF, tables=_LATENCY, doubles=True),
               Metric("latency_p99_seconds", "seconds",
                      "99th percentile of the time of one message, one way.")),
    *_quantile("p999", "99.9th"),
    Figure("max_ns", "number?", lambda of: of.max, "Longest time of a single message, one way, ns",
           Shown("max", "us", MORE + 3, tables=_LATENCY, doubles=True)),
    Figure("bandwidth_bytes_per_s", "number?", lambda of: of.bandwidth,
           "Payload that arrived in one direction, bytes per second",
           Shown("bandwidth", "MB/s", BRIEF, None, tables=_LATENCY, most=4),
           Metric("bandwidth_bytes_per_second", "bytes_per_second",
                  "Payload that arrived in one direction.")),
    Figure("first_message_ns", "number?", lambda of: of.first,
           "Time of a message of the very first iteration, one way, ns",
           Shown("first message", "us", MORE + 5, tables=_LATENCY, doubles=True)),
    Figure("samples", "whole", lambda of: of.samples, "Number of samples",
           Shown("samples", rank=MORE + 1, tables=())),
)  # fmt: skip
DELIVERY: tuple[Figure[Delivery], ...] = (
    Figure("sent", "whole?", lambda of: of.sent, "Datagrams sent in the samples",
           Shown("sent", tables=_DELIVERY)),
    Figure("lost", "whole?", lambda of: of.lost, "Datagrams of these that did not arrive"),
    Figure("reordered", "whole?", lambda of: of.reordered,
           "Datagrams that arrived after a later one"),
    Figure("jitter_ns", "number?", lambda of: of.jitter,
           "Variation of the time between datagrams, ns", Shown("jitter", "us", tables=_DELIVERY)),
)  # fmt: skip
# Of several lists of figures: how many messages were checked, the core-to-core round trips, and how
# many samples are suspect.
VERIFIED: tuple[Figure[int], ...] = (
    Figure("verified", "whole?", lambda of: of, "Messages that were checked and found intact",
           Shown("verified", says="verified: messages of which every byte was looked at and found "
                 "as it was sent.", tables=())),
)  # fmt: skip
KERNEL_COPY: tuple[Figure[float], ...] = (
    Figure("kernel_copy_ns", "number?", lambda of: of,
           "One copy of a message by process_vm_readv beside its slices, ns, median"),
)  # fmt: skip
CORE_TO_CORE: tuple[Figure[tuple[float, float]], ...] = (
    Figure("core_to_core_low_ns", "number?", lambda of: of[0],
           "Lowest core-to-core round trip beside its samples, ns"),
    Figure("core_to_core_high_ns", "number?", lambda of: of[1],
           "Highest core-to-core round trip beside its samples, ns"),
)  # fmt: skip


def _at(quantity: Quantity) -> Figure[State]:
    """What a reading of a quantity is in a state of it."""
    return Figure(
        f"state_{quantity.field}",
        "number?",
        lambda of: of.value if of.quantity is quantity else None,
        f"Median {quantity.name} reading of that state, {quantity.unit}",
    )


STATE: tuple[Figure[State], ...] = (
    Figure("state", "text?", lambda of: of.word,
           "State of the machine that its figures are of: near, far, or one in between; empty if "
           "they are of all slices", Shown("state", rank=ALWAYS)),
    *map(_at, QUANTITIES),
    Figure("state_share", "number?", lambda of: of.level.share,
           "How much of the run it held, as a share of all readings"),
)  # fmt: skip
TRAFFIC: tuple[Figure[BackgroundTraffic], ...] = (
    Figure("background_bytes_per_s", "number?", lambda of: of.bandwidth,
           "Payload that the background moved meanwhile, in all directions, bytes per second",
           Shown("beside", "MB/s", BRIEF,
                 says="beside: what the background moved meanwhile, in all directions.")),
    Figure("background_running", "number?", lambda of: of.running,
           "Share of the time of the samples in which all of the background was running"),
    Figure("background_load", "number?", lambda of: of.load,
           "CPU time of the background over elapsed time, at the end that spent more",
           Shown("its load", "%")),
    Figure("background_own_cores", "yes or no?", lambda of: of.own_cores,
           "Whether the background had cores of its own"),
)  # fmt: skip
SUSPECT: tuple[Figure[int], ...] = (
    Figure("suspect_samples", "whole?", lambda of: of,
           "Samples probably taken while an end had lost its core",
           Shown("suspect", "samples", tables=())),
)  # fmt: skip


def _of_core(of: Callable[[CoreUse], Any]) -> Callable[[EndUsage], Any]:
    return lambda end: None if end.usage.core is None else of(end.usage.core)


USAGE: tuple[Figure[EndUsage], ...] = (
    Figure("load", "number?", lambda of: of.usage.load, "CPU time over elapsed time",
           Shown("load", "%", BRIEF)),
    Figure("elapsed_s", "number?", lambda of: of.usage.elapsed,
           "Time in the loops, timed and untimed, s", Shown("elapsed", "s")),
    Figure("user_s", "number?", lambda of: of.usage.user, "CPU time in user mode, s"),
    Figure("system_s", "number?", lambda of: of.usage.system, "CPU time in the kernel, s"),
    Figure("kernel_share", "number?", lambda of: of.usage.kernel_share,
           "Share of the CPU time that was in the kernel", Shown("in kernel", "% of load")),
    Figure("cpu_s_per_gb", "number?", lambda of: of.cpu_per_gigabyte,
           "CPU time for each 10^9 bytes of payload that arrived, s", Shown("CPU", "s/GB", BRIEF)),
    Figure("busy_poll", "yes or no?", lambda of: of.usage.is_busy_poll,
           "Whether it polled while it waited"),
    Figure("voluntary_switches", "whole?", lambda of: of.usage.voluntary,
           "Voluntary context switches", Shown("voluntary", "switches")),
    Figure("involuntary_switches", "whole?", lambda of: of.usage.involuntary,
           "Involuntary context switches", Shown("involuntary", "switches")),
    Figure("minor_faults", "whole?", lambda of: of.usage.minor_faults, "Page faults without I/O",
           Shown("minor", "faults", is_rare=True)),
    Figure("major_faults", "whole?", lambda of: of.usage.major_faults, "Page faults with I/O",
           Shown("major", "faults", is_rare=True)),
    Figure("peak_memory_bytes", "whole?", lambda of: of.usage.peak_memory,
           "Largest resident set so far, bytes", Shown("peak memory", "MiB")),
    Figure("waited_share", "number?", lambda of: of.usage.waited_share,
           "Share of the elapsed time in which it was ready and had no core", Shown("waited", "%")),
    Figure("others_share", "number?", lambda of: of.usage.others_share,
           "Share of the time in which other tasks had its core", Shown("others", "%")),
    Figure("interrupts_share", "number?", lambda of: of.usage.interrupts_share,
           "Share of the time in which interrupts had its core",
           Shown("interrupts", "%", is_rare=True)),
    Figure("unaccounted_share", "number?", lambda of: of.usage.unaccounted_share,
           "Share of the time in which it is not known who had its core",
           Shown("unaccounted", "%", is_rare=True)),
    Figure("throttled_share", "number?", lambda of: of.usage.throttled_share,
           "Share of the time for which a CPU quota stopped it",
           Shown("throttled", "%", is_rare=True)),
    Figure("steal_share", "number?", lambda of: of.usage.steal_share,
           "Share of the time in which the hypervisor had its core", Shown("steal", "%")),
    Figure("core", "whole?", _of_core(lambda core: core.number), "Number of its core"),
    Figure("busiest_task", "text?",
           _of_core(lambda core: core.busiest_task and core.busiest_task.name),
           "The task of other programs that used its core most"),
    Figure("frequency_hz", "number?", _of_core(lambda core: core.hertz),
           "Frequency of its core, hertz", Shown("frequency", "GHz")),
    Figure("energy_j", "number?", _of_core(lambda core: core.joules),
           "Energy of its processor, joules", Shown("energy", "J")),
)  # fmt: skip


def _per_message(
    name: str, words: str, per_byte: Shown = NOT_SHOWN
) -> tuple[Figure[MessageCost], ...]:
    """A counter's count for each message, with both ends of its interval, and for each byte."""
    return (
        Figure(f"{name}_per_message", "number?", lambda cost: getattr(cost, name).value,
               f"{words} for each message"),
        Figure(f"{name}_per_message_low", "number?", lambda cost: getattr(cost, name).low,
               f"{_LOW}these"),
        Figure(f"{name}_per_message_high", "number?", lambda cost: getattr(cost, name).high,
               f"{_HIGH}these"),
        Figure(f"{name}_per_byte", "number?", lambda cost: cost.per_byte(getattr(cost, name)),
               f"{words} for each byte of payload", per_byte),
    )  # fmt: skip


COSTS: tuple[Figure[MessageCost], ...] = (
    *_per_message("instructions", "Instructions", Shown("instructions", "per byte", BRIEF)),
    *_per_message("cycles", "Cycles of the core"),
    Figure("instructions_per_cycle", "number?", lambda of: of.per_cycle,
           "Instructions for each cycle", Shown("instructions", "per cycle")),
    Figure("counted", "text?", lambda of: of.counted,
           "Where instructions and cycles were counted: user or all"),
)  # fmt: skip


def row_fields(row: Row) -> dict[str, Any]:
    """All figures of a row by name; last, settings of plug-ins, as far as it has them."""
    return with_extra(fields(FIGURES, row), row.configuration)


def of_end(number: int, figures: Sequence[Figure[Of]]) -> tuple[Figure[Of], ...]:
    """The figures of one end of a pair, 0 or 1, by names that begin with it. Tables that have them
    have a line for each end; metrics have none."""
    end = ENDS[number]
    return tuple(
        Figure(f"{end}_{each.name}", each.kind, each.of, f"{each.says}; of the {end}")
        for each in figures
    )


FIGURES: tuple[Figure[Row], ...] = (
    *figures_of(Row, lambda row: row.configuration, CONFIGURATION),
    *figures_of(Row, lambda row: row.timed, SUMMARY),
    Figure("statistic", "text", lambda row: row.source.statistic if row.source else "median",
           "What latency_ns is of the iterations: median, or what an imported table says"),
    Figure("stated_low_ns", "number?", lambda row: row.stated and row.stated.low,
           "Lower end of the interval of latency_ns that an imported table states, ns"),
    Figure("stated_high_ns", "number?", lambda row: row.stated and row.stated.high,
           "Upper end of the interval of latency_ns that an imported table states, ns"),
    Figure("stated_level", "number?", lambda row: row.stated and row.stated.level,
           "Confidence level of that interval, a share"),
    Figure("slices", "whole", lambda row: row.slices, "Slices that count"),
    Figure("left_out_slices", "whole", lambda row: row.left_out,
           "Slices that do not, since the path was still warming up"),
    Figure("iterations_per_sample", "whole", lambda row: row.iterations,
           "Iterations of a sample, at most"),
    Figure("messages_per_s", "number?", lambda row: row.rate,
           "Messages that arrived, in all directions together, per second",
           Shown("messages", "10^6/s", BRIEF, tables=_RATE),
           Metric("messages_per_second", "messages_per_second",
                  "Messages that arrived, in all directions together.")),
    Figure("total_bandwidth_bytes_per_s", "number?", lambda row: row.bandwidth,
           "Payload in all directions together, bytes per second",
           Shown("bandwidth", "MB/s", ALWAYS, None, tables=_RATE)),
    Figure("all_pairs_bandwidth_bytes_per_s", "number?", lambda row: row.all_pairs_bandwidth,
           "Payload of all pairs at once, bytes per second: the sum that an imported table has",
           Shown("all pairs", "MB/s", ALWAYS, tables=_RATE,
                 says="all pairs: the sum that is printed; a row is the mean of a pair.")),
    Figure("peer_bandwidth_bytes_per_s", "number?", lambda row: row.peer_bandwidth,
           "Bandwidth by the responder's clock, bytes per second",
           Shown("receiver", "MB/s", MORE + 3, tables=_RATE)),
    Figure("bandwidth_there_bytes_per_s", "number?", lambda row: row.each_way and row.each_way[0],
           "To the responder, where both send, bytes per second"),
    Figure("bandwidth_back_bytes_per_s", "number?", lambda row: row.each_way and row.each_way[1],
           "To the initiator, where both send, bytes per second"),
    *figures_of(Row, lambda row: row.delivery, DELIVERY),
    *figures_of(Row, lambda row: row.verified, VERIFIED),
    Figure("launches", "whole", lambda row: row.launches, "Launches that have samples"),
    Figure("between_launches", "number?", lambda row: row.components and row.components.between,
           "Standard deviation between launches, share of the median"),
    Figure("within_launches", "number?", lambda row: row.components and row.components.within,
           "Standard deviation between slices of a launch, share of the median"),
    *figures_of(Row, lambda row: row.core_to_core_rtt, CORE_TO_CORE),
    *figures_of(Row, lambda row: row.kernel_copy, KERNEL_COPY),
    *figures_of(Row, lambda row: row.state, STATE),
    Figure("adjusted_latency_ns", "number?", lambda row: row.adjusted and row.adjusted.median,
           "Latency at the run's typical core-to-core round trip, ns",
           Shown("adjusted", "us", MORE + 6, None, says=_ADJUSTED_SAYS, tables=_LATENCY,
                 doubles=True)),
    Figure("adjusted_latency_low_ns", "number?", lambda row: row.adjusted and row.adjusted.low,
           "Lower end of the interval of adjusted_latency_ns, ns"),
    Figure("adjusted_latency_high_ns", "number?", lambda row: row.adjusted and row.adjusted.high,
           "Upper end of the interval of adjusted_latency_ns, ns"),
    Figure("there_ns", "number?", lambda row: row.known_one_way and row.known_one_way.there,
           "Time to the responder by the clocks of both ends, ns",
           Shown("there", "us", MORE + 4, None, says=_WAYS_SAY, tables=_LATENCY)),
    Figure("back_ns", "number?", lambda row: row.known_one_way and row.known_one_way.back,
           "Time to the initiator by the clocks of both ends, ns",
           Shown("back", "us", MORE + 4, None, tables=_LATENCY)),
    Figure("clock_error_ns", "number?", lambda row: row.one_way and row.one_way.error,
           "How far the clocks may be apart in there_ns and back_ns, ns"),
    *figures_of(Row, lambda row: row.traffic, TRAFFIC),
    *figures_of(Row, lambda row: row.suspect, SUSPECT),
    *figures_of(Row, lambda row: row.used[0], of_end(0, USAGE)),
    *figures_of(Row, lambda row: row.used[1], of_end(1, USAGE)),
    *figures_of(Row, lambda row: row.costs[0], of_end(0, COSTS)),
    *figures_of(Row, lambda row: row.costs[1], of_end(1, COSTS)),
    Figure("verdict", "text", lambda row: row.verdict.word,
           "Whether its figures can be trusted: ok, caution or no",
           Shown(VERDICT, rank=ALWAYS, tables=())),
    Figure("cause", "text?", lambda row: row.verdict.cause and row.verdict.cause.name,
           "The cause that explains best why not",
           Shown("cause", rank=BRIEF, tables=())),
    Figure("flags", "text", lambda row: " ".join(flag.name for flag in row.flags),
           "The names of its flags, separated by blanks"),
)  # fmt: skip
BY_NAME = {each.name: each for each in FIGURES}
