"""The max-rate model of several pairs, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halftrip.analysis.figure import ALWAYS
from halftrip.analysis.max_rate import MaxRateFit
from halftrip.analysis.setting_figures import curve_fields
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, table
from halftrip.report.numbers import NOTHING, signed, with_interval
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.units import significant
from halftrip.views.estimates import (
    estimate_column,
    estimate_fields,
    finite,
    interval_lines,
    namer,
    reason_lines,
)

_SAYS = (
    "max-rate: n bytes take alpha + k n / min(R_N, k R_C) while k pairs talk. Gropp et al. 2016."
)


def blocks(fits: Sequence[MaxRateFit], names: Names) -> list[Block]:
    """The model of each setting, and why some have none."""
    named = namer([fit.setting for fit in fits], names)
    told = [fit for fit in fits if fit.found is not None]
    columns = [
        Column("setting", "", lambda fit: named(fit.setting), True, rank=ALWAYS),
        Column("pairs", "", lambda fit: ",".join(map(str, fit.pairs)), True, rank=ALWAYS),
        estimate_column("alpha", "us", lambda fit: fit.found.start, 1e3),
        _limit("R_C", lambda fit: (fit.found.per_pair, fit.per_pair_least)),
        _limit("R_N", lambda fit: (fit.found.together, fit.together_least)),
        Column("misfit", "", lambda fit: signed(fit.found.misfit, 2), rank=ALWAYS),
    ]
    found: list[Block] = [table(told, columns)._replace(title=["Max-rate model"])] if told else []
    reasons = [(named(fit.setting), "max-rate model", fit.reason) for fit in fits if fit.reason]
    found += [SPACE, Items(reason_lines(reasons))] if reasons else []
    return [*found, SPACE, Legend([_SAYS, *interval_lines(told)])] if told else found


def _limit(name: str, of: Callable[[Any], tuple[Estimate | None, float | None]]) -> Column:
    def cell(fit: MaxRateFit) -> str:
        rate, least = of(fit)
        if rate is not None:
            return with_interval(rate, 1e9)
        return NOTHING if least is None else f"at least {significant(least / 1e9, 2)}"

    return estimate_column(name, "GB/s", lambda fit: of(fit)[0], 1e9)._replace(cell=cell)


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
