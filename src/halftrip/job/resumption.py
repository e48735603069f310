"""What is left of a run that is resumed, and the rounds of a run that varies something: each has
one launch of every variant of the plan, in an order of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

import msgspec

from halftrip.errors import UsageError
from halftrip.measure.progress import ConfigurationProgress
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.slices import planned_slices
from halftrip.plan.variants import in_order, variants
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement, RunEnd, Skip
from halftrip.results.reported import Variant
from halftrip.results.run import Run

# Configurations that a launch leaves out.
Done = frozenset[Configuration]


class Due(NamedTuple):
    """A launch to come, in a round: what it has of what is varied, and the configurations that it
    leaves out."""

    round: int
    variant: Variant = ()
    done: Done = frozenset()


class Resumption(NamedTuple):
    """What is still to come: so many rounds of `launches`, of which the first leaves out the
    configurations that are `done`, and each those of `never`; without variants, a round is one
    launch. `first` is the number of the next launch, `round` of the next round that is whole. If
    any launches are `due`, these are the first round. `replaces`: what is measured now replaces
    older measurements of the same configurations. `whole` are the variants of which a launch has
    measured all that counts. `end` is that of the file so far."""

    first: int = 0
    launches: int = 1
    done: Done = frozenset()
    end: RunEnd | None = None
    round: int = 0
    due: tuple[Due, ...] = ()
    replaces: bool = False
    never: Done = frozenset()
    whole: frozenset[Variant] = frozenset()

    def without(self, left_out: Collection[Configuration]) -> Resumption:
        """The same, without these configurations."""
        due = tuple(each._replace(done=each.done.union(left_out)) for each in self.due)
        done, never = self.done.union(left_out), self.never.union(left_out)
        return self._replace(done=done, due=due, never=never)

    def variants_of(self, plan: Plan) -> list[Variant]:
        """The variants of a plan that have launches: of rows that are measured again, theirs."""
        concerned = {each.variant for each in self.due} if self.replaces else set()
        return [each for each in variants(plan) if each in concerned or not concerned]


NOTHING_LEFT = "the run is complete, and no row of it has failed, or is one of --again's"
NOT_KNOWN = "a run with refine cannot be resumed: which sizes it lacks is not known"


def resumption(
    run: Run, plan: Plan, plans: PartPlans, again: Collection[Configuration]
) -> Resumption:
    """What is left of a run of `plan`, with the `plans` of its configurations: what was not
    measured to its end in its last launch, the launches that did not begin, and the configurations
    `again`, in as many launches as the plan has: an interval over one or two would be wider than
    the one that is replaced. Raises UsageError if nothing is left, or if it cannot be known."""
    if run.interrupted is not None and plan.refine:
        raise UsageError(NOT_KNOWN)
    launches = {m.launch for m in run.measurements} | {e.launch for e in run.environments}
    last = max(launches, default=0)
    if run.interrupted is None:
        failed = {failure.configuration for failure in run.failures}
        done = frozenset(run.by_configuration.keys() - set(again) - failed)
        if not again and not failed:
            raise UsageError(NOTHING_LEFT)
        return Resumption(last + 1, plan.launches, done, run.end, replaces=True, never=done)
    # The launches that count are those from here on: rows may have been measured again.
    first = run.again[-1].launch if run.again else 0
    newest = {
        configuration: max(m.launch for m in measurements)
        for configuration, measurements in run.by_configuration.items()
    }
    never = frozenset(
        configuration
        for configuration, launch in newest.items()
        if launch < first and configuration not in again
    )
    # In which launch each has to be whole: those that are not measured again in their last one.
    needed = {each: launch if launch < first else last for each, launch in newest.items()}
    done = frozenset(
        configuration
        for configuration, measurements in run.by_configuration.items()
        if configuration not in again
        and _is_whole(
            [m for m in measurements if m.launch == needed[configuration]],
            plans.of(configuration),
        )
    )
    # A launch in which nothing is left was over by itself: the next one is whole.
    had = done.union(each.configuration for each in run.failures if each.launch == last)
    is_over = (
        had >= run.by_configuration.keys()
        and _possible(run, plans) <= _settings(had)
        and last + 1 < first + plan.launches
    )
    left = first + plan.launches - last - (1 if is_over else 0)
    return Resumption(
        last + 1,
        max(1, left),
        frozenset() if is_over else done,
        run.end,
        never=never,
        whole=_whole_variants(run, plans, {(): [n for n in launches if n >= first]}, never),
    )


def _possible(run: Run, plans: PartPlans, variant: Variant = ()) -> set[Configuration]:
    """The settings of a plan that launches with this variant are expected to measure: those that
    have neither failed nor been refused."""
    failed = _settings(f.configuration for f in run.failures if f.configuration.variant == variant)
    skips = [skip for skip in run.skips if skip.variant in ((), variant)]
    return {
        setting
        for setting in _settings(plans.settings)
        if setting not in failed and not any(_has(skip, setting) for skip in skips)
    }


def _has(skip: Skip, setting: Configuration) -> bool:
    """Whether a skip may be of this setting; one of only some pairs leaves it to the others."""
    among = (
        (skip.sizes, setting.size),
        (skip.patterns, setting.pattern),
        (skip.modes, setting.mode),
        (skip.windows, setting.window),
    )
    return (
        skip.transport == setting.transport
        and skip.pairs is None
        and all(values is None or value in values for values, value in among)
    )


def _whole_variants(
    run: Run,
    plans: PartPlans,
    launches: Mapping[Variant, Iterable[int]],
    never: Collection[Configuration] = (),
) -> frozenset[Variant]:
    """The variants of which one launch has measured all that is expected, but for rows that are
    `never` measured any more."""
    return frozenset(
        variant
        for variant, numbers in launches.items()
        for possible in (_possible(run, plans, variant),)
        if any(
            possible <= _settings(finished_in(run, [number], plans).union(never))
            for number in numbers
        )
    )


def finished_in(run: Run, launches: Collection[int], plans: PartPlans) -> Done:
    """The configurations that were measured to their end in the launches of these numbers."""
    found = {
        configuration: [m for m in measurements if m.launch in launches]
        for configuration, measurements in run.by_configuration.items()
    }
    return frozenset(
        configuration
        for configuration, measured in found.items()
        if measured and _is_whole(measured, plans.of(configuration))
    )


def _is_whole(measurements: list[Measurement], plan: Plan) -> bool:
    """Whether these are all slices of a configuration: with a limit on the whole run, which makes
    them fewer, any."""
    slices = planned_slices(plan)
    if plan.max_duration is not None and plan.iterations is None and measurements:
        return True
    if len(measurements) >= slices:
        return True
    progress = ConfigurationProgress()
    for measurement in measurements:
        progress.add(measurement)
    return progress.is_enough(plan) or progress.is_late(plan, slices)


def rounds(plan: Plan, left: Resumption) -> Iterator[list[Due]]:
    """The launches of each round that is left, without an end."""
    found = left.variants_of(plan)
    if left.due:
        yield list(left.due)
    done = frozenset() if left.due else left.done
    for number in count(left.round):
        yield [Due(number, variant, done | left.never) for variant in in_order(found, number)]
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
            seen.next_launch,
            max(1, launches),
            end=run.end,
            round=seen.next_round,
            due=tuple(due),
            whole=seen.whole,
        )
    wanted = {failure.configuration for failure in run.failures}.union(again)
    due = seen.again(wanted) if wanted else seen.lacking(frozenset())
    if not due:
        raise UsageError(NOTHING_LEFT)
    left = Resumption(seen.next_launch, 1, end=run.end, round=seen.next_round + 1, due=tuple(due))
    if not wanted:
        return left._replace(whole=seen.whole)
    never = frozenset(run.by_configuration.keys() - wanted)
    return left._replace(launches=plan.launches, replaces=True, never=never)


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
    def whole(self) -> frozenset[Variant]:
        """The variants of which a launch has measured everything."""
        launches: dict[Variant, list[int]] = {}
        for each in self._run.launches:
            launches.setdefault(each.variant, []).append(each.number)
        return _whole_variants(self._run, self._plans, launches)

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
        measured = finished_in(self._run, self._launches.get((number, variant), ()), self._plans)
        return Due(number, variant, _of_variant(measured, variant) - again)

    def _lacks(self, number: int, variant: Variant) -> bool:
        """Whether the round has no launch of this variant that was over."""
        launches = self._launches.get((number, variant))
        if not launches or launches[-1] in self._failed:
            return True
        if self._run.interrupted is None or launches[-1] != self._last:
            return False
        # If all that it can have, and all that any variant has, is there, it was over.
        measured = finished_in(self._run, launches, self._plans)
        return _in_any_variant(measured) != _in_any_variant(self._run.by_configuration) or not (
            _possible(self._run, self._plans, variant) <= _settings(measured)
        )


def _of_variant(configurations: Iterable[Configuration], variant: Variant) -> Done:
    return frozenset(each for each in configurations if each.variant == variant)


def _settings(configurations: Iterable[Configuration]) -> set[Configuration]:
    """What these configurations are in any variant, whoever measures them."""
    return {msgspec.structs.replace(each.setting, variant=()) for each in configurations}


def _in_any_variant(configurations: Iterable[Configuration]) -> set[Configuration]:
    """What these configurations are in any variant, and who measures them."""
    return {msgspec.structs.replace(each.without_cores, variant=()) for each in configurations}
