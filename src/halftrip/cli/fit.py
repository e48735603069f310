"""``halftrip fit``: models of the curves of a run."""

from __future__ import annotations

from typing import Annotated

from halftrip.cli import app, inputs
from halftrip.cli.output import (
    AsJson,
    ViewFormat,
    Wide,
    check_one_of,
    one_of,
    put_view,
    view_format,
)

ALL = "all"
MODELS = ("hockney", "piecewise", "netpipe", "loggp", "max-rate", ALL)


@app.command("fit")
def fit(
    run: inputs.RunFile = None,
    model: Annotated[str, one_of("--model", MODELS, ALL)] = ALL,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    wide: Wide = False,
    format_: ViewFormat = "table",
    json: AsJson = False,
) -> int:
    """Fit models to time over size: lines and pieces of lines, LogGP, and more."""
    from halftrip.views import models

    format_ = view_format(format_, json, wide)
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    check_one_of("--model", model, MODELS)
    path = inputs.path_of(run)
    found = inputs.loaded(path)
    if not any(map(selection.has, found.by_configuration)):
        raise inputs.no_such_curve(path, found)
    chosen = models.MODELS if model == ALL else (model,)
    fits = models.fitted(found, chosen, selection.has)
    put_view(models.models(fits), format_, wide)
    return int(not fits.is_fitted)
