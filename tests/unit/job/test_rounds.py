"""Rounds of launches of a plan that varies something: their order, what fails, what is left."""

from types import SimpleNamespace

import msgspec
import pytest

from halftrip.errors import HalftripError, Interrupted, Stopped, UsageError
from halftrip.job.deaths import HostsLost, LaunchFailed
from halftrip.job.resumption import Resumption, resumption_of_variants
from halftrip.job.series import launch_all
from halftrip.job.view import NoView
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.variants import in_order, variants
from halftrip.results.records import RunEnd
from halftrip.results.run_file import RunFile, encode, load
from halftrip.transports.refusals import plans_of
from harness import runs
from harness.noted import Noted

PLAN = Plan(
    transport=("tcp",), sizes=(8, 64), ci=None, launches=3, vary=(("env.X", ("a", "b", "c")),)
)
A, B, C = variants(PLAN)
SLICES = 20


class Ranks:
    """Stands for the ranks of all launches: each measures all sizes, `slices` of each. `failing`
    are errors by the number of a launch, raised after `before` slices."""

    def __init__(self, failing=None, before=0):
        self.calls = []
        self.shown = []
        self.failing = failing or {}
        self.before = before

    def launch(self, task):
        self.calls.append((task.number, task.due.round, task.due.variant))
        task.view.update(1, 2, "tcp pingpong 8")
        for rank in range(2):
            task.records.append(encode(runs.environment(rank, launch=task.number)))
        error = self.failing.get(task.number) or self.failing.get(task.due.variant)
        for configuration in configurations(task.due.variant):
            if configuration not in task.due.done:
                for slice_ in range(self.before if error else SLICES):
                    task.records.append(encode(measurement(configuration, task.number, slice_)))
        if error is not None:
            raise error
        task.records.append(encode(RunEnd(reason=None, seconds=1.0)), last=True)


def configurations(variant):
    return [
        runs.configuration("tcp", size, "block", variant=variant, window=1) for size in PLAN.sizes
    ]


def measurement(configuration, launch, slice_):
    made = runs.measurement("tcp", configuration.size, "block", slice=slice_, launch=launch)
    return msgspec.structs.replace(made, configuration=configuration)


def taken(tmp_path, ranks, plan=PLAN, left=None, view=None):
    """The run after all launches that are left, and what was raised."""
    path = tmp_path / "run.jsonl"
    run_file = RunFile(path, resumed=path.exists())
    if left is None:
        left = Resumption(launches=plan.launches)
        header = msgspec.structs.replace(runs.run().header, plan=plan_record(plan))
        run_file.append(encode(header))
    error = None
    try:
        launch_all(plan, run_file, view or NoView(), ranks.launch, left)
    except HalftripError as raised:
        error = raised
        run_file.end_early(str(raised))
    run_file.close()
    return SimpleNamespace(run=load(path), error=error)


def left_of(run, plan=PLAN, again=()):
    return resumption_of_variants(run, plan, plans_of(plan), again)


def expected_calls(rounds=(0, 1, 2)):
    planned = [(number, variant) for number in rounds for variant in in_order([A, B, C], number)]
    return [(launch, *each) for launch, each in enumerate(planned)]


def test_each_round_has_a_launch_of_every_variant(tmp_path):
    ranks, view = Ranks(), Noted()
    found = taken(tmp_path, ranks, view=view)
    assert ranks.calls == expected_calls()
    assert found.run.interrupted is None
    assert found.run.end.seconds == 9.0
    assert [(e.number, e.round, e.variant) for e in found.run.launches] == expected_calls()
    assert len(found.run.by_configuration) == 6
    assert {len(each) for each in found.run.by_configuration.values()} == {3 * SLICES}
    value = in_order([A, B, C], 0)[0][0][1]
    assert view.progress[0] == (f"launch 1 of 9 · env.X {value} · tcp pingpong 8", 8)
    assert view.progress[-1][1] == 0


def test_a_variant_that_fails_is_named_and_not_begun_again(tmp_path):
    ranks, view = Ranks({B: LaunchFailed("mpiexec ended with status 1")}), Noted()
    found = taken(tmp_path, ranks, view=view)
    assert [variant for _, _, variant in ranks.calls].count(B) == 1
    assert len(ranks.calls) == 7
    assert found.run.interrupted is None
    (failure,) = found.run.launch_failures
    assert (failure.variant, failure.reason) == (B, "mpiexec ended with status 1")
    said = f"launch {failure.launch + 1} of X=b: mpiexec ended with status 1"
    assert view.lines == [f"{said}; going on with the others"]
    assert {each.variant for each in found.run.by_configuration} == {A, C}


def test_a_variant_that_was_measured_before_it_failed_is_begun_again(tmp_path):
    number = next(n for n, round_, variant in expected_calls() if (round_, variant) == (1, B))
    ranks = Ranks({number: Interrupted("rank 1 died")})
    found = taken(tmp_path, ranks)
    assert ranks.calls == expected_calls()
    assert [each.launch for each in found.run.launch_failures] == [number]


def test_where_all_fail_the_run_ends_after_a_round(tmp_path):
    ranks = Ranks({each: LaunchFailed("no") for each in (A, B, C)})
    found = taken(tmp_path, ranks)
    assert (len(ranks.calls), len(found.run.launch_failures)) == (3, 3)
    assert (found.error, found.run.interrupted) == (None, None)


def test_where_all_are_mistakes_it_is_one(tmp_path):
    found = taken(tmp_path, Ranks({each: UsageError("no program") for each in (A, B, C)}))
    assert isinstance(found.error, UsageError)
    assert sorted(str(found.error).split("; ")) == [f"env.X {x}: no program" for x in "abc"]


def test_a_first_launch_that_has_not_reached_all_rows_is_not_over(tmp_path):
    """Though all that is known of the plan is done."""
    interrupted = Ranks({0: Stopped("stopped by SIGINT")}, before=SLICES)
    plan = msgspec.structs.replace(PLAN, sizes=(8, 64, 512))
    run = taken(tmp_path, interrupted, plan).run
    first, *_ = left_of(run, plan).due
    assert (first.round, len(first.done)) == (0, 2)


@pytest.mark.parametrize(
    ("stopped", "before"), [(0, 0), (1, 3), (4, SLICES), (7, 0), (8, 3), (8, SLICES)]
)
def test_an_interrupted_run_goes_on_with_what_it_lacks(tmp_path, stopped, before):
    ranks = Ranks({stopped: Stopped("stopped by SIGINT")}, before)
    found = taken(tmp_path, ranks)
    assert isinstance(found.error, Stopped)
    assert (len(ranks.calls), found.run.launch_failures) == (stopped + 1, ())
    left = left_of(found.run)
    # As a machine that loses its power may leave it: the last line is cut off.
    with open(tmp_path / "run.jsonl", "ab") as file:
        file.write(encode(runs.measurement())[:100])
    rest = Ranks()
    whole = taken(tmp_path, rest, left=left).run
    assert (whole.interrupted, whole.problems) == (None, ())
    # The launch that was interrupted is begun again, unless it had measured everything.
    is_over = before == SLICES and stopped < 8
    begun = expected_calls()[stopped + is_over :]
    assert [call[1:] for call in rest.calls] == [call[1:] for call in begun]
    assert [call[0] for call in rest.calls] == list(range(stopped + 1, stopped + 1 + len(begun)))
    counts = {c: len(found) for c, found in whole.by_configuration.items()}
    assert len(counts) == 6
    assert all(3 * SLICES <= count <= 3 * SLICES + before for count in counts.values())


def test_a_complete_run_goes_on_with_what_has_failed(tmp_path):
    found = taken(tmp_path, Ranks({B: LaunchFailed("no")}))
    left = left_of(found.run)
    assert not left.replaces
    rest = Ranks()
    whole = taken(tmp_path, rest, left=left).run
    assert [call[1:] for call in rest.calls] == [(number, B) for number in range(3)]
    assert {len(each) for each in whole.by_configuration.values()} == {3 * SLICES}
    assert len(found.run.failed_launches) == 1
    assert whole.failed_launches == []
    with pytest.raises(UsageError, match=r"^the run is complete, and no row of it has failed"):
        left_of(whole)


def test_rows_are_measured_again_in_launches_of_their_variants(tmp_path):
    run = taken(tmp_path, Ranks()).run
    wanted = [configurations(A)[0], configurations(C)[1]]
    left = left_of(run, again=wanted)
    assert (left.first, left.replaces) == (9, True)
    assert {due.variant: due.done for due in left.due} == {
        A: frozenset(configurations(A)[1:]),
        C: frozenset(configurations(C)[:1]),
    }
    rest = Ranks()
    whole = taken(tmp_path, rest, left=left).run
    # As many launches as the rows had before, and nothing but these rows.
    assert [call[1] for call in rest.calls] == [3, 3, 4, 4, 5, 5]
    assert {call[2] for call in rest.calls} == {A, C}
    measured = {m.configuration for m in whole.measurements if m.launch >= 9}
    assert measured == set(wanted)


def ended(reasons):
    """A launch that has so many rows, of which the time was not enough for some: `reasons` by the
    number of a launch."""

    def launch(task):
        reason = reasons.get(task.number)
        for configuration in configurations(task.due.variant)[: 1 if reason else None]:
            task.records.append(encode(measurement(configuration, task.number, 0)))
        task.records.append(encode(RunEnd(reason=reason)), last=True)

    return SimpleNamespace(launch=launch)


SHORT = "--max-duration: 5 s were not enough for 1 row"


@pytest.mark.parametrize(("short", "reason"), [(0, SHORT), (2, SHORT), (3, None), (5, None)])
def test_a_limited_run_is_complete_if_each_variant_has_a_launch_with_all_rows(
    tmp_path, short, reason
):
    plan = msgspec.structs.replace(PLAN, dealt=True)
    run = taken(tmp_path, ended({short: SHORT}), plan).run
    assert run.interrupted == reason
    assert len(run.launches) == short + 1


def test_a_limited_run_that_is_resumed_is_complete_only_with_all_rows(tmp_path):
    plan = msgspec.structs.replace(PLAN, dealt=True, max_duration=5.0)
    run = taken(tmp_path, ended({2: SHORT}), plan).run
    left = left_of(run, plan)
    assert left.whole == set(in_order([A, B, C], 0)[:2])
    assert [(due.round, len(due.done)) for due in left.due] == [(0, 1)]
    run = taken(tmp_path, ended({3: SHORT}), plan, left).run
    assert run.interrupted == SHORT
    left = left_of(run, plan)._replace(whole=frozenset((A, B, C)))
    assert taken(tmp_path, ended({4: SHORT}), plan, left).run.interrupted is None


def test_hosts_that_are_lost_leave_the_rest_to_a_further_launch_of_the_variant(tmp_path):
    ranks = Ranks({1: HostsLost("rank 1 on c died", {"c": [1]})}, before=2)
    run = taken(tmp_path, ranks).run
    order = in_order([A, B, C], 0)
    assert ranks.calls[:4] == [
        (0, 0, order[0]),
        (1, 0, order[1]),
        (2, 0, order[1]),
        (3, 0, order[2]),
    ]
    assert run.interrupted == "without c: rank 1 on c died"


def test_rounds_end_when_every_interval_is_narrow(tmp_path):
    plan = msgspec.structs.replace(PLAN, until_ci=True, ci=0.01, launches=1, max_launches=20)
    ranks = Ranks()
    taken(tmp_path, ranks, plan)
    # Of fewer than three launches, an interval is always wide.
    assert [call[1] for call in ranks.calls] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
