"""``halftrip run --against BASE``: the plan of an earlier run, base and new in turn, and what came
of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from halftrip.cli.compare import print_comparisons, status
from halftrip.errors import UsageError
from halftrip.mpi.launcher import find_mpiexec
from halftrip.plan.layer import Layer, at
from halftrip.plan.layers import make_plan, options_layer, python_layer
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import Plan
from halftrip.plan.vary import ENVIRONMENT, SIDES, Against, written_variables
from halftrip.results.reported import SIDE
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.texts import printable

# Fewer launches of each side tell little: that two of them agree by chance is likely.
_ROUNDS = 5
# What new is started with is asked for as usual; that of the base by --base-mpiexec.
_OF_NEW = ("mpiexec",)
# Keys of a plan that judge a run, by what held for the base.
_JUDGING = ("expect", "baseline", "tolerance")


class Asked(NamedTuple):
    """What --against and --base-... say: the base's run file, and what is different about it."""

    file: str | None = None
    env: Sequence[str] | None = None
    mpiexec: str | None = None
    command: str | None = None

    @property
    def is_given(self) -> bool:
        return any(self)

    def read(self) -> Against:
        """Raises UsageError, which names the option that is wrong."""
        if self.file is None:
            first = next(name for name in ("env", "mpiexec", "command") if getattr(self, name))
            raise UsageError(f"--base-{first}: only with --against, which names the run file")
        env = at("--base-env", written_variables, self.env or ())
        if self.mpiexec is not None:
            at("--base-mpiexec", _program, self.mpiexec)
        if self.command is not None:
            from halftrip.job.other_installation import words_of

            at("--base-command", words_of, self.command)
        return Against(
            file=printable(self.file), env=env, mpiexec=self.mpiexec, command=self.command
        )


def _program(mpiexec: str) -> None:
    try:
        find_mpiexec(mpiexec)
    except UsageError as error:
        raise UsageError(str(error).removeprefix("--mpiexec: ")) from None


def plan_against(asked: Asked, plan_file: str | None, options: Mapping[str, Any]) -> Plan:
    """The plan of the base's run, to be measured against it. Raises UsageError where it cannot be
    made again, and for options that would measure something else."""
    against = asked.read()
    assert asked.file is not None
    base = load(asked.file)
    name = printable(asked.file)
    given = {key: value for key, value in options.items() if value is not None}
    _check_options(name, plan_file, given)
    if base.sources:
        tool = base.sources[0].tool
        raise UsageError(f"{name}: what {tool} has measured cannot be measured again")
    layers = [_layer_of(base, name), options_layer(given)]
    planned = make_plan(*layers)
    _check_varied(name, planned, against)
    return make_plan(*layers, _layer_against(against, planned, given))


def _check_options(name: str, plan_file: str | None, given: Mapping[str, Any]) -> None:
    """Raises UsageError for what would change what is measured."""
    place = plan_file
    for key in given:
        if OPTIONS[key].group not in ("long", "output") and key not in _OF_NEW:
            place = place or f"--{key.replace('_', '-')}"
    if place is not None:
        raise UsageError(f"{place}: --against measures what {name} has measured; leave it out")


def _check_varied(name: str, plan: Plan, against: Against) -> None:
    """Raises UsageError for a difference in what the base's run varies itself: its launches have
    that of their variant."""
    varied = dict(plan.vary)
    for variable, _ in against.env:
        if f"{ENVIRONMENT}{variable}" in varied:
            raise UsageError(f"--base-env: {variable}: {name} has varied it on its own")
    if against.mpiexec is not None and "mpiexec" in varied:
        raise UsageError(f"--base-mpiexec: {name} has varied mpiexec on its own")


def _layer_of(base: Run, name: str) -> Layer:
    """The plan of the base's run, without what it was itself measured against, and without what
    judged it."""
    keys = {
        key: value
        for key, value in base.header.plan.items()
        if key not in ("against", "preset", *_JUDGING)
    }
    vary = keys.get("vary")
    if isinstance(vary, dict) and SIDE in vary:
        keys["vary"] = {axis: values for axis, values in vary.items() if axis != SIDE}
        if not keys["vary"]:
            del keys["vary"]
    layer = python_layer(keys)
    return layer._replace(place=partial("{}: its plan: {}".format, name))


def _layer_against(against: Against, plan: Plan, given: Mapping[str, Any]) -> Layer:
    """What --against adds to the base's plan: the sides, in five launches each or as many as the
    base had, of as much time in all as that had, unless an option says how long."""
    keys: dict[str, Any] = {"against": against}
    if against.has_sides:
        keys["vary"] = (*plan.vary, SIDES)
        if not {"launches", "until_ci"} & given.keys() and not plan.until_ci:
            keys |= {"launches": max(plan.launches, _ROUNDS), "dealt": plan.dealt}
        says_how_long = any(OPTIONS[key].group == "long" for key in given)
        is_dealt = keys.get("dealt", False)
        if not (says_how_long or is_dealt) and plan.iterations is None and plan.launches < _ROUNDS:
            keys["time"] = plan.time * plan.launches / _ROUNDS
    return Layer(keys, lambda key: f"--{key.replace('_', '-')}")


def status_against(run: Run, shown: bool) -> int:
    """The status of a run that was measured against an earlier one: 1 if anything is slower than
    the base, which was measured in turn with it (`run.sides`), or is in the file that it names;
    prints the comparison if it is to be `shown`. 0 for any other run."""
    if run.sides is None and run.base_file is None:
        return 0
    from halftrip.analysis.compared_run import ComparedRun, sides_of
    from halftrip.analysis.comparison import compare

    sides = sides_of(run)
    if sides is None and run.base_file is not None:
        sides = [ComparedRun.of(load(run.base_file), run.base_file), ComparedRun.of(run, "new")]
    if sides is None:
        return 0
    found = compare(sides[0], sides[1:])
    if shown:
        print_comparisons(found)
    return status(found)
