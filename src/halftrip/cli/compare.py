"""``halftrip compare``: what has changed between runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import (
    VIEW_FORMATS,
    AsJson,
    Wide,
    one_of,
    put,
    put_view,
    view_format,
)
from halftrip.errors import UsageError
from halftrip.plan.parsing import share
from halftrip.registry import TRANSPORTS
from halftrip.texts import printable
from halftrip.units import parse_share

if TYPE_CHECKING:
    from halftrip.analysis.compared_run import ComparedRun
    from halftrip.analysis.comparison import Comparison
    from halftrip.report.selection import Selection

_JUNIT = "junit"
_SLOWER_STATUS, _UNTOLD_STATUS = 1, 3


@app.command("compare")
def compare(
    files: Annotated[
        list[str],
        syntax.Argument(
            metavar="BASE NEW... [ROW...]",
            help="Run files; the first is the base. Names of rows, as 'shm 8 B': only these.",
        ),
    ],
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    by: Annotated[
        Text,
        syntax.Option(
            "--by",
            metavar="NAME",
            help="Compare by a setting, as socket-buffer, or by what was varied, as env.UCX_TLS.",
        ),
    ] = None,
    threshold: Annotated[
        Text,
        syntax.Option("--threshold", metavar="SHARE", help="What counts as the same. [2%]"),
    ] = None,
    quantile: Annotated[
        Text,
        syntax.Option(
            "--quantile", metavar="Q", help="Compare this quantile, as 0.99. [the median]"
        ),
    ] = None,
    launch_spread: inputs.LaunchSpread = None,
    anyway: Annotated[
        bool, syntax.Option("--anyway", help="Also what was measured in another way.")
    ] = False,
    match_unknown: Annotated[
        bool,
        syntax.Option("--match-unknown", help="Also rows of which one run does not say a setting."),
    ] = False,
    strict: Annotated[
        bool,
        syntax.Option(
            "--strict",
            help="Exit with 3 if something cannot be told; with 1 also for missing rows that the "
            "new plan does not ask for.",
        ),
    ] = False,
    allow_missing: Annotated[
        bool, syntax.Option("--allow-missing", help="Rows of the base may be missing.")
    ] = False,
    every: Annotated[bool, syntax.Option("--all", help="Also the rows that are the same.")] = False,
    wide: Wide = False,
    format_: Annotated[str, one_of("--format", (*VIEW_FORMATS, _JUNIT))] = "table",
    json: AsJson = False,
) -> int:
    """Say what has changed between runs; exit with 1 if anything got slower, or is missing."""
    from halftrip.analysis import comparison

    format_ = view_format(format_, json, wide, every, (_JUNIT,))
    same = inputs.given("--threshold", share, threshold)
    spread = inputs.given("--launch-spread", share, launch_spread)
    compared = inputs.given("--quantile", _quantile, quantile)
    rows = [each for each in files if _names_rows(each)]
    selection = inputs.selection_of(transport, pattern, sizes, pair)._replace(rows=rows or None)
    sides = _sides([each for each in files if each not in rows], by, selection)
    found = comparison.compare(
        sides[0],
        sides[1:],
        comparison.DEFAULT_THRESHOLD if same is None else same,
        compared,
        spread,
        anyway,
        "none" if allow_missing else "all" if strict else "asked",
        match_unknown,
    )
    print_comparisons(found, format_, every, wide)
    return status(found, strict)


def status(found: Sequence[Comparison], strict: bool = False) -> int:
    """The exit status: 1 if anything is slower or missing, 3 if it is `strict` and something cannot
    be told."""
    if any(each.having("slower") or each.missing for each in found):
        return _SLOWER_STATUS
    untold = any(each.having("cannot tell") or each.refused for each in found)
    return _UNTOLD_STATUS if strict and untold else 0


def print_comparisons(
    found: Sequence[Comparison], format_: str = "table", every: bool = False, wide: bool = False
) -> None:
    if format_ == _JUNIT:
        from halftrip.views.junit import junit

        put(junit(found))
        return
    from halftrip.views.compare import compare as view

    put_view(view(found, every), format_, wide)


def _names_rows(word: str) -> bool:
    """Whether a word of the command line is no file, but begins as the names of rows do."""
    return word.split(" ", 1)[0] in TRANSPORTS and not os.path.exists(word)


def _quantile(text: str) -> float:
    found = parse_share(text)
    if not 0 < found < 1:
        raise UsageError(f"{text!r} is not between 0 and 1; write 0.99 or 99%")
    return found


def _sides(files: Sequence[str], by: str | None, selection: Selection) -> Sequence[ComparedRun]:
    """What is compared, the base first: the runs in these files, or the sides or the variants of a
    single one. Raises UsageError where there are not two."""
    from halftrip.analysis.compared_run import option_names, sides_by, varied

    _check_distinct(files)
    sides = [_side(path, selection) for path in files]
    if by is not None:
        sides = sides_by(by, sides)
    elif len(files) == 1:
        sides = _sides_of_one(sides[0]) or sides
    if len(sides) < 2:
        said = "name two runs, BASE and NEW, or one and --by NAME for what was varied"
        known = option_names(varied(each for side in sides for each in side.rows))
        raise UsageError(f"{said}: {', '.join(known)}" if known else said)
    return sides


def _sides_of_one(side: ComparedRun) -> list[ComparedRun]:
    """The sides of a run that was measured against another in turn, or the variants of one that has
    varied a single thing; else none."""
    from halftrip.analysis.compared_run import sides_by, sides_of

    names = {name for each in side.rows for name, _ in each.variant}
    if side.run.sides is None and len(names) == 1 and not side.run.sources:
        return sides_by(names.pop(), [side])
    return sides_of(side.run) or []


def _check_distinct(files: Sequence[str]) -> None:
    for number, path in enumerate(files):
        for other in files[:number]:
            if os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
                raise UsageError(f"{printable(path)}: the same file twice")


def _side(path: str, selection: Selection) -> ComparedRun:
    from halftrip.analysis.compared_run import ComparedRun

    run = inputs.loaded(path)
    side = ComparedRun.of(run, printable(path), selection.has)
    if run.by_configuration and not side.rows:
        raise UsageError(f"{printable(path)}: it has none of the rows that were chosen")
    return side
