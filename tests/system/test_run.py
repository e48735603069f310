"""``halftrip run`` and ``show`` with real ranks over every local path."""

import csv
import io
import json
import os

import pytest

import halftrip
from halftrip.analysis.summaries import summarize_case
from halftrip.errors import Unavailable, UsageError
from halftrip.memory.host import HOST

QUICK = ("--time", "30ms")
LOCAL = "shm,pipe,unix,tcp"


def rows_of(result):
    return [line.split() for line in result.out.splitlines() if line.startswith((" shm", " pipe",
            " unix", " tcp", " mpi"))]  # fmt: skip


def test_every_local_path_is_measured_and_shown(shell):
    result = shell.run("-t", LOCAL, "-s", "1,8,4K,256K", *QUICK)
    assert result.status == 0
    assert result.err == ""
    shown = {(row[0], row[2]) for row in rows_of(result)}
    assert shown == {(t, s) for t in LOCAL.split(",") for s in ("1", "8", "4K", "256K")}
    assert "run file: run.jsonl" in result.out
    run = result.run
    assert run.interrupted is None
    assert run.end.timed / run.end.seconds > 0.3
    assert [e.rank for e in run.environments] == [0, 1]
    assert run.environments[0].core != run.environments[1].core
    assert all(abs(drift) < 1000 for drift in run.end.clock_drift)
    for measurement in run.measurements:
        assert measurement.first > 0
        assert measurement.warm_up.exchanges > 0
        assert len(measurement.cache_line_rtts) == 1 + len(measurement.blocks)
        assert min(measurement.cache_line_rtts) > 0
        assert min(measurement.samples) > 0
    # Shared memory needs no kernel: the same message takes a socket many times as long.
    latency = {key: summarize_case(ms).latency for key, ms in (
        ((case.transport, case.size), ms) for case, ms in run.by_case.items())}  # fmt: skip
    assert latency["shm", 8] * 3 < min(latency[t, 8] for t in ("pipe", "unix", "tcp"))
    assert latency["shm", 8] < latency["shm", 4096] < latency["shm", 256 << 10]
    # And no path beats the bound of its own moment by more than noise.
    rtt = min(m.cache_line_rtts[0] for m in run.measurements)
    assert latency["shm", 8] > 0.4 * rtt


def test_show_prints_the_same_table_again(shell):
    result = shell.run("-t", "shm", "-s", "8,64", *QUICK)
    again = shell.halftrip("show", "run.jsonl")
    assert again.status == 0
    assert again.out in result.out
    document = json.loads(shell.halftrip("show", "run.jsonl", "--style", "json").out)
    assert [row["size_bytes"] for row in document["rows"]] == [8, 64]
    table = csv.DictReader(io.StringIO(shell.halftrip("show", "run.jsonl", "--style", "csv").out))
    assert [row["transport"] for row in table] == ["shm", "shm"]


def test_a_case_is_how_the_receiver_waits_and_what_the_buffers_are(shell):
    result = shell.run(
        *("-t", "unix", "-s", "64K", "--wait", "block,spin", "--buffers", "same,separate"), *QUICK
    )
    assert result.status == 0
    cases = {(m.case.both_ends("wait"), m.case.buffers) for m in result.run.measurements}
    assert cases == {(w, b) for w in ("block", "spin") for b in ("same", "separate")}
    assert len(rows_of(result)) == 4


def test_huge_pages_are_huge_or_refused(shell):
    result = shell.run("-t", "shm", "-s", "4M", "--pages", "4K,huge", *QUICK)
    measured = {m.case.both_ends("pages") for m in result.run.measurements}
    reasons = [skip.reason for skip in result.run.skips]
    # What this machine gives to us it gives to ranks as well.
    size = 4 << 20
    # Out and in, at both ends.
    refused = HOST.missing("huge") is not None or HOST.available() < 4 * size
    try:
        if not refused:
            HOST.allocate(size, "huge")
    except Unavailable:
        refused = True
    if refused:
        assert measured == {"4K"}
        assert ["huge page" in reason for reason in reasons] == [True]
    else:
        assert measured == {"4K", "huge"}
        assert reasons == []


def test_a_plan_from_a_file_and_options_that_win(shell):
    (shell.directory / "plan.toml").write_text(
        'transport = ["shm", "pipe"]\nsizes = "8,64"\ntime = "20ms"\noutput = "run.jsonl"\n'
    )
    result = shell.halftrip("run", "plan.toml", "-t", "pipe")
    assert result.status == 0
    assert {m.case.transport for m in result.run.measurements} == {"pipe"}
    assert {m.case.size for m in result.run.measurements} == {8, 64}


def test_repetitions_are_shuffled_passes_over_all_cases(shell):
    result = shell.run("-t", "shm", "-s", "1..32K", "-r", "3", "--time", "5ms")
    passes = [m.repetition for m in result.run.measurements]
    assert passes == [0] * 16 + [1] * 16 + [2] * 16
    orders = [[m.case.size for m in result.run.measurements if m.repetition == r] for r in range(3)]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert len(rows_of(result)) == 16


def test_a_count_is_kept_to(shell):
    result = shell.run("-t", "shm,tcp", "-s", "8", "--iterations", "1000")
    for measurement in result.run.measurements:
        timed = len(measurement.samples) * measurement.exchanges
        assert 1000 <= timed < 1000 + len(measurement.samples)
        assert measurement.stopped == "count"


def test_quiet_prints_the_file_alone(shell):
    result = shell.run("-t", "shm", "-s", "8", "-q", *QUICK)
    assert (result.out, result.err) == ("run.jsonl\n", "")


def test_cores_are_what_was_asked_for(shell):
    core = max(os.sched_getaffinity(0))
    result = shell.run("-t", "shm,pipe", "-s", "8", "--cores", f"{core},{core}", *QUICK)
    assert result.status == 0
    assert [e.core for e in result.run.environments] == [core, core]
    # Two ranks on one core still get along, are flagged, and have no line between them.
    assert all("oversubscribed" in row for row in rows_of(result))
    assert all(m.cache_line_rtts == [] for m in result.run.measurements)


def test_ranks_may_be_left_to_the_scheduler(shell):
    result = shell.run("-t", "pipe", "-s", "8", "--cores", "none", *QUICK)
    assert result.status == 0
    assert [e.core for e in result.run.environments] == [None, None]
    assert all("unpinned" in row for row in rows_of(result))
    assert "any core" in result.out


def test_four_ranks_make_two_pairs(shell):
    result = shell.run("-t", "shm,unix", "-s", "8,64K", "-n", "4", *QUICK)
    assert result.status == 0
    assert {m.case.pair for m in result.run.measurements} == {(0, 2), (1, 3)}
    assert [e.rank for e in result.run.environments] == [0, 1, 2, 3]
    if len(os.sched_getaffinity(0)) < 4:
        assert all("oversubscribed" in row for row in rows_of(result))


def test_an_empty_message_is_one_to_shared_memory_and_none_to_a_stream(shell):
    result = shell.run("-t", "shm,tcp", "-s", "0,8", *QUICK)
    assert result.status == 0
    measured = {(m.case.transport, m.case.size) for m in result.run.measurements}
    assert measured == {("shm", 0), ("shm", 8), ("tcp", 8)}
    assert "not measured: tcp 0: a byte stream has no empty messages" in result.out


def test_more_than_memory_is_refused(shell):
    result = shell.run("-t", "shm", "-s", "8,1000G", *QUICK)
    assert result.status == 0
    assert {m.case.size for m in result.run.measurements} == {8}
    assert "not measured: shm 1000G: buffers need" in result.out


def test_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = halftrip.run({"transport": "shm", "sizes": "8,64"}, time="20ms", output="mine.jsonl")
    assert isinstance(run, halftrip.Run)
    assert halftrip.load("mine.jsonl") == run
    frame = run.frame()
    assert sorted(frame["size_bytes"]) == [8, 64]
    assert (frame["latency_ns"] > 0).all()
    with pytest.raises(UsageError, match="sizes: 'x' is not a size"):
        halftrip.run(sizes="x")


def test_a_terminal_shows_how_far_it_is(shell):
    """On a pseudo-terminal there is a line that moves; it is gone in the end."""
    seen = shell.on_a_terminal("-t", "shm,tcp", "-s", "1..1K", *QUICK)
    assert b"/22" in seen
    assert b"tcp" in seen
    assert seen.rstrip().endswith(b"\x1b[2K")
