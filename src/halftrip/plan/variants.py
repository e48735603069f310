"""The variants of a plan: what its launches have of each axis that it varies, and their order."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import Plan
from halftrip.plan.vary import STARTING_KEYS
from halftrip.results.reported import BASE, SIDE, Variant

# Of a plan. Each is at least one launch.
MOST_VARIANTS = 1000


def variants(plan: Plan) -> list[Variant]:
    """Every combination of the values of a plan's axes, the last axis changing fastest; of a plan
    without any, only the one that says nothing."""
    names = [name for name, _ in plan.vary]
    combinations = product(*(values for _, values in plan.vary))
    return [variant_of(dict(zip(names, values, strict=True))) for values in combinations]


def variant_of(values: dict[str, str]) -> Variant:
    return tuple(sorted(values.items()))


def plan_of(plan: Plan, variant: Variant) -> Plan:
    """The plan of the launches of one variant. Raises UsageError for a value that is none."""
    keys: dict[str, Any] = {}
    base = plan.against if dict(variant).get(SIDE) == BASE else None
    if base is not None and base.mpiexec is not None:
        keys["mpiexec"] = base.mpiexec
    for name, value in variant:
        if name in STARTING_KEYS:
            try:
                keys[name] = OPTIONS[name].read(value)
            except UsageError as error:
                raise UsageError(f"{name}: {error}") from None
    axes = tuple((name, (value,)) for name, value in variant)
    of_variant = msgspec.structs.replace(plan, vary=axes, **keys)
    if isinstance(of_variant.cores, tuple) and "cores" in keys:
        try:
            return with_cores(of_variant, of_variant.cores)
        except UsageError as error:
            several = "" if len(of_variant.cores) > 1 else "; several such: cores=0,1;2,3"
            raise UsageError(f"cores: {error}{several}") from None
    return of_variant


def plans_of_variants(plan: Plan) -> list[Plan]:
    """The plan of each variant; of a plan that varies nothing, the plan itself."""
    return [plan_of(plan, variant) for variant in variants(plan)] if plan.vary else [plan]


def count_variants(plan: Plan) -> int:
    """How many variants a plan has, however many these are."""
    return math.prod(len(values) for _, values in plan.vary)


def in_order(found: Sequence[Variant], round_: int) -> list[Variant]:
    """The variants in the order in which this round has them: another one in each round, and always
    the same in that one, so that a run that is resumed goes on in it. In a fixed order, whatever
    drifts through a round would fall on the same variants each time."""
    shuffled = list(found)
    random.Random(round_).shuffle(shuffled)  # noqa: S311 (not a secret)
    return shuffled


def with_cores(plan: Plan, cores: tuple[int, ...]) -> Plan:
    """The plan with as many ranks as it has cores for. Raises UsageError if there is not one core
    for each thread of each rank."""
    ranks = max(2, len(cores) // plan.threads) if plan.ranks is None else plan.ranks
    needed = ranks * plan.threads
    if len(cores) != needed:
        count = "1 core" if len(cores) == 1 else f"{len(cores)} cores"
        threads = f" of {plan.threads} threads" if plan.threads > 1 else ""
        example = ",".join(map(str, range(needed))) if needed <= 4 else f"0-{needed - 1}"
        raise UsageError(
            f"{count} for {ranks} ranks{threads}; name {needed}, one for each, as {example}"
        )
    return msgspec.structs.replace(plan, ranks=ranks)
