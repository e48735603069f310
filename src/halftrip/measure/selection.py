"""Which cases of a plan can be measured here, and which are skipped, with the reason."""

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


def planned(setup: Setup) -> tuple[list[Cases], list[Skip]]:
    """All that the plan asks for of the transports that are there, and which of these are not."""
    skips = [
        Skip(transport=name, reason=next(iter(reasons.values())))
        for name, reasons in setup.missing.items()
        if name not in setup.waits
    ]
    return expand(setup.plan, setup.group.size, setup.waits), skips


def possible(setup: Setup, rounds: Sequence[Cases]) -> tuple[list[Cases], list[Skip]]:
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
    left = iter(index not in refused for index in range(len(cases)))
    kept = [tuple(case for case in round_ if next(left)) for round_ in rounds]
    return [concurrent(round_) for round_ in kept if round_], _skips(cases, refused)


def concurrent(cases: Sequence[Case]) -> Cases:
    """Cases that are measured at the same time, each with how many these are."""
    return tuple(msgspec.structs.replace(case, concurrency=len(cases)) for case in cases)


def _refusal(setup: Setup, case: Case) -> str | None:
    """Why this rank refuses a case, or None; it has no say about others' pairs."""
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
    """Why --placement-state cannot be kept to, or None."""
    pair = setup.connection(case).pair
    if setup.plan.placement_state is None or case.is_simulated:
        return None
    why = None
    if pair.segment is None:
        why = pair.no_segment
    elif pair.shares_core:
        why = "the ranks share a core"
    elif setup.plan.threads > 1:
        why = "where threads run is not looked at, only where ranks do"
    return None if why is None else f"--placement-state: there is no line to tell by: {why}"


def _no_memory(setup: Setup, case: Case, end: CaseEnd) -> str | None:
    """Why this host cannot have the buffers of a case, or None."""
    memory: Memory = MEMORIES.load(end.memory)
    missing = memory.missing(end.pages)
    if missing is not None:
        return missing
    # Out and in, or one for both; and, one-sided, what is exposed.
    rings = 1 + (case.buffers == "separate") + (case.mode == "onesided")
    here = setup.hosts[setup.group.rank]
    ends = sum(setup.hosts[rank] == here for rank in case.pair) * case.concurrency
    needed = rings * (setup.layout(case).bytes + case.align) * ends
    left = memory.available()
    if needed > left:
        return f"buffers need {needed >> 20} MiB on one host, where {left >> 20} MiB are left"
    return None


def _skips(cases: Sequence[Case], refused: Mapping[int, str]) -> list[Skip]:
    """The refused cases, by number, put together where transport and reason are the same."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for index, reason in sorted(refused.items()):
        groups.setdefault((cases[index].transport, reason), []).append(cases[index])
    skips = []
    for (transport, reason), skipped in groups.items():
        gone = set(skipped)
        left = [case for case in cases if case.transport == transport and case not in gone]
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


def _distinct(gone: Sequence[_Value], left: Sequence[_Value]) -> list[_Value] | None:
    """The values of a field among the skipped cases, each once, if they tell these from the cases
    that are left, else None."""
    values = sorted(set(gone))
    return values if left and values != sorted(set(left)) else None
