"""The max-rate model of several pairs, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from halftrip.analysis.figure import ALWAYS
from halftrip.analysis.max_rate import MaxRateFit
from halftrip.analysis.setting_figures import curve_fields
from halftrip.report.estimates import estimate_fields, finite, interval_lines, namer, reason_lines
from halftrip.report.layout import Column, as_text, made_table
from halftrip.report.numbers import NOTHING, signed, with_interval
from halftrip.report.wrapping import text_lines
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.units import significant

_SAYS = (
    "max-rate: n bytes take alpha + k n / min(R_N, k R_C) while k pairs talk. Gropp et al. 2016."
)


def lines(fits: Sequence[MaxRateFit], names: Names, width: int) -> Group:
    """The model of each setting, and why some have none."""
    named = namer([fit.setting for fit in fits], names)
    told = [fit for fit in fits if fit.found is not None]
    columns = [
        Column("setting", "", lambda fit: named(fit.setting), True, rank=ALWAYS),
        Column("pairs", "", lambda fit: ",".join(map(str, fit.pairs)), True, rank=ALWAYS),
        Column("alpha", "us", lambda fit: with_interval(fit.found.start, 1e3), True, rank=ALWAYS),
        Column("R_C", "GB/s", lambda fit: _limit(fit.found.per_pair, fit.per_pair_least), True,
               rank=ALWAYS),
        Column("R_N", "GB/s", lambda fit: _limit(fit.found.together, fit.together_least), True,
               rank=ALWAYS),
        Column("misfit", "", lambda fit: signed(fit.found.misfit, 2), rank=ALWAYS),
    ]  # fmt: skip
    parts = as_text(made_table(told, columns).table, width) if told else []
    reasons = [(named(fit.setting), "max-rate model", fit.reason) for fit in fits if fit.reason]
    parts += [Text(), *reason_lines(reasons, width)] if reasons else []
    if told:
        legend = [_SAYS, *interval_lines(told)]
        parts += [Text(), *(part for line in legend for part in text_lines(line, width, "dim"))]
    return Group(*parts)


def _limit(rate: Estimate | None, least: float | None) -> str:
    if rate is not None:
        return with_interval(rate, 1e9)
    return NOTHING if least is None else f"at least {significant(least / 1e9, 2)}"


def content(fits: Sequence[MaxRateFit]) -> list[dict[str, Any]]:
    """The models as objects for JSON."""
    found = []
    for fit in fits:
        model = fit.found
        found.append(
            {
                **curve_fields(fit.setting),
                "over": fit.over,
                "pairs": list(fit.pairs),
                **estimate_fields("alpha", "ns", model.start if model else None),
                **estimate_fields("R_C", "bytes_per_s", model.per_pair if model else None),
                **estimate_fields("R_N", "bytes_per_s", model.together if model else None),
                "R_C_least_bytes_per_s": fit.per_pair_least,
                "R_N_least_bytes_per_s": fit.together_least,
                "R_C_limits_up_to_pairs": model.alone_up_to if model else None,
                "misfit": finite(model.misfit) if model else None,
                "reason": fit.reason or None,
            }
        )
    return found
