"""``halftrip explain``: why the curves of a run bend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from halftrip.analysis.causes import BendCauses, CurveCauses, bend_at, causes
from halftrip.analysis.piecewise_fits import piecewise_fits
from halftrip.cli.loading import curves_in_words, loaded
from halftrip.cli.output import Printable, screen, writing
from halftrip.cli.proving import OUTCOMES, prove_by_measuring, prove_by_run
from halftrip.cli.show import selection_of
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.report import explain as report
from halftrip.report import json
from halftrip.report import proof as proof_report
from halftrip.report.proof import Proven
from halftrip.report.selection import Selection
from halftrip.results.run import Run
from halftrip.results.run_file import newest
from halftrip.texts import printable, printable_lines
from halftrip.units import parse_size, size_in_words

FORMATS = ("table", "json")
# Of bends to choose from, so many are named.
_MOST_NAMED = 6


class Asked(NamedTuple):
    """What to explain, and how to print it. `at` is a size, `chosen` the options that select
    curves; `prove` by measuring, into the file `output`, or by the run in the file `moved`."""

    at: str | None = None
    chosen: Mapping[str, str | None] = {}
    prove: bool = False
    moved: str | None = None
    output: str | None = None
    format: str = "table"


def explain_run(path: str | None, asked: Asked) -> int:
    """Explains the bends of a run file (None: the newest here), and returns the exit status. Raises
    UsageError for options that make no sense, and where there is no such curve."""
    _check(asked)
    at = None if asked.at is None else _size(asked.at)
    selection = selection_of(asked.chosen)
    path = path or str(newest())
    run = loaded(path)
    found = _causes(run, selection, path)
    if not asked.prove and asked.moved is None:
        _print(report.explained(run, found, at), asked.format)
        return 0
    curve, bend = _one_bend(found, at, "--prove" if asked.moved is None else "--moved")
    if asked.moved is not None:
        other = loaded(asked.moved)
        others = list(dict.fromkeys(each.curve for each in other.by_configuration))
        others = [each for each in others if selection.has(each)]
        proven = prove_by_run(run, curve, bend, asked.moved, other, others)
    else:
        proven = prove_by_measuring(run, curve.fit.curve, bend, asked.output)
    names = report.curve_names([curve.fit.curve], run.names)
    _print_proof(names[0], proven, asked.format)
    return OUTCOMES[proven.proof.outcome]


def _check(asked: Asked) -> None:
    if asked.format not in FORMATS:
        said = nearest(asked.format, list(FORMATS))
        raise UsageError(f"--format: {printable(asked.format)!r} is not known; {said}")
    if asked.prove and asked.moved is not None:
        raise UsageError("--moved: proves by a run that is there; leave --prove out")
    if asked.output is not None and not asked.prove:
        raise UsageError("--output: only with --prove, which measures")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except UsageError as error:
        raise UsageError(f"--at: {error}") from None


def _causes(run: Run, selection: Selection, path: str) -> list[CurveCauses]:
    """The causes of the curves of a run that are selected. Raises UsageError if there are none."""
    found = causes(run, piecewise_fits(run, selection.has))
    if not found:
        raise UsageError(f"{printable(path)}: no such curve; the run has {curves_in_words(run)}")
    return found


def _one_bend(
    found: list[CurveCauses], at: int | None, option: str
) -> tuple[CurveCauses, BendCauses]:
    """The one bend that the `option` is to prove: that at a size, or the only one there is. Raises
    UsageError where it is not one."""
    bends = [
        (curve, bend)
        for curve in found
        for bend in (curve.bends if at is None else filter(None, [bend_at(curve.bends, at)]))
    ]
    if len(bends) == 1:
        return bends[0]
    if bends:
        where = ", ".join(
            f"{curve.fit.curve.transport} {curve.fit.curve.pattern} {size_in_words(bend.bend.high)}"
            for curve, bend in bends[:_MOST_NAMED]
        )
        more = f" and {len(bends) - _MOST_NAMED} more" if len(bends) > _MOST_NAMED else ""
        raise UsageError(
            f"{option}: one bend at a time; choose by --at, -t, -p, --pair: {where}{more}"
        )
    reasons = dict.fromkeys(each.fit.reason for each in found if each.fit.reason is not None)
    nearby = "" if at is None else f" at {size_in_words(at)}"
    said = "; ".join(reasons) or f"straight; without {option} its pieces are shown"
    raise UsageError(f"{option}: there is no bend{nearby}: {said}")


def _print(found: report.Explained, format_: str) -> None:
    with writing():
        if format_ == "json":
            print(printable_lines(json.text(report.content(found))), end="")
        else:
            console = screen()
            console.print(Printable(report.render(found, console.width)), soft_wrap=True)


def _print_proof(name: str, proven: Proven, format_: str) -> None:
    with writing():
        if format_ == "json":
            print(printable_lines(json.text(proof_report.content(name, proven))), end="")
        else:
            console = screen()
            made = proof_report.render(name, proven, console.width)
            console.print(Printable(made), soft_wrap=True)
