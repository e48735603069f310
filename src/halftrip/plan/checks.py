"""Keys of a plan that contradict each other: each check raises UsageError that says which."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.errors import UsageError
from halftrip.plan.layer import Layer, place_of
from halftrip.plan.memory import missing_node
from halftrip.plan.plan import FEWEST_UNTIL_CI, MOST_LAUNCHES, Plan
from halftrip.plan.variants import MOST_VARIANTS, count_variants, plans_of_variants
from halftrip.plan.vary import ENVIRONMENT, SIDES, cannot_be_varied
from halftrip.registry import needing
from halftrip.results.reported import SIDE


def check_launches(plan: Plan, layers: Sequence[Layer]) -> None:
    """The keys about launches."""
    if plan.until_ci and plan.ci is None:
        place = place_of(layers, "until_ci")
        raise UsageError(f"{place}: there is no interval to wait for; give --ci")
    fewest = max(plan.launches, FEWEST_UNTIL_CI)
    if plan.until_ci and plan.max_launches < fewest:
        given = plan.max_launches != MOST_LAUNCHES
        place = place_of(layers, "max_launches" if given else "launches")
        raise UsageError(
            f"{place}: --until-ci takes {fewest} launches at least, {plan.max_launches} at most"
        )
    if not plan.until_ci and plan.max_launches != MOST_LAUNCHES:
        place = place_of(layers, "max_launches")
        raise UsageError(f"{place}: only --until-ci has such a limit; use --launches")


def check_dragon(plan: Plan, asked: Sequence[Layer]) -> None:
    """A runtime of Dragon that was asked for, and that nothing needs."""
    if plan.launcher == "dragon" or not any("dragon" in layer.keys for layer in asked):
        return
    if not needing("dragon", plan.used_transports):
        names = ", ".join(needing("dragon"))
        place = place_of(asked, "dragon")
        raise UsageError(f"{place}: nothing here needs Dragon; --transport {names} would")


def check_hosts(plan: Plan, asked: Sequence[Layer]) -> None:
    """The keys about hosts."""
    for name, needed in (("ssh", "hosts"), ("remote_command", "hosts"), ("secret_file", "peer")):
        if getattr(plan, needed) is None and any(name in layer.keys for layer in asked):
            raise UsageError(f"{place_of(asked, name)}: only with --{needed}")
    for name, launcher, others in (
        ("hosts", "ssh", ("peer", "mpiexec", "launcher")),
        ("peer", "peer", ("mpiexec", "launcher")),
    ):
        for other in others:
            if getattr(plan, name) is not None and getattr(plan, other) not in (None, launcher):
                said = "an mpiexec has --host of its own" if other == "mpiexec" else "leave it out"
                raise UsageError(f"--{other}: --{name} starts ranks by itself; {said}")


def check_nodes(plan: Plan, asked: Sequence[Layer]) -> None:
    """Host memory of NUMA nodes, where all ranks are started on this host."""
    if plan.spans_hosts or plan.mpiexec is not None or plan.launcher is not None:
        return
    for name in dict.fromkeys(name for part in plan.part_plans for name in part.memory):
        reason = missing_node(name)
        if reason is not None:
            named = [each for each in asked if {"memory_node", "memory"} & each.keys.keys()]
            place = place_of(named, "memory_node", "memory") if named else "memory"
            raise UsageError(f"{place}: {reason}")


def check_vary(plan: Plan, layers: Sequence[Layer]) -> None:
    """What is varied: every combination has to make a plan."""
    sides = [axis for axis in plan.vary if axis[0] == SIDE]
    if sides != ([SIDES] if plan.against is not None and plan.against.has_sides else []):
        raise UsageError(f"{place_of(layers, 'vary', 'against')}: {cannot_be_varied(SIDE)}")
    if not plan.vary:
        return
    place = "--against" if sides else place_of(layers, "vary")
    count = count_variants(plan)
    if count > MOST_VARIANTS:
        raise UsageError(f"{place}: {count} combinations are too many; at most {MOST_VARIANTS}")
    variables = [name for name, _ in plan.vary if name.startswith(ENVIRONMENT)]
    variables += [name for name, _ in plan.against.env] if plan.against is not None else []
    if plan.peer is not None and variables:
        said = "halftrip serve starts its ranks with an environment of its own"
        raise UsageError(f"{place}: {variables[0]}: with --peer, {said}")
    try:
        plans = plans_of_variants(plan)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    for each in plans:
        # What is different about a base is asked for, too.
        named = dict(each.vary) | ({"mpiexec": ()} if each.mpiexec is not None else {})
        varied = Layer(named, lambda name: f"{place}: {name}")
        check_hosts(each, [varied])
        check_dragon(each, [varied])
