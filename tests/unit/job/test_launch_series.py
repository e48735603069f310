"""Several launches in one file: which records it has once, when there are enough launches, and what
happens if one cannot begin."""

import time

import msgspec
import pytest

from halftrip import registry
from halftrip.errors import Interrupted, Stopped, Unavailable
from halftrip.job import start as launching
from halftrip.job.deaths import HostsLost
from halftrip.job.intervals import Intervals
from halftrip.job.limit import TimeLimit
from halftrip.job.resumption import Resumption
from halftrip.job.series import LaunchRecords, launch_all
from halftrip.job.spec import Job
from halftrip.job.view import NoView
from halftrip.plan.plan import Plan
from halftrip.results.records import CopyTime, Failure, LostHost, RunEnd, Skip
from halftrip.results.run_file import RunFile, encode, load
from harness import runs
from harness.noted import Noted

UNTIL = Plan(until_ci=True, ci=0.01, max_launches=20)


def created(tmp_path):
    run_file = RunFile(tmp_path / "run.jsonl")
    run_file.append(encode(runs.run().header))
    return run_file


def launched_run(tmp_path, plan, launch, limit=None, view=None):
    """The run after all launches of a plan, each of which is `launch(task)`."""
    run_file = created(tmp_path)
    left = Resumption(launches=plan.launches)
    launch_all(plan, run_file, view or NoView(), launch, left, limit)
    run_file.close()
    return load(run_file.path)


def test_what_is_printed_in_a_launch_is_written_as_far_as_there_is_room(tmp_path):
    run_file = created(tmp_path)
    records = LaunchRecords(run_file, set(), Intervals(Plan()), 3)
    records.quote("mpiexec (process 7)", ["No room in", "Other place", *["X" * 999] * 99])
    run_file.close()
    (notice,) = load(run_file.path).notices
    assert notice.text == "mpiexec or its ranks printed: No room in"
    assert (notice.kind, notice.launch) == ("printed", 3)
    assert [*map(len, notice.lines)] == [10, 11, *[300] * 48]


def test_a_skip_is_written_once_and_all_else_every_time(tmp_path):
    run_file = created(tmp_path)
    skip, copy = Skip(transport="mpi", reason="no mpiexec"), CopyTime(rank=0, size=8, ns=1.0)
    skips = set()
    intervals = Intervals(Plan())
    for _ in range(3):
        records = LaunchRecords(run_file, skips, intervals, 0)
        for record in (skip, copy, runs.measurement()):
            records.append(encode(record))
    # Several lines at once, as a turn gives them.
    records = LaunchRecords(run_file, skips, intervals, 0)
    records.append(encode(skip) + encode(copy) + encode(runs.measurement()))
    run_file.close()
    # The memory in use does not grow with the measurements.
    assert skips == {encode(skip)}
    assert intervals._measurements == {}
    run = load(run_file.path)
    assert run.skips == (skip,)
    assert run.copy_times == (copy,) * 4
    assert len(run.measurements) == 4


def test_the_end_is_of_all_launches(tmp_path):
    drifts = iter([[0.5, -3.0], [-2.0, 1.0]])

    def launch(task):
        end = RunEnd(reason=None, seconds=2.0, timed=1.0, clock_drift=next(drifts))
        task.records.append(encode(end), last=True)

    end = launched_run(tmp_path, Plan(launches=2), launch).end
    assert (end.seconds, end.timed, end.clock_drift) == (4.0, 2.0, [-2.0, -3.0])


@pytest.mark.parametrize(("launches", "count"), [(1, 0), (3, 3)])
def test_the_starts_of_several_launches_are_part_of_its_seconds(tmp_path, launches, count):
    def launch(task):
        time.sleep(0.02)
        task.records.append(encode(RunEnd(reason=None, seconds=0.0)), last=True)

    seconds = launched_run(tmp_path, Plan(launches=launches), launch).end.seconds
    assert seconds >= 0.02 * count
    assert (seconds > 0) == (count > 0)


# Where slices are dealt.

DEALT = Plan(transport=("tcp",), sizes=(8, 64), launches=10, dealt=True, ci=0.02)


def dealt_to(tmp_path, level, plan=DEALT, limit=None, end=lambda _: None):
    """The run of launches in each of which a row takes `level(size, launch)` ns, and what each of
    them leaves out; `end` has the reason with which a launch ends."""
    done = []

    def launch(task):
        left_out = {each.size for each in task.due.done}
        done.append(left_out)
        for size in {8, 64} - left_out:
            ns = round(20 * level(size, task.number))
            for each in range(2):
                row = runs.measurement(
                    "tcp", size, launch=task.number, slice=each, samples=[ns] * 50
                )
                task.records.append(encode(row))
        task.records.append(encode(RunEnd(reason=end(task.number))), last=True)

    return launched_run(tmp_path, plan, launch, limit), done


def test_rows_that_are_narrow_after_six_launches_get_no_more_and_a_run_of_such_rows_is_over(
    tmp_path,
):
    run, done = dealt_to(tmp_path, lambda size, launch: 100 + (size == 64) * 20 * (launch % 2))
    assert done == [set()] * 6 + [{8}] * 4
    assert run.interrupted is None
    assert len({each.launch for each in run.measurements}) == 10
    for name in ("all", "other"):
        (tmp_path / name).mkdir()
    run, done = dealt_to(tmp_path / "all", lambda *_: 100)
    assert (len(done), run.interrupted) == (6, None)
    plan = msgspec.structs.replace(DEALT, ci=None)
    _, done = dealt_to(tmp_path / "other", lambda *_: 100, plan)
    assert done == [set()] * 10


def test_a_run_whose_time_is_over_has_as_many_launches_as_there_was_time_for(tmp_path):
    """Each has measured all rows: nothing is missing."""
    now = time.monotonic()
    run, done = dealt_to(tmp_path, lambda *_: 100, limit=TimeLimit(0.5, now + 0.5, now + 0.5))
    assert (len(done), run.interrupted) == (1, None)


def test_a_launch_that_the_end_of_the_time_stops_ends_a_run_that_has_all_rows(tmp_path):
    now = time.monotonic()
    limit = TimeLimit(5.0, now + 1000, now + 1000)

    def stop(number, last):
        if number == last:
            raise limit.error()

    run, done = dealt_to(tmp_path, lambda *_: 100, limit=limit, end=lambda number: stop(number, 3))
    assert (len(done), run.interrupted) == (4, None)
    (tmp_path / "first").mkdir()
    with pytest.raises(Stopped, match="5 s are over"):
        dealt_to(
            tmp_path / "first", lambda *_: 100, limit=limit, end=lambda number: stop(number, 0)
        )


# Where hosts are lost.


@pytest.mark.parametrize("begun", [False, True])
def test_a_launch_that_loses_a_host_is_followed_by_one_that_measures_what_it_lacks(tmp_path, begun):
    calls = []

    def launch(task):
        calls.append((task.number, task.due.done))
        if len(calls) == 1:
            if begun:
                for rank in range(2):
                    task.records.append(encode(runs.environment(rank=rank)))
                for each in range(10):
                    task.records.append(encode(runs.measurement("tcp", 8, slice=each)))
                task.records.append(encode(runs.measurement("tcp", 64)))
            raise HostsLost("rank 2 on c died", {"c": [2]})
        task.records.append(encode(RunEnd(reason=None)), last=True)

    view = Noted()
    run = launched_run(tmp_path, Plan(transport=("tcp",)), launch, view=view)
    after = (
        (1, frozenset({runs.measurement("tcp", 8).configuration})) if begun else (0, frozenset())
    )
    assert calls == [(0, frozenset()), after]
    assert view.lines == ["rank 2 on c died; going on without c"]
    assert run.interrupted == "without c: rank 2 on c died"
    assert run.lost == (LostHost(host="c", ranks=[2], reason="rank 2 on c died", launch=0),)
    assert run.lost_hosts == {"c": "rank 2 on c died"}


def test_what_a_refined_run_lacks_is_not_known(tmp_path):
    def launch(task):
        task.records.append(encode(runs.environment(rank=0)))
        raise HostsLost("rank 2 on c died", {"c": [2]})

    with pytest.raises(Interrupted, match=r"^rank 2 on c died; which sizes a run with refine"):
        launched_run(tmp_path, Plan(refine=True), launch)


# With --max-duration.


def test_launches_have_equal_parts_of_what_is_left_and_ranks_are_stopped_before_the_end():
    limit = TimeLimit.from_plan(Plan(max_duration=100.0))
    allowed = limit.launch(4).allowed(time.monotonic())
    assert allowed.share == pytest.approx(25, abs=1.5)
    assert allowed.most == pytest.approx(100, abs=1.5)
    # The slower the start was, the slower the end will be.
    assert limit.allowed(time.monotonic() - 20).most < allowed.most - 2
    assert TimeLimit.from_plan(Plan()) is None
    assert 9 < TimeLimit.from_plan(Plan(max_duration=10.0)).left < 10
    assert TimeLimit.from_plan(Plan(max_duration=0.1)).left <= 0
    assert (
        str(TimeLimit.from_plan(Plan(max_duration=2.5)).error()) == "--max-duration: 2.5 s are over"
    )


@pytest.mark.parametrize(
    ("seconds", "late"), [(1, 0.4), (20, 1.0), (3600, 1.0)], ids=["1s", "20s", "1h"]
)
def test_the_longer_a_run_is_the_later_its_end_may_be_before_it_is_stopped(seconds, late):
    limit = TimeLimit.from_plan(Plan(max_duration=float(seconds)))
    share, most = limit.allowed(time.monotonic())
    assert limit.left - most > late
    assert share == most > 0.9 * seconds - 1


@pytest.fixture
def limited(tmp_path):
    """Launches of this plan, which take so long each, or end with this reason: the run, and the
    limits of the launches."""

    def launch(plan, seconds, reason=None):
        limits = []

        def once(task):
            limits.append(task.limit)
            time.sleep(seconds)
            task.records.append(encode(runs.measurement(launch=task.number)))
            task.records.append(encode(RunEnd(reason=reason, seconds=seconds)), last=True)

        return launched_run(tmp_path, plan, once, TimeLimit.from_plan(plan)), limits

    return launch


def test_a_launch_begins_only_where_there_is_time_for_it(limited):
    run, limits = limited(Plan(launches=10, max_duration=1.2), 0.2)
    assert 1 <= len(limits) <= 3
    assert run.interrupted == (f"--max-duration: 1.2 s are over after {len(limits)} of 10 launches")


def test_launches_that_are_over_in_time_are_complete(limited):
    run, limits = limited(Plan(launches=3, max_duration=60.0), 0.01)
    assert len(limits) == 3
    assert run.interrupted is None
    assert [round(limit.launch_ends - limits[0].ends) for limit in limits] == [-40, -30, 0]


def test_until_ci_has_as_many_launches_as_fit(limited):
    """The fewest share the time; more are no promise."""
    plan = Plan(until_ci=True, ci=1e-9, max_duration=2.0)
    run, limits = limited(plan, 0.1)
    assert len(limits) >= 3
    assert run.interrupted is None


# With --until-ci.


def launched(intervals, medians, size=8):
    """Gives `intervals` a measurement of each launch, whose iterations all take its median, ns."""
    for number, ns in enumerate(medians):
        line = encode(runs.measurement(size=size, launch=number, samples=[round(20 * ns)] * 50))
        intervals.take(line)
    return intervals


def test_launches_are_enough_when_their_medians_agree_in_every_row_but_in_none_that_only_failed():
    intervals = Intervals(UNTIL)
    assert not launched(intervals, [100, 100]).are_narrow(2)
    assert launched(intervals, [100, 100, 100]).are_narrow(3)
    assert not launched(Intervals(UNTIL), [100, 120, 90, 110]).are_narrow(4)
    # In every row, of as many launches.
    assert not launched(intervals, [100, 120, 90], size=64).are_narrow(3)
    few = launched(Intervals(UNTIL), [100] * 4)
    assert few.are_narrow(4)
    assert not launched(few, [100, 100], size=512).are_narrow(4)
    intervals = launched(Intervals(UNTIL), [100] * 4)
    failure = Failure(configuration=runs.configuration(), slice=0, reason="lost")
    intervals.take(encode(failure))
    assert intervals.are_narrow(4)
    intervals.take(
        encode(msgspec.structs.replace(failure, configuration=runs.configuration(size=64)))
    )
    assert not intervals.are_narrow(4)


# A launch that fails.


def test_a_later_launch_that_cannot_begin_ends_the_run(tmp_path, monkeypatch):
    """Only at the first launch is it a reason to measure the rest with local processes."""
    made = []

    class GoneLauncher:
        reach = "unix"
        token = "token"
        hosts = ()

        def __init__(self, plan):
            made.append(plan)
            if len(made) == 2:
                raise Unavailable("the mpiexec was removed")

        def job(self, listener, ranks, absent):
            listener.close()
            return Job(listener.address, self.token, launcher=0, ranks=ranks)

        def start(self, job, started):
            raise AssertionError("there is no supervisor to call it")

    class NoSupervisor:
        def __init__(self, job, listener, records, view):
            pass

        def run(self, *arguments):
            pass

    monkeypatch.setattr(registry.LAUNCHERS, "load", lambda name: GoneLauncher)
    monkeypatch.setattr(launching, "Supervisor", NoSupervisor)
    run_file = created(tmp_path)
    plan = msgspec.structs.replace(Plan(), transport=("mpi", "shm"), launches=3)
    with pytest.raises(Interrupted, match="launch 2: the mpiexec was removed"):
        launching.launch(plan, run_file, NoView(), Resumption(launches=3))
    run_file.close()
    run = load(run_file.path)
    assert len(made) == 2
    assert run.skips == ()
    assert run.interrupted == "launch 2: the mpiexec was removed"
