"""What a plan takes: computed from its keys alone, before anything is made of it."""

from __future__ import annotations

import math
from typing import NamedTuple

from halftrip.errors import UsageError
from halftrip.plan.pairing import Schedule
from halftrip.plan.plan import Plan
from halftrip.plan.settings import SEVERAL
from halftrip.registry import SIMULATED

# Processes of this host are started in the end: more are a mistake, whatever the key is.
MOST_RANKS = 4096
MOST_THREADS = 1024
MOST_THREADS_IN_ALL = 16_384
# Configurations of one pair, and rows: of all pairs.
MOST_CONFIGURATIONS = 200_000
MOST_ROWS = 1_000_000
# A run is not planned for longer, s.
LONGEST_SECONDS = 366 * 86400.0
# No message takes less, s; in virtual time it has to be computed.
_LEAST_ITERATION_SECONDS = 1e-9
_SIMULATED_ITERATION_SECONDS = 2e-8
# Keys of a plan that may have several values; an empty one counts as one value.
_SEVERAL = ("transport", "pattern", "mode", *SEVERAL)


class Cost(NamedTuple):
    """What a plan takes at most: `configurations` of one pair, in all so many `turns`, one after
    the other, and `rows` of all pairs; `threads` of all ranks. `seconds` is the time of samples
    alone, of all launches that are certain, if all pairs talk one after the other."""

    ranks: int
    threads: int
    configurations: int
    turns: int
    rows: int
    seconds: float


def cost_of(plan: Plan, ranks: int) -> Cost:
    """The cost of a plan that this many ranks measure, in a time that does not depend on it.
    Raises UsageError if they cannot form its pairs."""
    schedule = Schedule(ranks, plan.pairs)
    by_part = [_configurations(part) for part in plan.part_plans]
    if plan.message_rate:
        by_part += [len(part.transport) for part in plan.part_plans]
    # A configuration is measured with each limit on the pairs that talk at the same time.
    configurations = sum(by_part) * len(plan.limits)
    rows = configurations * schedule.pairs_in_all
    turns = schedule.rounds * configurations
    # Launches that the time is dealt to have it together.
    seconds = (1 if plan.dealt else plan.launches) * turns * _seconds(plan)
    return Cost(ranks, ranks * plan.threads, configurations, turns, rows, seconds)


def check_cost(plan: Plan, ranks: int) -> None:
    """Raises UsageError, with the sum, for a plan that takes more than any run should."""
    if ranks > MOST_RANKS:
        raise UsageError(f"{ranks} ranks are too many; at most {MOST_RANKS}")
    cost = cost_of(plan, ranks)
    for number, what, most in (
        (cost.threads, "threads of all ranks", MOST_THREADS_IN_ALL),
        (cost.configurations, "configurations", MOST_CONFIGURATIONS),
        (cost.rows, "rows of all pairs", MOST_ROWS),
    ):
        if number > most:
            raise UsageError(f"the plan has {number:,} {what}; at most {most:,} can be measured")
    if plan.max_duration is None and cost.seconds > LONGEST_SECONDS:
        days = cost.seconds / 86400
        raise UsageError(
            f"the plan takes {days:,.0f} days at least; "
            f"at most {LONGEST_SECONDS / 86400:.0f}, or limit it with --max-duration"
        )


def _configurations(plan: Plan) -> int:
    """How many a plan without parts has, at most: not every pattern has every mode."""
    sizes = len(plan.sizes) * (3 if plan.perturb else 1)
    several = [getattr(plan, name) for name in _SEVERAL] + [values for _, values in plan.extra]
    return sizes * math.prod(max(1, len(values)) for values in several)


def _seconds(plan: Plan) -> float:
    """How long the samples of a configuration take, at least."""
    if plan.iterations is not None:
        is_simulated = set(plan.transports) == {SIMULATED}
        return plan.iterations * (
            _SIMULATED_ITERATION_SECONDS if is_simulated else _LEAST_ITERATION_SECONDS
        )
    return 0.0 if plan.ci is not None else plan.time
