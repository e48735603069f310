"""Selects the cases of a plan that can be measured here; the others are skipped, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from halftrip.measure.setup import Setup
from halftrip.memory.allocator import Memory
from halftrip.plan.cases import expand, outlasts
from halftrip.registry import MEMORIES
from halftrip.results.case import Case, CaseEnd
from halftrip.results.records import Skip

# Cases that are measured at the same time, each between two ranks of its own.
Cases = tuple[Case, ...]


def planned_rounds(setup: Setup) -> tuple[list[Cases], list[Skip]]:
    """All rounds of the plan over the available transports, and why the others are missing."""
    skips = [
        Skip(transport=name, reason=next(iter(reasons.values())))
        for name, reasons in setup.missing.items()
        if name not in setup.waits
    ]
    return expand(setup.plan, setup.group.size, setup.waits), skips


def possible_rounds(setup: Setup, rounds: Sequence[Cases]) -> tuple[list[Cases], list[Skip]]:
    """The rounds without the cases that some rank refuses, and why these are skipped. All ranks
    call it."""
    cases = [case for round_ in rounds for case in round_]
    refused: dict[int, str] = {}
    for index, case in enumerate(cases):
        reason = _refusal(setup, case)
        if reason is not None:
            refused[index] = reason
    for other in setup.group.allgather(refused, dict[int, str]):
        refused |= other
    is_kept = iter(index not in refused for index in range(len(cases)))
    kept = [tuple(case for case in round_ if next(is_kept)) for round_ in rounds]
    return [with_concurrency(round_) for round_ in kept if round_], _skips(cases, refused)


def with_concurrency(cases: Sequence[Case]) -> Cases:
    """The cases of a round, each with its `concurrency` set to their number."""
    return tuple(msgspec.structs.replace(case, concurrency=len(cases)) for case in cases)


def _refusal(setup: Setup, case: Case) -> str | None:
    """Why this rank refuses a case, or None; it refuses none of other pairs."""
    connection = setup.connection(case)
    if not connection.member:
        return None
    return (
        setup.missing[case.transport].get((case.pair, case.thread))
        or setup.transport(case).refuses(case)
        or _no_placement(setup, case)
        or _no_memory(setup, case, connection.pair.end_of(case))
        or outlasts(setup.plan, case)
    )


def _no_placement(setup: Setup, case: Case) -> str | None:
    """Why --placement-state is not possible, or None."""
    pair = setup.connection(case).pair
    if setup.plan.placement_state is None or case.is_simulated:
        return None
    reason = None
    if pair.segment is None:
        reason = pair.no_segment
    elif pair.shares_core:
        reason = "the ranks share a core"
    elif setup.plan.threads > 1:
        reason = "only the cores of ranks are probed, not those of threads"
    return None if reason is None else f"--placement-state: no core-to-core round trip: {reason}"


def _no_memory(setup: Setup, case: Case, end: CaseEnd) -> str | None:
    """Why this host cannot have the buffers of a case, or None."""
    memory: Memory = MEMORIES.load(end.memory)
    missing = memory.missing(end.pages)
    if missing is not None:
        return missing
    # One to send from and one to receive into, or one for both; one-sided, another is exposed.
    rings = 1 + (case.buffers == "separate") + (case.mode == "onesided")
    here = setup.hosts[setup.group.rank]
    ends = sum(setup.hosts[rank] == here for rank in case.pair) * case.concurrency
    needed = rings * (setup.layout(case).bytes + case.align) * ends
    available = memory.available()
    if needed > available:
        return f"buffers need {needed >> 20} MiB on one host, where {available >> 20} MiB are left"
    return None


def _skips(cases: Sequence[Case], refused: Mapping[int, str]) -> list[Skip]:
    """The records of the refused cases, whose reasons are by number: one for each transport and
    reason."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for index, reason in sorted(refused.items()):
        groups.setdefault((cases[index].transport, reason), []).append(cases[index])
    skips = []
    for (transport, reason), skipped in groups.items():
        refused_cases = set(skipped)
        left = [case for case in cases if case.transport == transport and case not in refused_cases]
        skips.append(
            Skip(
                transport=transport,
                reason=reason,
                sizes=_distinct([c.size for c in skipped], [c.size for c in left]),
                pairs=_distinct([c.pair for c in skipped], [c.pair for c in left]),
                patterns=_distinct([c.pattern for c in skipped], [c.pattern for c in left]),
                modes=_distinct([c.mode for c in skipped], [c.mode for c in left]),
            )
        )
    return skips


_Value = TypeVar("_Value", int, str, tuple[int, int])


def _distinct(skipped: Sequence[_Value], left: Sequence[_Value]) -> list[_Value] | None:
    """The values of a field of the skipped cases, each once, if the cases that are left have other
    values; else None."""
    values = sorted(set(skipped))
    return values if left and values != sorted(set(left)) else None
