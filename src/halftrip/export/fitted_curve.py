"""The curve of a run that a network simulator is given: one, as it has one model for all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from halftrip.analysis.fit import Pieces, PiecewiseFit, piecewise_fits
from halftrip.errors import UsageError
from halftrip.export.names import row_name
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ROUND_TRIP
from halftrip.texts import printable

# So many choices are named; there may be thousands of pairs.
_MOST_NAMED = 4


class FittedCurve(NamedTuple):
    """The pieces of one curve of times one way; `curve` is its configuration with a size of 0."""

    curve: Configuration
    pieces: Pieces


def fitted_curve(document: Document, to: str) -> FittedCurve:
    """The only ping-pong among the rows of a document, as the format `to` needs it. Raises
    UsageError where there is none, where there are several, and where it cannot be fitted."""
    found = _ping_pongs(document)
    if not found:
        raise UsageError(
            f"--to {to}: no row is a ping-pong, whose half is the time of a message; "
            f"measure one: halftrip run -p {ROUND_TRIP}"
        )
    if len(found) > 1:
        raise UsageError(f"--to {to} is of one curve, and there are {len(found)}; {_choice(found)}")
    fit = fit_of(document, found[0])
    if fit.found is None:
        reason = fit.reason or "no line fits its times"
        raise UsageError(f"--to {to}: {row_name(fit.curve, with_size=False)}: {reason}")
    return FittedCurve(fit.curve, fit.found)


def fit_of(document: Document, curve: Configuration) -> PiecewiseFit:
    """The fit of a curve that rows of a document are on, to these rows alone."""
    on_it = {row.configuration for row in document.rows if row.configuration.curve == curve}
    (fit,) = piecewise_fits(document.run, on_it.__contains__)
    return fit


def _ping_pongs(document: Document) -> list[Configuration]:
    """The curves whose half is the time of a message one way."""
    curves = dict.fromkeys(row.configuration.curve for row in document.rows)
    return [curve for curve in curves if curve.is_in_turn and not curve.delay]


def described(document: Document, found: FittedCurve) -> Iterator[str]:
    """The curve, its ranks, and when it was measured, as far as these are known."""
    yield row_name(found.curve, with_size=False)
    yield " and ".join(map(document.run.names.rank, found.curve.pair))
    if document.run.measured is not None:
        yield document.run.measured
    doubtful = sum(
        row.verdict.word == "no" for row in document.rows if row.configuration.curve == found.curve
    )
    if doubtful:
        yield f"{doubtful} of its sizes with the verdict no"


def _choice(curves: Sequence[Configuration]) -> str:
    """How to choose one of several, in the words of the options."""
    transports = list(dict.fromkeys(curve.transport for curve in curves))
    if len(transports) > 1:
        return f"choose one: -t {_named(transports)}"
    pairs = list(dict.fromkeys("-".join(map(str, curve.pair)) for curve in curves))
    if len(pairs) > 1:
        return f"choose one: --pair {_named(pairs)}"
    names = [row_name(curve, with_size=False) for curve in curves]
    return f"measure one of them by itself: {_named(names)}"


def _named(names: Sequence[str]) -> str:
    more = f" or {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return printable(", ".join(names[:_MOST_NAMED]) + more)
