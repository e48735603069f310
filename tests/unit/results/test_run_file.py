"""The run file: what is written is read, whatever happened while it was written, and while it is
written."""

import contextlib
import os
import re
import threading
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import HalftripError, Stopped, UsageError
from halftrip.plan.plan import Plan, plan_record
from halftrip.results import run_file
from halftrip.results.following import FollowedRun
from halftrip.results.reading import FORMAT
from halftrip.results.records import Header, RunEnd
from halftrip.results.run_file import RunFile, default_name, encode, load, utc_now
from harness import runs
from harness.files import ROOT
from harness.threads import in_thread

HEADER = Header(
    version=FORMAT,
    halftrip="0",
    started=utc_now(),
    command=["halftrip", "run"],
    plan=plan_record(Plan()),
)


def write(path, *records, tail=b""):
    path.write_bytes(b"".join(encode(record) for record in (HEADER, *records)) + tail)
    return path


def begun(tmp_path):
    """A run file with its first line."""
    run_file = RunFile(tmp_path / "run.jsonl")
    run_file.append(encode(HEADER))
    return run_file


def a_measurement():
    return runs.measurement(iterations=1, samples=[1, 2, 3])


def test_a_last_line_that_is_cut_off_is_reported_unless_it_lacks_only_its_newline(tmp_path):
    line = encode(a_measurement())
    for length in (1, 2, *range(10, len(line) - 2, 97), len(line) - 2):
        path = write(tmp_path / "run.jsonl", a_measurement(), tail=line[:length])
        run = load(path)
        assert len(run.measurements) == 1
        assert run.problems == (f"{path}: line 3, the last, is cut off; it was left out",)
        assert run.interrupted is not None
    path = write(tmp_path / "run.jsonl", a_measurement(), tail=encode(a_measurement())[:-1])
    run = load(path)
    assert len(run.measurements) == 2
    assert run.problems == ()


@pytest.mark.parametrize(
    ("times", "why"),
    [
        *((each, "whole numbers") for each in ("[1, 2.5]", '["1"]', "[true]", "7", "[1, null]")),
        ("[99999999999999999999,1]", "64 bits"),
    ],
)
def test_times_that_are_no_whole_numbers_are_left_out(tmp_path, times, why):
    line = encode(a_measurement()).replace(b"[1,2,3]", times.encode())
    run = load(write(tmp_path / "run.jsonl", tail=line))
    (problem,) = run.problems
    assert re.search(f"line 2 was left out: .*{why}", problem)
    assert run.measurements == ()


def test_a_run_file_is_never_overwritten(tmp_path):
    path = tmp_path / "run.jsonl"
    RunFile(path).close()
    with pytest.raises(UsageError, match="exists already"):
        RunFile(path)
    with pytest.raises(UsageError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be written: no such file or directory"):
        RunFile(tmp_path / "nowhere" / "run.jsonl")


def test_each_line_is_written_at_once_and_only_one_end(tmp_path):
    run_file = begun(tmp_path)
    path = run_file.path
    run_file.append(encode(a_measurement()))
    assert len(load(path).measurements) == 1
    # Without an end, it was interrupted.
    assert load(path).interrupted is not None
    run_file.end(RunEnd(reason="first"))
    run_file.end(RunEnd(reason="second"))
    assert load(path).interrupted == "first"
    run_file.close()


def test_no_part_of_a_line_stays_where_a_signal_comes_between_two_writes(tmp_path, monkeypatch):
    run_file = begun(tmp_path)
    path = run_file.path
    whole = path.read_bytes()
    write = os.write

    def interrupted_write(descriptor, data):
        if len(data) < 20:
            raise Stopped("stopped by SIGINT")
        return write(descriptor, data[:20])

    line = encode(a_measurement())
    monkeypatch.setattr(os, "write", interrupted_write)
    with pytest.raises(Stopped):
        run_file.append(line)
    monkeypatch.undo()
    assert path.read_bytes() == whole
    run_file.append(line)
    run_file.close()
    assert (len(load(path).measurements), load(path).problems) == (1, ())


def test_threads_that_end_a_file_at_once_write_one_end(tmp_path, monkeypatch):
    run_file = begun(tmp_path)
    path = run_file.path
    write = os.write
    writers = threading.Barrier(4)

    def slow_write(descriptor, data):
        # Without a lock all of them get here; with one only the first, which waits for a while.
        with contextlib.suppress(threading.BrokenBarrierError):
            writers.wait(timeout=0.05)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", slow_write)
    line = encode(RunEnd(reason="a line"))
    enders = [lambda: run_file.end(RunEnd(reason="an end"))] * 2
    enders += [lambda: run_file.append(line, last=True)] * 2
    for finish in [in_thread(ender) for ender in enders]:
        assert finish() is None
    assert path.read_bytes().count(b'"record":"end"') == 1
    run_file.close()


@pytest.mark.parametrize("error", [ValueError("year 33658 is out of range"), OverflowError("big")])
def test_a_clock_that_is_wrong_by_thousands_of_years_is_one_line(monkeypatch, error):
    class Clock(datetime):
        @classmethod
        def now(cls, zone=None):
            raise error

    monkeypatch.setattr(run_file, "datetime", Clock)
    for ask in (default_name, utc_now):
        with pytest.raises(HalftripError, match=f"the clock of this machine: {error}; set it"):
            ask()


def test_default_names_are_new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    now = datetime(2026, 1, 31, 12, 0, 0)
    assert default_name(now) == "halftrip-20260131-120000.jsonl"
    (tmp_path / "halftrip-20260131-120000.jsonl").touch()
    assert default_name(now) == "halftrip-20260131-120000-2.jsonl"


FORMATS = ROOT / "tests" / "golden" / "formats"
LINES = (FORMATS / "1.jsonl").read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("run") / "run.jsonl"


@given(st.lists(st.integers(1, len(LINES)), max_size=5))
def test_what_is_read_in_parts_is_the_run(path, ends):
    followed = FollowedRun(path)
    ends = sorted({1, *ends, len(LINES)})
    for end in ends:
        path.write_bytes(b"".join(LINES[:end]))
        followed.read()
        found = followed.run()
        assert found.end is None
        assert len(found.measurements) == sum(
            line.startswith(b'{"record":"measurement"') for line in LINES[:end]
        )
    whole, found = load(path), followed.run()
    assert found.header == whole.header
    assert found.by_configuration.keys() == whole.by_configuration.keys()
    assert found.environments == whole.environments
    assert found.skips == whole.skips


def test_a_run_that_goes_on_has_no_end(path):
    """That of its first part is in the file."""
    path.write_bytes(b"".join(LINES))
    assert load(path).end is not None
    followed = FollowedRun(path)
    followed.read()
    assert followed.run().end is None
