"""The two sides of a run against an earlier one: base and new, measured in turn in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from halftrip.results.configuration import Configuration
from halftrip.results.reported import Variant

if TYPE_CHECKING:
    from halftrip.results.run import Run

# The axis of the sides, and its values.
SIDE, BASE, NEW = "side", "base", "new"


class Sides(NamedTuple):
    """What both sides have measured, each a run of its own whose configurations do not say which
    side they are of, so that they are equal where the same was measured. `rounds` has the round of
    each launch: the launches of one round stand beside each other in time, one of each side (and
    of each variant, where the plan varies something else, too). `against` is what was asked: the
    name of the base's run `file`, and what is different about its launches, as far as that was
    said: `env` (names and values), `mpiexec`, `command`."""

    base: Run
    new: Run
    rounds: Mapping[int, int]
    against: Mapping[str, Any]


def sides(run: Run) -> Sides | None:
    """The two sides of a run; None where it has none."""
    if not any(SIDE in dict(launch.variant) for launch in run.launches):
        return None
    asked = run.header.plan.get("against")
    return Sides(
        base=_of_side(run, BASE),
        new=_of_side(run, NEW),
        rounds={launch.number: launch.round for launch in run.launches},
        against=asked if isinstance(asked, dict) else {},
    )


def _of_side(run: Run, side: str) -> Run:
    launches = [each for each in run.launches if dict(each.variant).get(SIDE) == side]
    numbers = {launch.number for launch in launches}

    def of_launches(found: Any) -> tuple[Any, ...]:
        return tuple(
            msgspec.structs.replace(each, configuration=_without_side(each.configuration))
            if hasattr(each, "configuration")
            else each
            for each in found
            if each.launch in numbers
        )

    return msgspec.structs.replace(
        run,
        launches=tuple(_with_variant(launch) for launch in launches),
        launch_failures=tuple(map(_with_variant, of_launches(run.launch_failures))),
        environments=of_launches(run.environments),
        skips=tuple(
            _with_variant(skip)
            for skip in run.skips
            if dict(skip.variant).get(SIDE) in (None, side)
        ),
        measurements=of_launches(run.measurements),
        failures=of_launches(run.failures),
        aggregates=of_launches(run.aggregates),
        connections=of_launches(run.connections),
        clock_comparisons=of_launches(run.clock_comparisons),
        host_counters=tuple(
            msgspec.structs.replace(each, configurations=[*map(_without_side, each.configurations)])
            for each in of_launches(run.host_counters)
        ),
        notices=of_launches(run.notices),
        lost=of_launches(run.lost),
    )


def _with_variant(record: Any) -> Any:
    return msgspec.structs.replace(record, variant=_other(record.variant))


def _without_side(configuration: Configuration) -> Configuration:
    return msgspec.structs.replace(configuration, variant=_other(configuration.variant))


def _other(variant: Variant) -> Variant:
    return tuple(each for each in variant if each[0] != SIDE)
