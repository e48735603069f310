"""The rounds of a run: each has one launch of every variant of the plan, in an order of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import count

import msgspec

from halftrip.errors import UsageError
from halftrip.job.resumption import NOT_KNOWN, NOTHING_LEFT, Done, Due, Resumption, whole_in
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.variants import in_order, variants
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Variant
from halftrip.results.run import Run


def rounds(plan: Plan, left: Resumption) -> Iterator[list[Due]]:
    """The launches of each round that is left, without an end."""
    found = variants(plan)
    if left.due:
        yield list(left.due)
    done = frozenset() if left.due else left.done
    for number in count(left.round):
        yield [Due(number, variant, done) for variant in in_order(found, number)]
        done = frozenset()


def resumption_of_variants(
    run: Run, plan: Plan, plans: PartPlans, again: Collection[Configuration]
) -> Resumption:
    """What is left of a run of a plan that varies something: what each variant lacks of the rounds
    that have begun, those that have not, and the configurations `again`. Raises UsageError if
    nothing is left, or if it cannot be known."""
    if run.interrupted is not None and plan.refine:
        raise UsageError(NOT_KNOWN)
    seen = _Seen(run, plan, plans)
    if run.interrupted is not None:
        lacking = seen.lacking(frozenset(again))
        whole = max(0, plan.launches - seen.next_round)
        launches = whole + (1 if lacking else 0)
        due = lacking if launches else seen.last
        return Resumption(
            seen.next_launch, max(1, launches), end=run.end, round=seen.next_round, due=tuple(due)
        )
    wanted = {failure.configuration for failure in run.failures}.union(again)
    due = seen.again(wanted) if wanted else seen.lacking(frozenset())
    if not due:
        raise UsageError(NOTHING_LEFT)
    left = Resumption(seen.next_launch, 1, end=run.end, round=seen.next_round + 1, due=tuple(due))
    return left._replace(replaces=bool(wanted))


class _Seen:
    """What a run has of the rounds of its plan."""

    def __init__(self, run: Run, plan: Plan, plans: PartPlans) -> None:
        self._run = run
        self._plans = plans
        self._variants = variants(plan)
        self._failed = {failure.launch for failure in run.launch_failures}
        self._launches: dict[tuple[int, Variant], list[int]] = {}
        for each in run.launches:
            self._launches.setdefault((each.round, each.variant), []).append(each.number)
        numbers = [each.number for each in run.launches]
        self._last = max(numbers, default=-1)
        self.next_launch = self._last + 1
        # An interrupted run may have been measuring rows again, in a round of their own.
        self.next_round = max((each.round for each in run.launches), default=-1) + 1

    def lacking(self, again: Done) -> list[Due]:
        """The launches that the rounds so far lack, wholly or in part; and, in the last of them,
        those that measure the configurations `again`."""
        found = []
        for number in range(self.next_round):
            for variant in in_order(self._variants, number):
                is_wanted = number == self.next_round - 1 and any(
                    each.variant == variant for each in again
                )
                if self._lacks(number, variant) or is_wanted:
                    found.append(self._due(number, variant, again))
        return found

    @property
    def last(self) -> list[Due]:
        """The last launch that has begun; nothing of it may be left."""
        return [
            self._due(round_, variant, frozenset())
            for (round_, variant), numbers in self._launches.items()
            if self._last in numbers
        ]

    def again(self, wanted: Collection[Configuration]) -> list[Due]:
        """A further round of the variants that have some of these configurations."""
        concerned = {each.variant for each in wanted}
        known = self._run.by_configuration.keys() - set(wanted)
        return [
            Due(self.next_round, variant, _of_variant(known, variant))
            for variant in in_order(self._variants, self.next_round)
            if variant in concerned
        ]

    def _due(self, number: int, variant: Variant, again: Done) -> Due:
        measured = whole_in(self._run, self._launches.get((number, variant), ()), self._plans)
        return Due(number, variant, _of_variant(measured, variant) - again)

    def _lacks(self, number: int, variant: Variant) -> bool:
        """Whether the round has no launch of this variant that was over."""
        launches = self._launches.get((number, variant))
        if not launches or launches[-1] in self._failed:
            return True
        if self._run.interrupted is None or launches[-1] != self._last:
            return False
        # If all that any variant has is there, it was over.
        measured = whole_in(self._run, launches, self._plans)
        known = _settings(self._run.by_configuration)
        return not measured or _settings(measured) != known


def _of_variant(configurations: Iterable[Configuration], variant: Variant) -> Done:
    return frozenset(each for each in configurations if each.variant == variant)


def _settings(configurations: Iterable[Configuration]) -> set[Configuration]:
    """What these configurations are in any variant."""
    return {msgspec.structs.replace(each.without_cores, variant=()) for each in configurations}
