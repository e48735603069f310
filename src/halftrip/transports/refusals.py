"""Refuses a plan that no machine could measure, before any process is started."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from halftrip.errors import UsageError
from halftrip.plan.configurations import PartPlans, outlasts
from halftrip.plan.plan import Plan
from halftrip.plan.setting import Choices
from halftrip.plan.settings import in_place
from halftrip.registry import TRANSPORTS
from halftrip.results.memory_name import both_memories, is_of_host
from halftrip.transports.base import ProcessContext, Transport

# More reasons than this are no help.
_MOST_REASONS = 4


def check_possible(plan: Plan) -> PartPlans:
    """The plan of each configuration. Raises UsageError, with the reasons, if every configuration
    of the plan is refused on any machine."""
    transports = _transports(plan)
    choices = _choices(transports)
    _check_settings(plan, choices.values())
    plans = PartPlans(plan, choices)
    refused: dict[str, dict[str, None]] = {}
    for configuration in plans.settings:
        reason = transports[configuration.transport].refuses(configuration)
        # Without a rate, the time of a window depends on the machine.
        if reason is None and configuration.rate is not None:
            reason = outlasts(plans.of(configuration), configuration)
        if reason is None:
            return plans
        refused.setdefault(reason, {})[configuration.transport] = None
    reasons = [f"{', '.join(names)}: {reason}" for reason, names in refused.items()]
    more = len(reasons) - _MOST_REASONS
    if more > 0:
        reasons[_MOST_REASONS:] = [f"and {more} more"]
    if reasons:
        raise UsageError(f"nothing of this can be measured: {'; '.join(reasons)}")
    return plans


def _check_settings(plan: Plan, choices: Collection[Choices]) -> None:
    """Raises UsageError for a setting that none of the plan's transports has."""
    has_not = ", ".join(plan.transports)
    for each in in_place("transport", "extra"):
        takes_any = each.place == "extra" and any(own.get(each.name) == () for own in choices)
        has_choice = takes_any or any(len(own.get(each.name, ())) > 1 for own in choices)
        if plan.asked(each.name) and not has_choice:
            raise UsageError(f"{each.option}: {has_not} has no choice of it")
    if any(text != "none" for text in plan.staging):
        if not any("staged" in own.get("staging", ()) for own in choices):
            raise UsageError(f"--staging: {has_not} has no staged messages")
        ends = {end for text in plan.memory for end in both_memories(text) or ()}
        if all(map(is_of_host, ends)):
            raise UsageError(
                "--staging: no end is in the memory of a device, as with --memory cuda"
            )
    for each in in_place("sockets"):
        is_asked = getattr(plan, each.name) != (each.standard,)
        if is_asked and not any(each.name in own for own in choices):
            # As it was asked for.
            option = each.option.replace("--", "--no-") if each.standard is True else each.option
            raise UsageError(f"{option}: {has_not} has no such setting")


def plans_of(plan: Plan) -> PartPlans:
    """The plan of each configuration, where no rank has been started."""
    return PartPlans(plan, _choices(_transports(plan)))


def _transports(plan: Plan) -> dict[str, Transport]:
    process = ProcessContext.from_plan(plan, rank=0, token="")
    return {name: TRANSPORTS.load(name)(process) for name in plan.transports}


def _choices(transports: Mapping[str, Transport]) -> dict[str, Choices]:
    return {name: transport.capabilities.choices for name, transport in transports.items()}
