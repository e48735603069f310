"""All models of a run: what `halftrip fit` prints, in lines and in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from halftrip.analysis.fit import CurveFit, fits
from halftrip.analysis.loggp import LogGPFit, loggp_fits
from halftrip.analysis.max_rate import MaxRateFit, max_rate_fits
from halftrip.analysis.netpipe_figures import NetpipeFigures, netpipe_figures
from halftrip.report import fit, loggp, max_rate
from halftrip.report import netpipe_figures as netpipe
from halftrip.report.wrapping import text_lines
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run

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


def render(models: Models, width: int, wide: bool = False) -> Group:
    """The models in lines of at most `width` columns; `wide`: but for the tables, which have all
    columns."""
    names = models.run.names
    # Of several models, one that the run has nothing of has a line, not its reasons.
    alone = len(models.asked) == 1
    parts: list[RenderableType] = []
    if models.curves:
        parts.append(fit.render(models.curves, names, models.asked, width, wide))
    if models.netpipe and (alone or any(map(_has_figures, models.netpipe))):
        parts.append(netpipe.lines(models.netpipe, names, width))
    lacking = []
    if models.loggp and (alone or any(map(_has_parameters, models.loggp))):
        parts.append(loggp.lines(models.loggp, names, width, wide))
    elif "loggp" in models.asked:
        lacking.append("LogGP: halftrip run loggp measures what it needs")
    if models.max_rate and (alone or any(each.found for each in models.max_rate)):
        parts.append(max_rate.lines(models.max_rate, names, width))
    elif "max-rate" in models.asked:
        lacking.append("the max-rate model: --concurrent-pairs 1,2,4 measures what it needs")
    if lacking:
        said = f"not in this run: {'; '.join(lacking)}."
        parts.append(Group(*text_lines(said, width, "dim")))
    spaced = [piece for part in parts for piece in (Text(), part)]
    return Group(*spaced[1:])


def content(models: Models) -> dict[str, Any]:
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
