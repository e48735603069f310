"""The configurations of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple, cast

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.memory import StagingKind, staging_bytes
from halftrip.plan.pairing import Pair
from halftrip.plan.plan import Plan
from halftrip.plan.sizes import perturb
from halftrip.results.configuration import (
    TUNING,
    Cache,
    Configuration,
    DeviceCopy,
    EndSettings,
    Object,
    Ownership,
    Pages,
    Places,
    Socket,
    Tuning,
    TuningField,
    Wait,
)
from halftrip.results.memory_name import both_memories, is_of_host
from halftrip.results.patterns import SHAPES, STREAM, Pattern
from halftrip.units import significant

# The size of the messages that are counted in a second, and what else has several values.
_MESSAGE_BYTES = 8
_SETTINGS = (
    "places",
    "touch",
    "wait",
    "buffers",
    "memory",
    "pages",
    "cache",
    "align",
    "datatype",
    "object",
    "socket",
    "ownership",
    "staging",
    "device_copy",
    *TUNING,
)


class Choices(NamedTuple):
    """The values that a transport has of the settings whose default is its own, the default first;
    empty: it has no such setting. `tuning` are the settings of its sockets. `staging` is how it
    takes messages in a device's memory: as they are, or staged."""

    wait: tuple[Wait, ...]
    object: tuple[Object, ...] = ("buffer",)
    socket: tuple[Socket, ...] = ()
    ownership: tuple[Ownership, ...] = ()
    tuning: tuple[TuningField, ...] = ()
    staging: tuple[StagingKind, ...] = ()
    device_copy: tuple[DeviceCopy, ...] = ()


def settings(plan: Plan, choices: Mapping[str, Choices]) -> list[Configuration]:
    """Every configuration of the plan once, in the order of a table, without the ranks that measure
    it. `choices` are those of each transport."""
    parts = plan.part_plans
    found = [setting for part in parts for setting in _settings(part, choices)]
    if plan.message_rate:
        found += [each for part in parts for each in _settings(_of_message_rate(part), choices)]
    return list(dict.fromkeys(found))


def _of_message_rate(plan: Plan) -> Plan:
    """A stream of small messages, the first of every other setting."""
    return msgspec.structs.replace(
        plan,
        pattern=(STREAM,),
        mode=(),
        sizes=(_MESSAGE_BYTES,),
        perturb=0,
        window=(),
        delay=(0,),
        **{name: getattr(plan, name)[:1] for name in _SETTINGS},
    )


def _settings(plan: Plan, choices: Mapping[str, Choices]) -> list[Configuration]:
    return [
        Configuration(
            transport=transport,
            pattern=pattern,
            mode=mode,
            size=size,
            initiator=ends[0],
            responder=ends[1],
            buffers=buffers,
            cache=cache,
            window=window,
            places=places,
            touch=touch,
            delay=delay,
            align=align,
            datatype=datatype,
            object=object_,
            socket=socket,
            ownership=ownership,
            tuning=tuning,
            staging=staging,
            device_copy=device_copy,
            rate=plan.rate,
            verify=plan.verify,
            variant=plan.variant,
        )
        for transport in plan.transport
        if transport in choices
        for of_transport in [choices[transport]]
        for pattern in plan.pattern
        for mode in plan.mode or SHAPES[pattern].modes[:1]
        for window in _windows(plan, pattern)
        for wait in plan.wait or of_transport.wait[:1]
        for memory, buffers, pages in product(plan.memory, plan.buffers, plan.pages)
        for ends in [_ends(memory, pages, wait)]
        for cache in plan.cache
        for places in _places(plan, window, cache)
        for touch in plan.touch
        for delay in _delays(plan, pattern, window)
        for align in plan.align
        for datatype in plan.datatype
        for object_ in _chosen(plan.object, of_transport.object)
        for socket in _chosen(plan.socket, of_transport.socket)
        for ownership in _chosen(plan.ownership, of_transport.ownership)
        for tuning in _tunings(plan, of_transport.tuning)
        for staging in _stagings(plan, of_transport.staging, memory)
        for device_copy in _chosen(plan.device_copy, of_transport.device_copy)
        for size in perturb(plan.sizes, plan.perturb)
    ]


def _chosen(asked: tuple[str, ...], values: tuple[str, ...]) -> tuple[Any, ...]:
    """The values of a setting that a transport has `values` of: what was asked for does not apply
    where there is no choice."""
    return (asked if len(values) > 1 else ()) or values[:1] or (None,)


def _stagings(plan: Plan, kinds: tuple[StagingKind, ...], memory: str) -> list[int | None]:
    """How messages between the memory of both ends are staged: none are where the processor reaches
    both, and a transport that knows a single way has it for all that was asked."""
    if not kinds or all(map(is_of_host, _both_of(memory))):
        return [None]
    asked = [staging_bytes(text) for text in plan.staging]
    possible = [each for each in asked if ("none" if each is None else "staged") in kinds]
    return possible or [None if kinds[0] == "none" else 0]


def _both_of(memory: str) -> tuple[str, str]:
    """The names of both ends' memory."""
    names = both_memories(memory)
    if names is None:
        raise UsageError(f"memory: {memory!r} is no kind of memory, nor two of them")
    return names


def _tunings(plan: Plan, names: tuple[TuningField, ...]) -> list[Tuning]:
    """The sockets of a transport that has the settings `names`, with every value of each."""
    return [
        Tuning(**dict(zip(names, values, strict=True)))
        for values in product(*(getattr(plan, name) for name in names))
    ]


def configuration_of(
    plan: Plan, setting: Configuration, pair: Pair, thread: int, concurrent_pairs: int
) -> Configuration:
    """`setting` as measured between thread number `thread` of both ranks of `pair`, while so many
    pairs talk."""
    initiator, responder = (
        msgspec.structs.replace(end, core=_requested_core(plan, rank, thread))
        for end, rank in zip(setting.ends, pair, strict=True)
    )
    return msgspec.structs.replace(
        setting,
        pair=pair,
        thread=thread,
        initiator=initiator,
        responder=responder,
        concurrency=concurrent_pairs * plan.threads,
    )


def _requested_core(plan: Plan, rank: int, thread: int) -> int | None:
    if not isinstance(plan.cores, tuple):
        return None
    return plan.cores[rank * plan.threads + thread]


def _ends(memory: str, pages: str, wait: str) -> tuple[EndSettings, EndSettings]:
    """Both ends with the settings in texts such as ``spin`` or ``spin:block``."""
    # Not by msgspec, which can crash where two threads are the first to convert to a type.
    initiator, responder = (
        EndSettings(memory=m, pages=cast("Pages", p), wait=cast("Wait", w))
        for m, p, w in zip(_both_of(memory), _both(pages), _both(wait), strict=True)
    )
    return initiator, responder


def _both(setting: str) -> tuple[str, str]:
    initiator, _, responder = setting.partition(":")
    return initiator, responder or initiator


# Hardly any path is faster, bytes per second; only puts within the first-level cache are, slightly.
_FASTEST = 1e11
# A window that takes longer than this many times --time is refused: a configuration needs several.
_MOST_TIMES = 10


def outlasts(plan: Plan, configuration: Configuration) -> str | None:
    """Why a single window of a configuration takes far longer than --time allows, or None. Its time
    is its payload over its rate, or, without a rate, over the bandwidth of the fastest path; and
    its delays."""
    if plan.iterations is not None:
        return None
    seconds = configuration.window * configuration.size / (configuration.rate or _FASTEST)
    seconds += configuration.delay_per_iteration * 1e-9
    if seconds <= _MOST_TIMES * plan.time:
        return None
    by = "even at 100 GB/s"
    if configuration.delay or configuration.rate:
        by = "with this --delay" if configuration.delay else "at this --rate"
    window = f"a window of {configuration.window} takes {significant(seconds, 2)} s {by}"
    return f"{window}, --time allows {plan.time:g} s"


def _places(plan: Plan, window: int, cache: Cache) -> tuple[Places, ...]:
    """The places of a window's messages. A single message has only one. A cold cache and --verify
    need one for each."""
    if window == 1:
        return ("same",)
    return ("own",) if cache == "cold" or plan.verify else plan.places


def _delays(plan: Plan, pattern: Pattern, window: int) -> tuple[int, ...]:
    """The delays of a window's messages: a stream of one has nothing between its sends."""
    return (0,) if pattern == STREAM and window == 1 else plan.delay


def _windows(plan: Plan, pattern: Pattern) -> tuple[int, ...]:
    default = SHAPES[pattern].window
    return (1,) if default is None else plan.window or (default,)
