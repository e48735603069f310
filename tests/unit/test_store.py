"""The run file: what is written can be read, whatever happened while it was written."""

import os
import threading
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halftrip
from halftrip.errors import UsageError
from halftrip.plan.plan import Plan, plan_record
from halftrip.report.rows import rows as rows_of
from halftrip.results.case import Case
from halftrip.results.records import CopyBound, End, Head, LineBound, Measurement, Skip, WarmUp
from halftrip.results.run_file import FORMAT, RunFile, default_name, encode, load, utc_now

names = st.text(st.characters(codec="utf-8"), max_size=20)
numbers = st.floats(0, 1e12)
measurements = st.builds(
    Measurement,
    case=st.builds(
        Case,
        transport=st.sampled_from(["mpi", "shm", "tcp"]),
        size=st.integers(0, 1 << 40),
        wait=st.sampled_from(["block", "spin"]),
        pair=st.tuples(st.integers(0, 99), st.integers(0, 99)),
    ),
    repetition=st.integers(0, 100),
    at=numbers,
    first=st.integers(0, 1 << 60),
    warm_up=st.builds(WarmUp, st.integers(0, 1 << 40), st.integers(0, 1 << 60), st.booleans()),
    exchanges=st.integers(1, 1 << 30),
    stopped=st.sampled_from(["converged", "time", "count", "full"]),
    line=st.none() | st.builds(LineBound, numbers, numbers),
    samples=st.lists(st.integers(0, 1 << 60), max_size=20),
)
skips = st.builds(
    Skip,
    transport=names,
    reason=names,
    sizes=st.none() | st.lists(st.integers(0, 1 << 40), max_size=5),
)
copies = st.builds(CopyBound, rank=st.integers(0, 9), size=st.integers(1, 1 << 40), ns=numbers)

HEAD = Head(
    format=FORMAT,
    halftrip="0",
    started=utc_now(),
    command=["halftrip", "run"],
    plan=plan_record(Plan()),
)


def write(path, *records, tail=b""):
    path.write_bytes(b"".join(encode(record) for record in (HEAD, *records)) + tail)
    return path


@given(st.lists(measurements | skips | copies, max_size=10), st.none() | names)
def test_what_is_written_is_read(tmp_path_factory, records, reason):
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    run = load(write(path, *records, End(reason=reason)))
    assert run.head == HEAD
    assert list(run.measurements) == [r for r in records if isinstance(r, Measurement)]
    assert list(run.skips) == [r for r in records if isinstance(r, Skip)]
    assert list(run.copies) == [r for r in records if isinstance(r, CopyBound)]
    assert run.interrupted == reason
    assert run.problems == ()


def a_measurement():
    return Measurement(
        case=Case(transport="shm", size=8, wait="spin"),
        repetition=0,
        at=0.1,
        first=10,
        warm_up=WarmUp(3, 100, True),
        exchanges=1,
        stopped="time",
        line=None,
        samples=[1, 2, 3],
    )


def test_a_run_without_an_end_was_interrupted(tmp_path):
    run = load(write(tmp_path / "run.jsonl", a_measurement()))
    assert run.interrupted is not None
    assert len(run.measurements) == 1


def test_a_last_line_that_is_cut_off_is_reported_and_the_rest_loads(tmp_path):
    line = encode(a_measurement())
    for length in range(1, len(line) - 1):
        path = write(tmp_path / "run.jsonl", a_measurement(), tail=line[:length])
        run = load(path)
        assert len(run.measurements) == 1
        assert run.problems == (f"{path}: line 3, the last, is cut off; it was left out",)
        assert run.interrupted is not None


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path):
    path = write(tmp_path / "run.jsonl", a_measurement(), tail=encode(a_measurement())[:-1])
    run = load(path)
    assert len(run.measurements) == 2
    assert run.problems == ()


@pytest.mark.parametrize("line", [b"{}", b"nonsense", b'{"record":"poem"}', b"\xff\xfe", b""])
def test_a_line_in_the_midst_that_is_no_record_is_an_error(tmp_path, line):
    path = write(tmp_path / "run.jsonl", tail=line + b"\n" + encode(a_measurement()))
    with pytest.raises(UsageError, match="line 2 is not a record"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"hello\n", b"[1, 2]\n", b'{"record": "end"}\n'])
def test_what_is_no_run_file_is_said_so(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a run file of halftrip"):
        load(path)


def test_a_newer_format_is_said_so(tmp_path):
    path = tmp_path / "run.jsonl"
    newer = msgspec.structs.replace(HEAD, format=FORMAT + 1)
    path.write_bytes(encode(newer) + b'{"record": "unheard of"}\n')
    with pytest.raises(UsageError, match=f"format {FORMAT + 1} is newer"):
        load(path)


def test_a_missing_file_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        load(tmp_path / "none")


def test_a_run_file_is_never_overwritten(tmp_path):
    path = tmp_path / "run.jsonl"
    RunFile(path).close()
    with pytest.raises(UsageError, match="exists already"):
        RunFile(path)
    with pytest.raises(UsageError, match="cannot be written: no such file or directory"):
        RunFile(tmp_path / "nowhere" / "run.jsonl")


def test_every_line_is_out_at_once_and_the_end_is_written_once(tmp_path):
    path = tmp_path / "run.jsonl"
    run_file = RunFile(path)
    run_file.append(encode(HEAD))
    run_file.append(encode(a_measurement()))
    assert len(load(path).measurements) == 1
    run_file.end(End(reason="first"))
    run_file.end(End(reason="second"))
    assert load(path).interrupted == "first"
    run_file.close()


def test_two_that_end_a_file_at_once_write_one_end(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    run_file = RunFile(path)
    run_file.append(encode(HEAD))
    write = os.write

    def slow_write(descriptor, data):
        time.sleep(0.05)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", slow_write)
    line = encode(End(reason="a line"))
    enders = [lambda: run_file.end(End(reason="an end"))] * 2
    enders += [lambda: run_file.append(line, last=True)] * 2
    threads = [threading.Thread(target=ender) for ender in enders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes().count(b'"record":"end"') == 1
    run_file.close()


def test_default_names_are_new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from datetime import datetime

    now = datetime(2026, 1, 31, 12, 0, 0)
    assert default_name(now) == "halftrip-20260131-120000.jsonl"
    (tmp_path / "halftrip-20260131-120000.jsonl").touch()
    assert default_name(now) == "halftrip-20260131-120000-2.jsonl"


def test_a_frame_has_a_row_for_every_measurement(tmp_path):
    path = write(tmp_path / "run.jsonl", a_measurement(), a_measurement())
    frame = halftrip.load(path).frame()
    assert len(frame) == 2
    assert frame["latency_ns"].tolist() == [1.0, 1.0]
    assert frame["size_bytes"].tolist() == [8, 8]
    assert {"transport", "wait", "buffers", "pages", "p99_ns", "bandwidth_bytes_per_s"} <= set(
        frame.columns
    )


FORMATS = Path(__file__).parent.parent / "golden" / "formats"


@pytest.mark.parametrize("version", range(1, FORMAT))
def test_files_of_every_version_can_be_read_and_shown(version):
    """Written by the halftrip of that time."""
    run = load(FORMATS / f"{version}.jsonl")
    assert run.head.format == version
    assert run.problems == ()
    assert run.interrupted is None
    assert {m.launch for m in run.measurements} == {e.launch for e in run.environments} == {0}
    rows = {(row.case.pattern, row.case.size): row for row in rows_of(run)}
    assert len(rows) == (2 if version == 1 else 3)
    pingpong = rows["pingpong", 8]
    assert pingpong.summary.latency == pytest.approx(100, rel=0.01)
    # Its two repetitions were taken in two states, one in each: the row is of the first.
    assert pingpong.line == (150.0, 152.0)
    assert rows["pingpong", 64].line is None
    assert rows["pingpong", 64].summary.samples == 16
    assert len(run.failures) == len(run.togethers) == version - 1
