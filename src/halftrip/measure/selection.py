"""Why a configuration cannot be measured here, and the records that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from halftrip.errors import Unavailable
from halftrip.measure.pair import PairEnd
from halftrip.measure.setup import Setup
from halftrip.memory.allocator import memory_named
from halftrip.plan.configurations import outlasts
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.memory_name import is_of_host
from halftrip.results.records import Skip
from halftrip.transports.base import Transport

# As much is left wherever anything runs; to find out takes longer than most iterations.
_LITTLE_BYTES = 1 << 20


class Refusal(msgspec.Struct, frozen=True):
    """A configuration that a pair cannot measure, and why."""

    configuration: Configuration
    reason: str


def refusal(setup: Setup, pair: PairEnd, configuration: Configuration) -> str | None:
    """Why one end of a pair refuses a configuration, or None. Both ends call it."""
    transport = setup.transport(configuration)

    def check() -> None:
        reason = (
            _missing(transport, pair)
            or transport.refuses(configuration)
            or _no_memory(setup, configuration, pair.context.end_of(configuration))
            or transport.obstacle(configuration, pair.context)
            or _no_placement(setup, pair, configuration)
            or outlasts(setup.plans.of(configuration), configuration)
        )
        if reason is not None:
            raise Unavailable(reason)

    try:
        pair.link.agree(check)
    except Unavailable as error:
        return str(error)
    return None


def _missing(transport: Transport, pair: PairEnd) -> str | None:
    """Why a transport cannot be used between these ranks, or None."""
    if not any(transport.capabilities.patterns.values()):
        return "not in this build of halftrip"
    return transport.missing(pair.context)


def _no_placement(setup: Setup, pair: PairEnd, configuration: Configuration) -> str | None:
    """Why --placement-state is not possible, or None."""
    context = pair.context
    if setup.plan.placement_state is None or configuration.is_simulated:
        return None
    reason = None
    if context.shares_core:
        reason = "the ranks share a core"
    elif setup.plan.threads > 1:
        reason = "only the cores of ranks are probed, not those of threads"
    elif context.segment is None:
        reason = context.no_segment
    return None if reason is None else f"--placement-state: no core-to-core round trip: {reason}"


def _no_memory(setup: Setup, configuration: Configuration, end: EndSettings) -> str | None:
    """Why this host cannot have the buffers of a configuration, or None."""
    try:
        memory = memory_named(end.memory)
    except Unavailable as error:
        return f"--memory {end.memory}: {error}"
    missing = memory.missing(end.pages)
    if missing is not None:
        return missing
    here = setup.hosts[setup.group.rank]
    needed = configuration.concurrency * sum(
        setup.buffer_bytes(configuration, initiates)
        for rank, initiates, other in zip(
            configuration.pair, (True, False), configuration.ends, strict=True
        )
        if setup.hosts[rank] == here and _is_same(other.memory, end.memory)
    )
    if needed <= _LITTLE_BYTES:
        return None
    if needed > memory.available():
        # How much is left changes from configuration to configuration; the reason is to be given
        # once.
        where = "on one host" if is_of_host(end.memory) else f"in {end.memory}"
        return f"buffers need {needed >> 20} MiB {where}, and less is left"
    return None


def _is_same(one: str, other: str) -> bool:
    """Whether memory of two names is taken from the same place: the host, or one device."""
    if one == other or (is_of_host(one) and is_of_host(other)):
        return True
    if is_of_host(one) or is_of_host(other):
        return False
    try:
        devices = [getattr(memory_named(name), "device", name) for name in (one, other)]
    except Unavailable:
        # Why not, the rank says whose memory it is.
        return False
    return bool(devices[0] is devices[1])


def skips(refusals: Sequence[Refusal], settings: Sequence[Configuration], pairs: int) -> list[Skip]:
    """The records of refusals: one for each transport and reason. It names sizes, patterns, modes,
    windows and pairs only where others of `settings`, or of that many `pairs`, remain."""
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for each in refusals:
        groups.setdefault((each.configuration.transport, each.reason), []).append(
            each.configuration
        )
    return [
        _skip(transport, reason, configurations, settings, pairs)
        for (transport, reason), configurations in groups.items()
    ]


def _skip(
    transport: str,
    reason: str,
    skipped: Sequence[Configuration],
    settings: Sequence[Configuration],
    pairs: int,
) -> Skip:
    gone = {configuration.setting for configuration in skipped}
    left = [
        setting for setting in settings if setting.transport == transport and setting not in gone
    ]
    between = sorted({configuration.pair for configuration in skipped})
    patterns = {configuration.pattern for configuration in skipped}
    return Skip(
        transport=transport,
        reason=reason,
        sizes=_distinct([c.size for c in skipped], [c.size for c in left]),
        pairs=between if len(between) < pairs else None,
        patterns=_distinct([c.pattern for c in skipped], [c.pattern for c in left]),
        modes=_distinct([c.mode for c in skipped], [c.mode for c in left]),
        # Each pattern has windows of its own.
        windows=_distinct(
            [c.window for c in skipped], [c.window for c in left if c.pattern in patterns]
        ),
    )


_Value = TypeVar("_Value", int, str, tuple[int, int])


def _distinct(skipped: Sequence[_Value], left: Sequence[_Value]) -> list[_Value] | None:
    """The values of a field of the skipped configurations, each once, if the configurations that
    are left have other values; else None."""
    values = sorted(set(skipped))
    return values if left and values != sorted(set(left)) else None
