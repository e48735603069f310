"""All models of a run: what `halftrip fit` prints, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from halftrip.analysis.fit import CurveFit, fits
from halftrip.analysis.loggp import LogGPFit, loggp_fits
from halftrip.analysis.max_rate import MaxRateFit, max_rate_fits
from halftrip.analysis.netpipe_figures import NetpipeFigures, netpipe_figures
from halftrip.render.blocks import SPACE, Block, Legend, View
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.views import fit, loggp, max_rate, netpipe

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
        """Whether anything has figures."""
        return (
            any(each.pieces is not None for each in self.curves)
            or any(_has_figures(each) for each in self.netpipe)
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
        parts.append(netpipe.blocks(found.netpipe, names))
    lacking = []
    if found.loggp and (alone or any(map(_has_parameters, found.loggp))):
        parts.append(loggp.blocks(found.loggp, names))
    elif "loggp" in found.asked:
        lacking.append("LogGP: halftrip run loggp measures what it needs")
    if found.max_rate and (alone or any(each.found for each in found.max_rate)):
        parts.append(max_rate.blocks(found.max_rate, names))
    elif "max-rate" in found.asked:
        lacking.append("the max-rate model: --concurrent-pairs 1,2,4 measures what it needs")
    if lacking:
        parts.append([Legend([f"not in this run: {'; '.join(lacking)}."])])
    spaced: list[Block] = [block for part in parts for block in (SPACE, *part)]
    return View(spaced[1:], partial(_content, found))


def _content(models: Models) -> dict[str, Any]:
    """The models as one object."""
    found: dict[str, Any] = {}
    if set(models.asked) & set(OF_CURVES):
        found["curves"] = fit.content(models.curves, models.asked)
    if "netpipe" in models.asked:
        found["netpipe"] = netpipe.content(models.netpipe)
    if "loggp" in models.asked:
        found["loggp"] = loggp.content(models.loggp)
    if "max-rate" in models.asked:
        found["max_rate"] = max_rate.content(models.max_rate)
    return found
