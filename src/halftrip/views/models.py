"""All models of a run: what `halftrip fit` prints, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.analysis.fit import CurveFit, fits
from halftrip.analysis.loggp import LogGPFit, loggp_fits
from halftrip.analysis.max_rate import MaxRateFit, max_rate_fits
from halftrip.analysis.netpipe_figures import SATURATED, NetpipeFigures, SizeFound, netpipe_figures
from halftrip.analysis.setting_figures import curve_fields
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, View, table
from halftrip.report.numbers import NOTHING, signed, with_interval
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.results.run import Run
from halftrip.stats.estimate import Estimate
from halftrip.units import format_size, significant
from halftrip.views import fit, loggp
from halftrip.views.estimates import (
    estimate_column,
    estimate_fields,
    finite,
    interval_lines,
    namer,
    reason_lines,
)

# Those of curves, which have a screen of their own, and the others.
OF_CURVES = ("hockney", "piecewise")
MODELS = (*OF_CURVES, "netpipe", "loggp", "max-rate")


class Models(NamedTuple):
    """What was fitted to a run: its curves, and the other models, as far as they were `asked`
    for."""

    run: Run
    asked: Sequence[str]
    curves: Sequence[CurveFit]
    netpipe: Sequence[NetpipeFigures]
    loggp: Sequence[LogGPFit]
    max_rate: Sequence[MaxRateFit]

    @property
    def is_fitted(self) -> bool:
        """Whether anything was fitted; NetPIPE's figures, which any two sizes have, count where
        nothing else was asked for."""
        return (
            any(each.pieces is not None for each in self.curves)
            or (self.asked == ("netpipe",) and any(map(_has_figures, self.netpipe)))
            or any(_has_parameters(each) for each in self.loggp)
            or any(each.found is not None for each in self.max_rate)
        )


def fitted(run: Run, asked: Sequence[str], has: Callable[[Configuration], bool]) -> Models:
    """The models that were asked for, of the configurations that `has` selects."""
    return Models(
        run,
        asked,
        fits(run, has) if set(asked) & set(OF_CURVES) else [],
        netpipe_figures(run, has) if "netpipe" in asked else [],
        loggp_fits(run, has) if "loggp" in asked else [],
        max_rate_fits(run, has) if "max-rate" in asked else [],
    )


def _has_figures(each: NetpipeFigures) -> bool:
    return each.latency is not None or each.bandwidth is not None


def _has_parameters(each: LogGPFit) -> bool:
    figures = [each.latency, each.gap, each.per_byte]
    figures += [figure for of_size in each.overheads for figure in (of_size.both, of_size.send)]
    return any(figure.estimate is not None for figure in figures)


def models(found: Models) -> View:
    """The models that were asked for, one below the other."""
    names = found.run.names
    # Of several models, one that the run has nothing of has a line, not its reasons.
    alone = len(found.asked) == 1
    parts: list[list[Block]] = []
    if found.curves:
        parts.append(fit.blocks(found.curves, names, found.asked))
    if found.netpipe and (alone or any(map(_has_figures, found.netpipe))):
        parts.append(netpipe_blocks(found.netpipe, names))
    lacking = []
    if found.loggp and (alone or any(map(_has_parameters, found.loggp))):
        parts.append(loggp.blocks(found.loggp, names))
    elif "loggp" in found.asked:
        lacking.append("LogGP: halftrip run loggp measures what it needs")
    if found.max_rate and (alone or any(each.found for each in found.max_rate)):
        parts.append(max_rate_blocks(found.max_rate, names))
    elif "max-rate" in found.asked:
        lacking.append("the max-rate model: --concurrent-pairs 1,2,4 measures what it needs")
    if lacking:
        parts.append([Legend([f"not in this run: {'; '.join(lacking)}."])])
    spaced: list[Block] = [block for part in parts for block in (SPACE, *part)]
    return View(spaced[1:], partial(_content, found), title="Models")


def _content(models: Models) -> dict[str, Any]:
    """The models as one object."""
    found: dict[str, Any] = {}
    if set(models.asked) & set(OF_CURVES):
        found["curves"] = fit.content(models.curves, models.asked)
    if "netpipe" in models.asked:
        found["netpipe"] = netpipe_content(models.netpipe)
    if "loggp" in models.asked:
        found["loggp"] = loggp.content(models.loggp)
    if "max-rate" in models.asked:
        found["max_rate"] = max_rate_content(models.max_rate)
    return found


# NetPIPE's figures of curves.

_NETPIPE_SAYS = (
    f"saturation: from this size on at least {100 * SATURATED:.0f} % of the largest bandwidth; "
    "n1/2: half of it; between the measured sizes in brackets. Snell et al. 1996."
)


def netpipe_blocks(figures: Sequence[NetpipeFigures], names: Names) -> list[Block]:
    """The figures of each curve, and why some are missing."""
    named = namer([each.curve for each in figures], names)
    columns = [
        Column("curve", "", lambda each: named(each.curve), True, rank=ALWAYS),
        estimate_column("latency", "us", lambda each: each.latency, 1e3),
        Column("of", "bytes", lambda each: format_size(each.smallest), rank=BRIEF),
        estimate_column("bandwidth", "MB/s", lambda each: each.bandwidth, 1e6),
        Column("at", "bytes", lambda each: _size_or_nothing(each.largest_at), rank=BRIEF),
        Column(
            "saturation", "bytes", lambda each: _size_between(each.saturation), True, rank=BRIEF
        ),
        Column("n1/2", "bytes", lambda each: _size_between(each.n_half), True, rank=BRIEF),
    ]
    told = [each for each in figures if each.latency or each.bandwidth]
    found: list[Block] = [table(told, columns).titled("NetPIPE")] if told else []
    shown = {"n_half": "n1/2"}
    reasons = [
        (named(each.curve), shown.get(name, name), reason)
        for each in figures
        for name, reason in each.reasons.items()
    ]
    found += [SPACE, Items(reason_lines(reasons))] if reasons else []
    return [*found, SPACE, Legend([_NETPIPE_SAYS])] if told else found


def _size_or_nothing(size: int | None) -> str:
    return NOTHING if size is None else format_size(size)


def _size_between(found: SizeFound | None) -> str:
    if found is None:
        return NOTHING
    low, high = format_size(found.low), format_size(found.high)
    return f"{significant(found.value, 3)} [{low}, {high}]"


def netpipe_content(figures: Sequence[NetpipeFigures]) -> list[dict[str, Any]]:
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


# The max-rate model of several pairs.

_MAX_RATE_SAYS = (
    "max-rate: n bytes take alpha + k n / min(R_N, k R_C) while k pairs talk. Gropp et al. 2016."
)


def max_rate_blocks(fits: Sequence[MaxRateFit], names: Names) -> list[Block]:
    """The model of each setting, and why some have none."""
    named = namer([each.setting for each in fits], names)
    told = [each for each in fits if each.found is not None]
    columns = [
        Column("setting", "", lambda each: named(each.setting), True, rank=ALWAYS),
        Column("pairs", "", lambda each: ",".join(map(str, each.pairs)), True, rank=ALWAYS),
        estimate_column("alpha", "us", lambda each: each.found.start, 1e3),
        _limit("R_C", lambda each: (each.found.per_pair, each.per_pair_least)),
        _limit("R_N", lambda each: (each.found.together, each.together_least)),
        Column("misfit", "", lambda each: signed(each.found.misfit, 2), rank=ALWAYS),
    ]
    found: list[Block] = [table(told, columns).titled("Max-rate model")] if told else []
    reasons = [(named(each.setting), "max-rate model", each.reason) for each in fits if each.reason]
    found += [SPACE, Items(reason_lines(reasons))] if reasons else []
    return [*found, SPACE, Legend([_MAX_RATE_SAYS, *interval_lines(told)])] if told else found


def _limit(name: str, of: Callable[[Any], tuple[Estimate | None, float | None]]) -> Column:
    def cell(each: MaxRateFit) -> str:
        rate, least = of(each)
        if rate is not None:
            return with_interval(rate, 1e9)
        return NOTHING if least is None else f"at least {significant(least / 1e9, 2)}"

    return estimate_column(name, "GB/s", lambda each: of(each)[0], 1e9)._replace(cell=cell)


def max_rate_content(fits: Sequence[MaxRateFit]) -> list[dict[str, Any]]:
    """The models as objects for JSON."""
    found = []
    for each in fits:
        model = each.found
        found.append(
            {
                **curve_fields(each.setting),
                "over": each.over,
                "pairs": list(each.pairs),
                **estimate_fields("alpha", "ns", model.start if model else None),
                **estimate_fields("R_C", "bytes_per_s", model.per_pair if model else None),
                **estimate_fields("R_N", "bytes_per_s", model.together if model else None),
                "R_C_least_bytes_per_s": each.per_pair_least,
                "R_N_least_bytes_per_s": each.together_least,
                "R_C_limits_up_to_pairs": model.alone_up_to if model else None,
                "misfit": finite(model.misfit) if model else None,
                "reason": each.reason or None,
            }
        )
    return found
