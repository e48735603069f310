"""Rows for programs: one level of figures, with names that end in their unit."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from halftrip.analysis.usage import usage_figures
from halftrip.report.rows import Row
from halftrip.results.case import Case
from halftrip.stats.summary import Summary
from halftrip.stats.tails import Quantile
from halftrip.units import with_units


def or_none(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return None if math.isnan(value) else value


def case_fields(case: Case) -> dict[str, Any]:
    """The fields of a case. Settings of both ends are texts such as ``spin``, or ``spin:block``."""
    fields = msgspec.structs.asdict(case)
    return {
        "transport": case.transport,
        "pattern": case.pattern,
        "mode": case.mode,
        "size": case.size,
        "memory": case.both_ends("memory"),
        "buffers": case.buffers,
        "pages": case.both_ends("pages"),
        "cache": case.cache,
        "wait": case.both_ends("wait"),
        "pair": "-".join(map(str, case.pair)),
        **{
            name: fields[name]
            for name in ("window", "align", "datatype", "rate", "verify", "thread")
        },
        "company": case.concurrency,
        "places": case.message_places,
        "touch": case.touch,
    }


def summary_fields(summary: Summary) -> dict[str, Any]:
    """The figures of a summary by name; None for one that does not exist."""
    fields: dict[str, Any] = {}
    for name, value in summary._asdict().items():
        if isinstance(value, Quantile):
            fields[name] = or_none(value.value)
            fields[f"{name}_low"] = or_none(value.low)
            fields[f"{name}_high"] = or_none(value.high)
        else:
            fields[name] = or_none(value)
    return fields


def flat(row: Row) -> dict[str, Any]:
    """The figures of a row by name; None for one that does not exist."""
    low, high = row.cache_line_rtt if row.cache_line_rtt is not None else (None, None)
    figures = {
        **summary_fields(row.summary),
        "slices": row.slices,
        "left_out_slices": row.left_out,
        "exchanges": row.exchanges,
        "messages": or_none(row.rate),
        "total_bandwidth": or_none(row.bandwidth),
        "peer_bandwidth": row.peer_bandwidth,
        "bandwidth_there": row.each_way[0] if row.each_way else None,
        "bandwidth_back": row.each_way[1] if row.each_way else None,
        "sent": row.delivery.sent if row.delivery else None,
        "lost": row.delivery.lost if row.delivery else None,
        "late": row.delivery.late if row.delivery else None,
        "jitter": row.delivery.jitter if row.delivery else None,
        "verified": row.verified,
        "launches": row.launches,
        "between_launches": or_none(row.components.between) if row.components else None,
        "within_launches": or_none(row.components.within) if row.components else None,
        "line_low": low,
        "line_high": high,
        "at_typical_line": row.typical.median if row.typical else None,
        "at_typical_line_low": row.typical.low if row.typical else None,
        "at_typical_line_high": row.typical.high if row.typical else None,
        "marked": row.suspect,
        **usage_figures(row.case, row.usage, row.delivered),
        "verdict": row.verdict.word,
        "cause": row.verdict.cause.name if row.verdict.cause else None,
        "flags": " ".join(flag.name for flag in row.flags),
    }
    return with_units(case_fields(row.case) | figures)
