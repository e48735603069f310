"""``halftrip explain``: why the curves of a run bend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import AsJson, ViewFormat, put_view, view_format
from halftrip.errors import UsageError
from halftrip.units import parse_size, size_in_words

if TYPE_CHECKING:
    from halftrip.analysis.bend_causes import BendCauses, CurveCauses

# Of bends to choose from, so many are named.
_MOST_NAMED = 6


@app.command("explain")
def explain(
    run: Annotated[
        Text, syntax.Argument(metavar="[RUN]", help="The run file. [the newest one here]")
    ] = None,
    at: Annotated[
        Text, syntax.Option("--at", metavar="SIZE", help="Only the bend nearest to this size.")
    ] = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    pair: inputs.Pairs = None,
    prove: Annotated[
        bool,
        syntax.Option(
            "--prove", help="Measure around a bend with another value of what may cause it."
        ),
    ] = False,
    moved: Annotated[
        Text,
        syntax.Option(
            "--moved", metavar="RUN", help="Prove by this run, measured with another value."
        ),
    ] = None,
    output: Annotated[
        Text,
        syntax.Option("-o", "--output", metavar="FILE", help="With --prove: its run file."),
    ] = None,
    format_: ViewFormat = "table",
    json: AsJson = False,
) -> int:
    """Say why the curves of a run bend where they bend, and prove it.

    With --prove or --moved it exits with 0 if the bend moves with the setting, with 1 if it does
    not, with 3 if that cannot be told."""
    from halftrip.analysis.bend_causes import causes
    from halftrip.analysis.fit import piecewise_fits
    from halftrip.views import explain as views

    format_ = view_format(format_, json)
    if prove and moved is not None:
        raise UsageError("--moved: proves by a run that is there; leave --prove out")
    if output is not None and not prove:
        raise UsageError("--output: only with --prove, which measures")
    size = inputs.given("--at", parse_size, at)
    selection = inputs.selection_of(transport, pattern, pair=pair)
    path = inputs.path_of(run)
    bent = inputs.loaded(path)
    found = causes(bent, piecewise_fits(bent, selection.has))
    if not found:
        raise inputs.no_such_curve(path, bent)
    if not prove and moved is None:
        put_view(views.explain(bent, found, size), format_)
        return 0
    from halftrip.cli import explain_prove
    from halftrip.views.proofs import proof

    curve, bend = _one_bend(found, size, "--prove" if moved is None else "--moved")
    if moved is not None:
        other = inputs.loaded(moved)
        others = list(dict.fromkeys(each.curve for each in other.by_configuration))
        others = [each for each in others if selection.has(each)]
        proven = explain_prove.prove_by_run(bent, curve, bend, moved, other, others)
    else:
        proven = explain_prove.prove_by_measuring(bent, curve, bend, output)
    (name,) = views.curve_names([curve.fit.curve], bent.names)
    put_view(proof(name, proven), format_)
    return explain_prove.OUTCOMES[proven.proof.outcome]


def _one_bend(
    found: list[CurveCauses], at: int | None, option: str
) -> tuple[CurveCauses, BendCauses]:
    """The one bend that the `option` is to prove: that at a size, or the only one there is. Raises
    UsageError where it is not one."""
    from halftrip.analysis.bend_causes import bend_at

    bends = [
        (curve, bend)
        for curve in found
        for bend in (curve.bends if at is None else filter(None, [bend_at(curve.bends, at)]))
    ]
    if at is not None and bends:
        # Of several curves, the one that bends nearest.
        (nearest,) = [bend_at([bend for _, bend in bends], at)]
        bends = [each for each in bends if each[1] is nearest] or bends
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
