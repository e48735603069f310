"""Which part of a plan a configuration belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from halftrip.plan.configurations import settings
from halftrip.plan.plan import Plan
from halftrip.plan.setting import Choices
from halftrip.results.configuration import Configuration


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
