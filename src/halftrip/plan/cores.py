"""How many ranks the cores of a plan are for."""

from __future__ import annotations

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.plan import Plan


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
