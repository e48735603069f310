"""What is left of a run that is resumed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from halftrip.errors import UsageError
from halftrip.measure.progress import Progress
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.slices import planned_slices
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement, RunEnd
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
    configurations that are `done`; without variants, a round is one launch. `first` is the number
    of the next launch, `round` of the next round that is whole. If any launches are `due`, these
    are the first round. `replaces`: what is measured now replaces older measurements of the same
    configurations. `end` is that of the file so far."""

    first: int = 0
    launches: int = 1
    done: Done = frozenset()
    end: RunEnd | None = None
    round: int = 0
    due: tuple[Due, ...] = ()
    replaces: bool = False

    def without(self, left_out: Collection[Configuration]) -> Resumption:
        """The same, without these configurations."""
        due = tuple(each._replace(done=each.done.union(left_out)) for each in self.due)
        return self._replace(done=self.done.union(left_out), due=due)


NOTHING_LEFT = "the run is complete, and no row of it has failed, or is one of --again's"
NOT_KNOWN = "a run with refine cannot be resumed: which sizes it lacks is not known"


def resumption(
    run: Run, plan: Plan, plans: PartPlans, again: Collection[Configuration]
) -> Resumption:
    """What is left of a run of `plan`, with the `plans` of its configurations: what was not
    measured to its end in its last launch, the launches that did not begin, and the configurations
    `again`. Raises UsageError if nothing is
    left, or if it cannot be known."""
    if run.interrupted is not None and plan.refine:
        raise UsageError(NOT_KNOWN)
    launches = {m.launch for m in run.measurements} | {e.launch for e in run.environments}
    last = max(launches, default=0)
    if run.interrupted is None:
        failed = {failure.configuration for failure in run.failures}
        done = frozenset(run.by_configuration.keys() - set(again) - failed)
        if not again and not failed:
            raise UsageError(NOTHING_LEFT)
        return Resumption(last + 1, 1, done, run.end, replaces=True)
    of_last = {
        configuration: [m for m in measurements if m.launch == _last_of(measurements, run, last)]
        for configuration, measurements in run.by_configuration.items()
    }
    done = frozenset(
        configuration
        for configuration, found in of_last.items()
        if configuration not in again and _is_whole(found, plans.of(configuration))
    )
    # A launch in which nothing is left was over by itself: the next one is whole.
    is_over = bool(done) and done == run.by_configuration.keys() and last + 1 < plan.launches
    left = plan.launches - last - (1 if is_over else 0)
    return Resumption(last + 1, max(1, left), frozenset() if is_over else done, run.end)


def whole_in(run: Run, launches: Collection[int], plans: PartPlans) -> Done:
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


def _last_of(measurements: Sequence[Measurement], run: Run, last: int) -> int:
    """The launch in which a configuration has to be whole: the last one, unless that measured some
    rows again."""
    return max(m.launch for m in measurements) if run.again else last


def _is_whole(measurements: list[Measurement], plan: Plan) -> bool:
    """Whether these are all slices of a configuration: with a limit on the whole run, which makes
    them fewer, any."""
    slices = planned_slices(plan)
    if plan.max_duration is not None and plan.iterations is None and measurements:
        return True
    if len(measurements) >= slices:
        return True
    progress = Progress()
    for measurement in measurements:
        progress.add(measurement)
    return progress.is_enough(plan) or progress.is_late(plan, slices)
