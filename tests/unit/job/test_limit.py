"""--max-duration: the limits of launches."""

import time

import pytest

from halftrip.job.limit import TimeLimit
from halftrip.job.resumption import Resumption
from halftrip.job.series import launch_all
from halftrip.job.view import NoView
from halftrip.plan.plan import Plan
from halftrip.results.records import RunEnd
from halftrip.results.run_file import RunFile, encode, load
from harness import runs


def test_launches_have_equal_parts_of_what_is_left():
    limit = TimeLimit.from_plan(Plan(max_duration=100.0))
    allowed = limit.launch(4).allowed(time.monotonic())
    assert allowed.share == pytest.approx(25, abs=1.5)
    assert allowed.most == pytest.approx(100, abs=1.5)
    # The slower the start was, the slower the end will be.
    assert limit.allowed(time.monotonic() - 20).most < allowed.most - 2


def test_ranks_are_stopped_before_the_end():
    assert TimeLimit.from_plan(Plan()) is None
    assert 9 < TimeLimit.from_plan(Plan(max_duration=10.0)).left < 10
    assert TimeLimit.from_plan(Plan(max_duration=0.1)).left <= 0
    assert (
        str(TimeLimit.from_plan(Plan(max_duration=2.5)).error()) == "--max-duration: 2.5 s are over"
    )


@pytest.fixture
def launched(tmp_path):
    """Launches of this plan, which take so long each, or end with this reason: the run, and the
    limits of the launches."""

    def launch(plan, seconds, reason=None):
        limits = []

        def once(task):
            limits.append(task.limit)
            time.sleep(seconds)
            task.records.append(encode(runs.measurement(launch=task.number)))
            task.records.append(encode(RunEnd(reason=reason, seconds=seconds)), last=True)

        run_file = RunFile(tmp_path / "run.jsonl")
        run_file.append(encode(runs.run().header))
        left = Resumption(launches=plan.launches)
        launch_all(plan, run_file, NoView(), once, left, TimeLimit.from_plan(plan))
        run_file.close()
        return load(run_file.path), limits

    return launch


def test_a_launch_begins_only_where_there_is_time_for_it(launched):
    run, limits = launched(Plan(launches=10, max_duration=1.2), 0.2)
    assert 1 <= len(limits) <= 3
    assert run.interrupted == (f"--max-duration: 1.2 s are over after {len(limits)} of 10 launches")


def test_launches_that_are_over_in_time_are_complete(launched):
    run, limits = launched(Plan(launches=3, max_duration=60.0), 0.01)
    assert len(limits) == 3
    assert run.interrupted is None
    assert [round(limit.launch_ends - limits[0].ends) for limit in limits] == [-40, -30, 0]


def test_until_ci_has_as_many_launches_as_fit(launched):
    """The fewest share the time; more are no promise."""
    plan = Plan(until_ci=True, ci=1e-9, max_duration=2.0)
    run, limits = launched(plan, 0.1)
    assert len(limits) >= 3
    assert run.interrupted is None
