"""The configurations of a plan, and which part of it each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, cast

import msgspec

from halftrip.plan.memory import both_of
from halftrip.plan.pairing import Pair
from halftrip.plan.plan import Plan
from halftrip.plan.setting import Choices, Point, Setting
from halftrip.plan.settings import SEVERAL, in_place, ordered
from halftrip.plan.sizes import perturb
from halftrip.results.configuration import Configuration, EndSettings, Pages, Tuning, Wait
from halftrip.results.patterns import SHAPES, STREAM
from halftrip.units import significant

# The size of the messages that are counted in a second.
_MESSAGE_BYTES = 8
# Expanded first: the values of other settings depend on these.
_FIRST = ("verify", "window", "wait", "memory", "buffers", "pages", "cache")


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
    firsts = {name: getattr(plan, name)[:1] for name in SEVERAL}
    return msgspec.structs.replace(
        plan,
        pattern=(STREAM,),
        mode=(),
        sizes=(_MESSAGE_BYTES,),
        perturb=0,
        extra=tuple((name, values[:1]) for name, values in plan.extra),
        **(firsts | {"window": (), "delay": (0,)}),
    )


def _settings(plan: Plan, choices: Mapping[str, Choices]) -> list[Configuration]:
    found = []
    configuration = _maker(plan)
    for transport in plan.transport:
        if transport not in choices:
            continue
        points: Iterable[dict[str, Any]] = (
            {"transport": transport, "pattern": pattern, "mode": mode}
            for pattern in plan.pattern
            for mode in plan.mode or SHAPES[pattern].modes[:1]
        )
        for setting in ordered(_FIRST):
            points = _with_values(points, setting, plan, choices[transport].get(setting.name))
        sizes = perturb(plan.sizes, plan.perturb)
        for point in points:
            curve = configuration(point)
            found += [msgspec.structs.replace(curve, size=size) for size in sizes]
    return found


def _with_values(
    points: Iterable[dict[str, Any]], setting: Setting, plan: Plan, own: tuple[Any, ...] | None
) -> Iterator[dict[str, Any]]:
    """Each point with each value of one more setting, of which the transport has its `own`."""
    asked = plan.asked(setting.name)
    for point in points:
        for value in setting.values(Point(asked, own, setting.standard, point)):
            yield point | {setting.name: value}


def _maker(plan: Plan) -> Callable[[dict[str, Any]], Configuration]:
    """What makes the configuration with some settings, and a size of 0; there may be thousands."""
    of_ends, of_sockets, of_extra = (
        [each.name for each in in_place(place)] for place in ("ends", "sockets", "extra")
    )
    both_ends, tuning, variant = cache(_ends), cache(Tuning), plan.variant

    def make(values: dict[str, Any]) -> Configuration:
        initiator, responder = both_ends(**{name: values.pop(name) for name in of_ends})
        extra = [(name, values.pop(name)) for name in of_extra]
        return Configuration(
            size=0,
            initiator=initiator,
            responder=responder,
            tuning=tuning(**{name: values.pop(name) for name in of_sockets}),
            extra=tuple(sorted((name, value) for name, value in extra if value is not None)),
            variant=variant,
            **values,
        )

    return make


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
        for m, p, w in zip(both_of(memory), _both(pages), _both(wait), strict=True)
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
    seconds = configuration.bytes_in_flight / (configuration.rate or _FASTEST)
    seconds += configuration.delay_per_iteration * 1e-9
    if seconds <= _MOST_TIMES * plan.time:
        return None
    by = "even at 100 GB/s"
    if configuration.delay or configuration.rate:
        by = "with this --delay" if configuration.delay else "at this --rate"
    window = f"a window of {configuration.window} takes {significant(seconds, 2)} s {by}"
    return f"{window}, --time allows {plan.time:g} s"


class PartPlans:
    """The configurations of `plan`, and the plan of the part that each belongs to: it says how many
    iterations the configuration has. Of one in several parts it has the largest numbers, and all
    limits on the pairs that talk at the same time. `choices` are those of each transport."""

    def __init__(self, plan: Plan, choices: Mapping[str, Choices]) -> None:
        self._of_setting: dict[Configuration, Plan] = {}
        self._of_curve: dict[Configuration, Plan] = {}
        self._plan = plan
        self._choices = choices
        unvaried = msgspec.structs.replace(plan, vary=())
        for each in unvaried.part_plans if plan.part else ():
            for setting in settings(each, choices):
                _add(self._of_setting, setting, each)
                _add(self._of_curve, setting.curve, each)

    @cached_property
    def settings(self) -> list[Configuration]:
        """Every configuration of the plan, without the ranks that measure it; see `settings`."""
        return settings(self._plan, self._choices)

    def of(self, configuration: Configuration) -> Plan:
        """The plan of a configuration, whoever measures it. A size that --refine added has the
        largest numbers of its curve."""
        if not self._of_setting:
            return self._plan
        # All variants have the same parts.
        setting = msgspec.structs.replace(configuration.setting, variant=())
        found = self._of_setting.get(setting)
        return found or self._of_curve.get(setting.curve, self._plan)


def _add(plans: dict[Configuration, Plan], key: Configuration, plan: Plan) -> None:
    known = plans.get(key, plan)
    plans[key] = msgspec.structs.replace(
        known,
        iterations=_larger(known.iterations, plan.iterations),
        warmup=_larger(known.warmup, plan.warmup),
        concurrent_pairs=tuple(dict.fromkeys([*known.concurrent_pairs, *plan.concurrent_pairs])),
    )


def _larger(one: int | None, other: int | None) -> int | None:
    return max((number for number in (one, other) if number is not None), default=None)
