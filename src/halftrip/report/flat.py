"""Rows for programs: one level of figures, with names that end in their unit."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from halftrip.analysis.counters import cost_fields
from halftrip.analysis.rows import Row
from halftrip.analysis.usage import usage_figures
from halftrip.results.configuration import (
    TUNABLE,
    TUNING,
    UNTUNED,
    Configuration,
    TuningField,
)
from halftrip.results.reported import Variant
from halftrip.stats.summary import Summary
from halftrip.stats.tails import Quantile
from halftrip.units import with_units

# What a column of that name says is how much of its time an end polled.
_TUNING = {"busy_poll": "socket_busy_poll"}


def or_none(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return None if math.isnan(value) else value


def configuration_fields(configuration: Configuration) -> dict[str, Any]:
    """The fields of a configuration. Settings of both ends are texts such as ``spin``, or
    ``spin:block``."""
    fields = msgspec.structs.asdict(configuration)
    return {
        "transport": configuration.transport,
        "pattern": configuration.pattern,
        "mode": configuration.mode,
        "size": configuration.known_size,
        "memory": configuration.both_ends("memory"),
        "buffers": configuration.buffers,
        "pages": configuration.both_ends("pages"),
        "cache": configuration.cache,
        "wait": configuration.both_ends("wait"),
        "pair": "-".join(map(str, configuration.pair)),
        **{
            name: fields[name]
            for name in ("window", "align", "datatype", "rate", "verify", "thread")
        },
        "concurrency": configuration.concurrency,
        "places": configuration.message_places,
        "touch": configuration.touch,
        "delay": configuration.delay,
        **{
            name: fields[name]
            for name in ("object", "socket", "ownership", "staging", "device_copy")
        },
        **{_TUNING.get(name, name): _tuning(configuration, name) for name in TUNING},
        "variant": variant_text(configuration.variant),
    }


def curve_fields(curve: Configuration) -> dict[str, Any]:
    """The fields of a curve, which has no size; names end in units."""
    fields = configuration_fields(curve)
    del fields["size"]
    return with_units(fields)


def variant_text(variant: Variant) -> str:
    """A variant in one text: ``env.UCX_TLS tcp, mpiexec mpiexec.mpich``."""
    return ", ".join(f"{name} {value}" for name, value in variant)


def _tuning(configuration: Configuration, name: TuningField) -> int | bool | str | None:
    """A setting of sockets; None where the transport has no such one."""
    value: int | bool | str = getattr(configuration.tuning, name)
    has_it = name in TUNABLE.get(configuration.transport, ())
    return value if has_it or value != getattr(UNTUNED, name) else None


def summary_fields(summary: Summary) -> dict[str, Any]:
    """The figures of a summary by name; None for one that does not exist."""
    fields: dict[str, Any] = {}
    for name, value in summary._asdict().items():
        if name == "first":
            fields["first_message"] = or_none(value)
        elif isinstance(value, Quantile):
            fields[name] = or_none(value.value)
            fields[f"{name}_low"] = or_none(value.low)
            fields[f"{name}_high"] = or_none(value.high)
        else:
            fields[name] = or_none(value)
    return fields


def flat(row: Row) -> dict[str, Any]:
    """The figures of a row by name; None for one that does not exist."""
    low, high = row.core_to_core_rtt if row.core_to_core_rtt is not None else (None, None)
    way = row.one_way
    figures = {
        **summary_fields(row.summary),
        "statistic": row.source.statistic if row.source else "median",
        "slices": row.slices,
        "left_out_slices": row.left_out,
        "iterations_per_sample": row.iterations,
        "messages": or_none(row.rate),
        "total_bandwidth": or_none(row.bandwidth),
        "peer_bandwidth": row.peer_bandwidth,
        "bandwidth_there": row.each_way[0] if row.each_way else None,
        "bandwidth_back": row.each_way[1] if row.each_way else None,
        "sent": row.delivery.sent if row.delivery else None,
        "lost": row.delivery.lost if row.delivery else None,
        "reordered": row.delivery.reordered if row.delivery else None,
        "jitter": row.delivery.jitter if row.delivery else None,
        "verified": row.verified,
        "launches": row.launches,
        "between_launches": or_none(row.components.between) if row.components else None,
        "within_launches": or_none(row.components.within) if row.components else None,
        "core_to_core_low": low,
        "core_to_core_high": high,
        "adjusted_latency": row.adjusted.median if row.adjusted else None,
        "adjusted_latency_low": row.adjusted.low if row.adjusted else None,
        "adjusted_latency_high": row.adjusted.high if row.adjusted else None,
        "there": way.there if way and way.is_known else None,
        "back": way.back if way and way.is_known else None,
        "clock_error": way.error if way else None,
        "suspect_samples": row.suspect,
        **usage_figures(row.configuration, row.usage, row.delivered),
        **cost_fields(row.configuration, row.costs),
        "verdict": row.verdict.word,
        "cause": row.verdict.cause.name if row.verdict.cause else None,
        "flags": " ".join(flag.name for flag in row.flags),
    }
    return with_units(configuration_fields(row.configuration) | figures)
