"""What on this machine will spoil the numbers, and what halftrip adds to bare loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from halftrip.analysis.figure import ALWAYS
from halftrip.analysis.loop_ratios import TOLERANCE, LoopRatio, Ratio
from halftrip.render import blocks
from halftrip.render.blocks import (
    SPACE,
    Block,
    Checks,
    Column,
    Items,
    Legend,
    View,
    table,
)
from halftrip.report.numbers import NOTHING, factor_texts, number
from halftrip.stats.estimate import Estimate
from halftrip.units import format_size, significant


class CheckResult(Protocol):
    """What was looked at, whether it is well, what was found there, and what to do, also as
    commands."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def found(self) -> str: ...
    @property
    def advice(self) -> str | None: ...
    @property
    def commands(self) -> Sequence[str]: ...


def doctor(checks: Sequence[CheckResult]) -> View:
    """A line for each check, and what to do below it."""
    shown = [
        blocks.CheckLine(each.name, each.state, each.found.split("\n"), each.advice, each.commands)
        for each in checks
    ]
    records: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in checks]
    return View([Checks(shown)], lambda: records, lambda: records, "Doctor")


# Bare loops beside halftrip.

_STYLES = {"slower": "yellow", "unknown": "dim"}


def loops(
    ratios: Sequence[LoopRatio], missing: Mapping[str, str], load: str = "", interrupted: str = ""
) -> View:
    """A line for each path, pattern and size; `load`: who had the cores meanwhile."""
    columns = [
        Column("path", "", lambda each: each.row.path, True, rank=ALWAYS),
        Column("pattern", "", lambda each: each.row.pattern, True, rank=ALWAYS),
        Column("size", "bytes", lambda each: format_size(each.row.size), rank=ALWAYS),
        Column("bare loop", "us", lambda each: number(each.bare, 3, 1e3), rank=ALWAYS),
        Column("halftrip", "us", lambda each: number(each.halftrip, 3, 1e3), rank=ALWAYS),
        Column("ratio", "", lambda each: _ratio(each.ratio), True, rank=ALWAYS),
        Column("of p99", "", lambda each: _ratio(each.p99), True),
        Column("verdict", "", _verdict, True, rank=ALWAYS),
    ]
    blocks: list[Block] = []
    if ratios:
        made = table(
            ratios,
            columns,
            style=lambda each: _STYLES.get(each.word, ""),
            section=lambda each: (each.row.path, each.row.pattern),
        )
        blocks += [made.titled("Bare loops"), SPACE, Legend(_legend(ratios))]
    said = [f"{path}: left out: {reason}" for path, reason in missing.items()]
    if interrupted:
        said.append(f"interrupted: {interrupted}; rows have two turns or more")
    blocks.append(Items([*said, load] if load else said))
    about = {"left_out": dict(missing), "load": load or None, "interrupted": interrupted or None}
    rows = partial(_rows_of_loops, ratios)
    return View(blocks, lambda: {"loops": rows(), **about}, rows, "Bare loops")


def _legend(ratios: Sequence[LoopRatio]) -> list[str]:
    turns = max(each.turns for each in ratios)
    found = [
        (
            "bare loop: some thirty lines of C, in processes of their own, in turn with halftrip "
            "on the same cores; what a message takes one way: half of a round trip, or its part of "
            "a window. Both send from one buffer and receive in another (--places same)."
        ),
        (
            f"ratio: halftrip / bare loop, median of {turns} turns, with its 95 % interval over "
            f"turns. adds nothing: within {100 * (TOLERANCE - 1):.0f} %."
        ),
    ]
    if any(each.word == "unknown" for each in ratios):
        found.append(
            "not known: the interval is too wide: this machine is busy (halftrip doctor --load 5s "
            "says by what), or its cores move."
        )
    return found


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return NOTHING
    value, low, high = factor_texts(Estimate(*ratio))
    return f"{value} [{low}, {high}]"


def _verdict(each: LoopRatio) -> str:
    match each.word:
        case "same":
            return "adds nothing"
        case "slower":
            return f"adds {significant(100 * (each.ratio.median - 1), 2)} %"
        case "faster":
            return "is faster"
    return "not known"


def _rows_of_loops(ratios: Sequence[LoopRatio]) -> list[dict[str, Any]]:
    """The same for programs; names end in units."""
    return [
        {
            **each.row._asdict(),
            "bare_ns": each.bare,
            "halftrip_ns": each.halftrip,
            **_keys("ratio", each.ratio),
            **_keys("p99_ratio", each.p99),
            "turns": each.turns,
            "verdict": each.word,
        }
        for each in ratios
    ]


def _keys(name: str, ratio: Ratio | None) -> dict[str, float | None]:
    median, low, high = ratio or (None, None, None)
    return {name: median, f"{name}_low": low, f"{name}_high": high}
