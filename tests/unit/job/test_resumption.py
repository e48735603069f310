"""What is left of a run that is resumed, and which of its measurements count."""

from itertools import islice

import msgspec
import pytest

from halftrip.job.resumption import resumption, rounds
from halftrip.plan.launches import plan_of_launch
from halftrip.plan.plan import Plan
from halftrip.plan.slices import planned_slices
from halftrip.results.records import Again, Failure, RunEnd, Skip
from halftrip.transports.refusals import plans_of
from harness import runs
from harness.flags import verdicts_of

SIZES = (8, 64, 512)


def measured(size, slices=20, launch=0, half_ns=100.0, wander=0.0):
    return [
        runs.measurement(
            "tcp", size, "block", half_ns * (1 + wander * (n % 5 - 2)),
            seed=100 * launch + n, slice=n, launch=launch,
        )
        for n in range(slices)
    ]  # fmt: skip


def a_run(*measurements, reason=None, again=()):
    run = runs.run(*measurements, end=RunEnd(reason=reason, seconds=1.0))
    return msgspec.structs.replace(run, again=again)


def left_of(run, plan, again=()):
    return resumption(run, plan, plans_of(plan_of_launch(plan)), again)


def sizes_of(configurations):
    return sorted(configuration.size for configuration in configurations)


def test_what_was_measured_to_its_end_is_done_and_with_a_limit_any_row_with_a_slice():
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None)
    run = a_run(*measured(8), *measured(64, slices=3), reason="stopped by SIGINT")
    left = left_of(run, plan)
    assert (left.first, left.launches, sizes_of(left.done)) == (1, 1, [8])
    assert planned_slices(plan) == 20
    # The limit made the slices fewer; with the same limit they would be as few again.
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, max_duration=1.0)
    run = a_run(*measured(8, 2), *measured(64, 1), reason="--max-duration: not enough for 1 row")
    assert sizes_of(left_of(run, plan).done) == [8, 64]


def test_launches_that_were_over_are_not_begun_again_and_dealt_ones_are_so_with_their_slices():
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, launches=5)
    whole = [m for launch in (0, 1) for size in SIZES for m in measured(size, launch=launch)]
    left = left_of(a_run(*whole, reason="over after 2 of 5 launches"), plan)
    assert (left.first, left.launches, left.done) == (2, 3, frozenset())
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, launches=10, dealt=True)
    whole = [m for size in SIZES for m in measured(size, slices=2)]
    begun = [*measured(8, slices=2, launch=1), *measured(64, slices=1, launch=1)]
    run = a_run(*whole, *begun, reason="stopped by SIGINT")
    left = left_of(run, plan)
    assert (left.first, left.launches, sizes_of(left.done)) == (2, 9, [8])


def test_a_launch_that_has_not_reached_all_rows_is_gone_on_with():
    """Though it has measured all that is known of the plan; what cannot be measured is no row."""
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, launches=10, dealt=True)
    some = [*measured(8, slices=2), *measured(64, slices=2)]
    run = a_run(*some, reason="stopped by SIGINT")
    left = left_of(run, plan)
    assert (left.first, left.launches, sizes_of(left.done)) == (1, 10, [8, 64])
    failure = Failure(configuration=measured(512)[0].configuration, slice=0, reason="lost")
    for name, why in (
        ("skips", (Skip(transport="tcp", sizes=[512], reason="too large"),)),
        ("failures", (failure,)),
    ):
        left = left_of(msgspec.structs.replace(run, **{name: why}), plan)
        assert (left.first, left.launches, left.done) == (1, 9, frozenset())
        assert left.whole == {()}


@pytest.mark.parametrize("dealt", [False, True])
def test_rows_that_are_measured_again_get_as_many_launches_as_they_had(dealt):
    """The newer launches replace the older ones: an interval over one would be wider."""
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, launches=10, dealt=dealt)
    slices = 2 if dealt else 20
    whole = [m for k in range(10) for size in SIZES for m in measured(size, slices, launch=k)]
    wanted = [whole[0].configuration]
    left = left_of(a_run(*whole), plan, wanted)
    assert (left.first, left.launches, left.replaces) == (10, 10, True)
    assert left.whole == frozenset()
    found = [due.done for (due,) in islice(rounds(plan, left), 10)]
    assert {tuple(sizes_of(done)) for done in found} == {(64, 512)}
    # Interrupted in the third of them.
    some = [m for k in (10, 11, 12) for m in measured(8, slices, launch=k)][:-1]
    run = a_run(*whole, *some, reason="stopped by SIGINT", again=(Again(launch=10),))
    left = left_of(run, plan)
    assert (left.first, left.launches, left.replaces) == (13, 8, False)
    found = [due.done for (due,) in islice(rounds(plan, left), 8)]
    assert {tuple(sizes_of(done)) for done in found} == {(64, 512)}


def test_of_rows_that_are_measured_again_one_that_the_last_launch_lacks_is_left():
    plan = Plan(transport=("tcp",), sizes=SIZES, ci=None, launches=10, dealt=True)
    whole = [m for k in range(10) for size in SIZES for m in measured(size, 2, launch=k)]
    some = [m for k in (10, 11) for size in (8, 64) for m in measured(size, 2, launch=k)]
    run = a_run(
        *whole, *some, *measured(8, 2, launch=12), reason="stopped by SIGINT",
        again=(Again(launch=10),),
    )  # fmt: skip
    left = left_of(run, plan)
    assert (left.first, left.launches, sizes_of(left.done)) == (13, 8, [8, 512])
    # Two launches have measured all that is wanted.
    assert left.whole == {()}
    assert left_of(a_run(*whole, reason="stopped", again=(Again(launch=10),)), plan).whole == set()


def test_a_part_with_few_iterations_is_whole_with_few_slices():
    parts = ({"sizes": (8,), "iterations": 3}, {"sizes": (64,)})
    plan = Plan(transport=("tcp",), ci=None, part=parts)
    run = a_run(*measured(8, slices=3), *measured(64, slices=3), reason="stopped by SIGINT")
    assert sizes_of(left_of(run, plan).done) == [8]
    run = a_run(*measured(8, slices=2), *measured(64, slices=20), reason="stopped by SIGINT")
    assert sizes_of(left_of(run, plan).done) == [64]


@pytest.mark.parametrize("reason", [None, "stopped by SIGINT"])
def test_rows_that_are_measured_again_are_judged_by_that_alone(reason):
    """Their older measurements were in doubt; two launches would have a far wider interval."""
    doubtful, fine = measured(8, wander=0.2), measured(64)
    again = a_run(*doubtful, *fine, *measured(8, launch=1), reason=reason, again=(Again(launch=1),))
    found = {each.size: verdict for each, verdict in verdicts_of(again).items()}
    assert found[8].width < 0.02
    assert {m.launch for m in again.by_configuration[doubtful[0].configuration]} == {1}
    assert {m.launch for m in again.by_configuration[fine[0].configuration]} == {0}


def test_what_was_not_reached_again_keeps_its_measurements_and_is_not_left():
    run = a_run(
        *measured(8), *measured(64), *measured(8, launch=1, slices=4), reason="stopped by SIGINT",
        again=(Again(launch=1),),
    )  # fmt: skip
    left = left_of(run, Plan(transport=("tcp",), sizes=(8, 64), ci=None))
    assert sizes_of(left.done) == [64]
