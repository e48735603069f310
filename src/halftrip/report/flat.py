"""Rows for programs: one level of figures, with names that end in their unit."""

from __future__ import annotations

import math
from typing import Any

from halftrip.analysis.counters import cost_fields
from halftrip.analysis.usage import usage_figures
from halftrip.plan.settings import SETTINGS
from halftrip.report.rows import Row
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Variant
from halftrip.stats.summary import Summary
from halftrip.stats.tails import Quantile
from halftrip.units import with_units

# The columns that came first; newer settings are behind them.
_FIRST = (
    *("transport", "pattern", "mode", "size_bytes", "memory", "buffers", "pages", "cache", "wait"),
    *("pair", "window", "align_bytes", "datatype", "rate_bytes_per_s", "verify", "thread"),
    "concurrency",
)
_OF = {each.figure: each.in_effect for each in SETTINGS.values()}
# All settings, in the order of columns.
SETTING_COLUMNS = (*dict.fromkeys((*_FIRST, *_OF)), "variant")


def or_none(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return None if math.isnan(value) else value


def configuration_fields(configuration: Configuration) -> dict[str, Any]:
    """The fields of a configuration; names end in units. Settings of both ends are texts such as
    ``spin``, or ``spin:block``."""
    fields = {name: of(configuration) for name, of in _OF.items()} | {
        "transport": configuration.transport,
        "pattern": configuration.pattern,
        "mode": configuration.mode,
        "size_bytes": configuration.known_size,
        "pair": "-".join(map(str, configuration.pair)),
        "thread": configuration.thread,
        "concurrency": configuration.concurrency,
        "variant": variant_text(configuration.variant),
    }
    return {name: fields[name] for name in SETTING_COLUMNS}


def curve_fields(curve: Configuration) -> dict[str, Any]:
    """The fields of a curve, which has no size."""
    fields = configuration_fields(curve)
    del fields["size_bytes"]
    return fields


def variant_text(variant: Variant) -> str:
    """A variant in one text: ``env.UCX_TLS tcp, mpiexec mpiexec.mpich``."""
    return ", ".join(f"{name} {value}" for name, value in variant)


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
    return configuration_fields(row.configuration) | with_units(figures)
