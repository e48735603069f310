"""NetPIPE's figures of curves, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halftrip.analysis.figure import ALWAYS
from halftrip.analysis.netpipe_figures import SATURATED, NetpipeFigures, SizeFound
from halftrip.analysis.setting_figures import curve_fields
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, table
from halftrip.report.numbers import NOTHING
from halftrip.results.names import Names
from halftrip.units import format_size, significant
from halftrip.views.estimates import estimate_column, estimate_fields, namer, reason_lines

_SAYS = (
    f"saturation: from this size on at least {100 * SATURATED:.0f} % of the largest bandwidth; "
    "n1/2: half of it; between the measured sizes in brackets. Snell et al. 1996."
)


def blocks(figures: Sequence[NetpipeFigures], names: Names) -> list[Block]:
    """The figures of each curve, and why some are missing."""
    named = namer([each.curve for each in figures], names)
    columns = [
        Column("curve", "", lambda each: named(each.curve), True, rank=ALWAYS),
        estimate_column("latency", "us", lambda each: each.latency, 1e3),
        Column("of", "bytes", lambda each: format_size(each.smallest), rank=ALWAYS),
        estimate_column("bandwidth", "MB/s", lambda each: each.bandwidth, 1e6),
        Column("at", "bytes", lambda each: _at(each.largest_at), rank=ALWAYS),
        Column("saturation", "bytes", lambda each: _size(each.saturation), True, rank=ALWAYS),
        Column("n1/2", "bytes", lambda each: _size(each.n_half), True, rank=ALWAYS),
    ]
    told = [each for each in figures if each.latency or each.bandwidth]
    found: list[Block] = [table(told, columns)._replace(title=["NetPIPE"])] if told else []
    shown = {"n_half": "n1/2"}
    reasons = [
        (named(each.curve), shown.get(name, name), reason)
        for each in figures
        for name, reason in each.reasons.items()
    ]
    found += [SPACE, Items(reason_lines(reasons))] if reasons else []
    return [*found, SPACE, Legend([_SAYS])] if told else found


def _at(size: int | None) -> str:
    return NOTHING if size is None else format_size(size)


def _size(found: SizeFound | None) -> str:
    if found is None:
        return NOTHING
    low, high = format_size(found.low), format_size(found.high)
    return f"{significant(found.value, 3)} [{low}, {high}]"


def content(figures: Sequence[NetpipeFigures]) -> list[dict[str, Any]]:
    """The figures as objects for JSON."""
    return [
        {
            **curve_fields(each.curve),
            "latency_size_bytes": each.smallest,
            **estimate_fields("latency", "ns", each.latency),
            **estimate_fields("bandwidth", "bytes_per_s", each.bandwidth),
            "bandwidth_size_bytes": each.largest_at,
            **estimate_fields("saturation", "bytes", each.saturation),
            **estimate_fields("n_half", "bytes", each.n_half),
            "reasons": each.reasons,
        }
        for each in figures
    ]
