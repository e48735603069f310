"""Several launches in one file: what is said once, and what becomes of one that cannot begin."""

import types

import msgspec
import pytest

from halftrip import registry
from halftrip.api import NoView
from halftrip.errors import Interrupted, Unavailable
from halftrip.job import start as launching
from halftrip.job.series import LaunchRecords, launch_all
from halftrip.plan.plan import Plan
from halftrip.results.records import CopyBound, End, Skip
from halftrip.results.run_file import RunFile, encode, load
from harness import runs


def created(tmp_path):
    run_file = RunFile(tmp_path / "run.jsonl")
    run_file.append(encode(runs.run().head))
    return run_file


def test_a_skip_is_said_once_and_all_else_every_time(tmp_path):
    run_file = created(tmp_path)
    skip, bound = Skip(transport="mpi", reason="no mpiexec"), CopyBound(rank=0, size=8, ns=1.0)
    said = set()
    for _ in range(3):
        records = LaunchRecords(run_file, said)
        for record in (skip, bound):
            records.append(encode(record))
    run_file.close()
    # What is remembered does not grow with what is measured.
    assert said == {encode(skip)}
    run = load(run_file.path)
    assert run.skips == (skip,)
    assert run.copies == (bound,) * 3


def test_the_end_is_of_all_launches(tmp_path):
    run_file = created(tmp_path)
    drifts = iter([[0.5, -3.0], [-2.0, 1.0]])

    def launch(number, records, view):
        end = End(reason=None, seconds=2.0, timed=1.0, clock_drift=next(drifts))
        records.append(encode(end), last=True)

    launch_all(Plan(launches=2), run_file, NoView(), launch)
    run_file.close()
    end = load(run_file.path).end
    assert (end.seconds, end.timed, end.clock_drift) == (4.0, 2.0, [-2.0, -3.0])


def test_a_launch_that_cannot_begin_any_more_ends_the_run(tmp_path, monkeypatch):
    """It is no reason to measure what is left in another way, as at the first launch."""
    made = []

    class Launcher:
        reach = "unix"

        def __init__(self, plan):
            made.append(plan)
            if len(made) == 2:
                raise Unavailable("the mpiexec has gone")

        def job(self, listener, token, ranks):
            listener.close()

        def start(self, job, started):
            raise AssertionError("the control is not there")

    class Control:
        def __init__(self, job, listener, records, view):
            pass

        def run(self, plan, start, number):
            pass

    monkeypatch.setattr(registry, "load", lambda *_: types.SimpleNamespace(Launcher=Launcher))
    monkeypatch.setattr(launching, "Control", Control)
    run_file = created(tmp_path)
    plan = msgspec.structs.replace(Plan(), transport=("mpi", "shm"), launches=3)
    with pytest.raises(Interrupted, match="launch 2: the mpiexec has gone"):
        launching.launch(plan, run_file, NoView())
    run_file.close()
    run = load(run_file.path)
    assert len(made) == 2
    assert run.skips == ()
    assert run.interrupted == "launch 2: the mpiexec has gone"
