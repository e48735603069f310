"""How the slices of a run are dealt to launches: sets of fresh processes, one after the other.

What a launch changes is above all which pages of memory its paths get; a path keeps that level for
as long as its processes live, so slices of one launch do not tell it. A plan that does not say how
many launches there are is dealt to as many as its time holds.
"""

from __future__ import annotations

import math

import msgspec

from halftrip.plan.cost import cost_of
from halftrip.plan.plan import Plan
from halftrip.plan.slices import LEAST_SLICE_SECONDS
from halftrip.plan.variants import count_variants
from halftrip.plan.vary import ENVIRONMENT
from halftrip.registry import SIMULATED, needing
from halftrip.results.memory_name import both_memories, is_of_host

# Options of an mpiexec that say on which hosts ranks run.
_HOST_OPTIONS = {"host", "hosts", "H", "hostfile", "hostlist", "machinefile", "machine", "f"}
# An interval over ten medians is within the second lowest and the second highest, so that one
# launch that something disturbed does not widen it.
MOST_DEALT = 10
# Of two or three, Student's interval is so wide that slices of one launch say more.
FEWEST_DEALT = 4
# The time of a configuration, s, where nobody says it: a third of what it is in one launch. Its
# figure is not known better than launches differ, and each launch opens its paths and warms up
# anew.
DEALT_SECONDS = 0.1
# Two slices of a launch tell how much its own level is worth.
_SLICES_EACH = 2
# Until ranks measure, this takes about so long, s: forks of a process, or an mpiexec and MPI_Init.
_START_SECONDS = 0.25
_MPI_START_SECONDS = 1.5
# What the system log adds to each launch, s: it rests before and after all configurations.
_LOG_SECONDS = 2.0
# In each launch, the first slice of a row takes this much longer than it samples, s: it opens its
# path, calibrates and warms up.
_FIRST_SLICE_SECONDS = 0.01
# The starts of all launches may take so many times as long as all configurations are sampled.
_MOST_STARTS = 20.0
# With --max-duration, starts and the first slices may take this share of it.
_START_SHARE = 0.6


def deal(plan: Plan) -> Plan:
    """The plan, whose slices are dealt to as many launches as its time holds, if they can be.

    They are not where a launch takes long and pages matter little (other hosts, also by arguments
    of an mpiexec, devices, Dragon), in virtual time, with a fixed count, which is that of a launch,
    and where the plan depends on what was measured (--refine, --placement-state)."""
    plan = msgspec.structs.replace(plan, launches=1, dealt=False)
    launches = min(MOST_DEALT, _most_by_slices(plan), _most_by_time(plan)) if _suits(plan) else 1
    return (
        plan
        if launches < FEWEST_DEALT
        else msgspec.structs.replace(plan, launches=launches, dealt=True)
    )


def plan_of_launch(plan: Plan) -> Plan:
    """The plan as each launch measures it: with its part of the slices and of the time."""
    if not plan.dealt:
        return plan
    return msgspec.structs.replace(
        plan, slices=math.ceil(plan.slices / plan.launches), time=plan.time / plan.launches
    )


def undealt(plan: Plan) -> Plan:
    """The plan for ranks that are started once."""
    return msgspec.structs.replace(plan, launches=1, dealt=False) if plan.dealt else plan


def _suits(plan: Plan) -> bool:
    has_count = any(part.iterations is not None for part in plan.part_plans)
    chosen = (plan.until_ci, plan.refine, plan.placement_state is not None, has_count)
    elsewhere = plan.spans_hosts or plan.launcher not in (None, "local", "mpiexec")
    mpiexecs = [plan.mpiexec or "", *dict(plan.vary).get("mpiexec", ())]
    elsewhere |= any(map(_names_hosts, mpiexecs))
    # What else is varied may be where ranks run.
    elsewhere |= any(
        not name.startswith(ENVIRONMENT) and name not in ("mpiexec", "cores")
        for name, _ in plan.vary
    )
    elsewhere |= any(
        not all(is_of_host(name) for name in both_memories(text) or ())
        for part in plan.part_plans
        for text in part.memory
    )
    starts_dragon = bool(needing("dragon", plan.used_transports))
    is_simulated = set(plan.transports) <= {SIMULATED}
    return not (any(chosen) or elsewhere or starts_dragon or is_simulated)


def _names_hosts(mpiexec: str) -> bool:
    """Whether the arguments of an mpiexec name hosts, or a file of hosts."""
    options = {word.lstrip("-").partition("=")[0] for word in mpiexec.split() if word[0] == "-"}
    return not options.isdisjoint(_HOST_OPTIONS)


def _most_by_slices(plan: Plan) -> int:
    each = max(_SLICES_EACH, math.ceil(plan.slices / MOST_DEALT))
    long_enough = int(plan.time / (_SLICES_EACH * LEAST_SLICE_SECONDS))
    return min(math.ceil(plan.slices / each), long_enough)


def _most_by_time(plan: Plan) -> int:
    """How many launches there is time for, as far as that can be told before the first."""
    turns = cost_of(plan, plan.ranks or 2).turns
    by_mpi = plan.mpiexec is not None or plan.launcher == "mpiexec"
    by_mpi |= bool(needing("mpi", plan.used_transports))
    by_mpi |= any(name == "mpiexec" for name, _ in plan.vary)
    start = _MPI_START_SECONDS if by_mpi else _START_SECONDS
    if plan.system_log:
        start += _LOG_SECONDS
    most = _MOST_STARTS * turns * plan.time / start
    if plan.max_duration is not None:
        launch = start + turns * _FIRST_SLICE_SECONDS
        most = min(most, _START_SHARE * plan.max_duration / (launch * count_variants(plan)))
    return int(min(most, MOST_DEALT))
