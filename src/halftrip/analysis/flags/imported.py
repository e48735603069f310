"""Flags about figures that another tool has printed, each of which is all that is known of a row or
of one launch of it."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.analysis.flags.flag import Evidence, Flag, percent, us
from halftrip.results.configuration import Configuration
from halftrip.units import format_size, significant

# A figure may be off by this share of itself because of the digits that it lacks; see
# samples._MOST_CLOCK_STEP.
_MOST_ROUNDING = 0.01
# The first row of a tool that does not warm up is slower than a larger one by this factor or more;
# see neighbours._CONTRADICTS.
_COLD = 1.25


def few_digits(row: Evidence) -> Flag | None:
    """The digits of the printed time do not tell as much as the row claims."""
    steps = [m.reported.step for m in row.measurements if m.reported is not None]
    latency = row.summary.latency
    # Several figures average their rounding out.
    rounding = max(steps, default=0.0) / 2 / max(len(steps), 1) ** 0.5
    if not latency > 0 or rounding <= _MOST_ROUNDING * latency:
        return None
    return Flag(
        "coarse-clock",
        f"times are printed in steps of {us(max(steps))}, so that this one may be off by "
        f"{percent(rounding / latency)}",
        "measure it with a clock, and print it with digits, that tell more",
    )


def cold_first_row(curve: Sequence[Evidence]) -> dict[Configuration, Flag]:
    """The first row of a table whose tool did not warm up, where a larger message was faster;
    `curve` is in order of size."""
    if len(curve) < 2:
        return {}
    first, *later = curve
    source = first.run.source_of.get(first.configuration)
    if source is None or source.warm_up != 0:
        return {}
    fastest = min(later, key=lambda row: row.summary.latency)
    times = first.summary.latency / fastest.summary.latency
    if not times >= _COLD:
        return {}
    return {
        first.configuration: Flag(
            "cold-start",
            f"{us(first.summary.latency)}, {significant(times, 2)} times as long as "
            f"{format_size(fastest.configuration.known_size)}: the first row, and {source.tool} "
            "does not warm up",
            "leave it out, or measure it again behind another row",
        )
    }
