"""``halftrip run -t udp`` with real ranks over loopback."""

import json

import pytest

from halftrip.analysis.summaries import summarize_case

QUICK = ("--time", "30ms")
SIZES = "1,8,64,1K,8K,64000,65508,1M"
MEASURED = {1, 8, 64, 1024, 8192, 64000}


@pytest.mark.parametrize("wait", ["block", "spin"])
def test_both_patterns_are_measured_at_every_size_that_fits(shell, wait):
    result = shell.run("-t", "udp", "-p", "pingpong,stream", "-s", SIZES, "--wait", wait, *QUICK)
    assert result.status == 0, result.err
    run = result.run
    assert run.interrupted is None
    assert run.failures == ()
    measured = {(m.case.pattern, m.case.size) for m in run.measurements}
    assert measured == {(p, s) for p in ("pingpong", "stream") for s in MEASURED}
    for m in run.measurements:
        assert m.case.both_ends("wait") == wait
        assert m.exchanges == 1
        assert min(m.samples) > 0
        d = m.delivery
        if m.case.pattern == "pingpong":
            assert d.sent == len(m.samples) + d.lost + d.late
            assert (d.jitter, m.peer_median) == (None, None)
        else:
            assert d.sent == len(m.samples) * m.case.window
            assert 0 <= d.lost < d.sent
            assert d.jitter is None  # without a rate it would be that of a full buffer
            assert m.peer_median > 0
    refusal = "not measured: udp 65508, 1M: a datagram holds at most 65507 bytes"
    assert refusal in result.out
    assert "lost: never came" in result.out


def test_a_stream_keeps_to_its_rate(shell):
    result = shell.run("-t", "udp", "-p", "pingpong,stream", "-s", "1K", "--rate", "1MB",
                       "--time", "0.3s")  # fmt: skip
    assert result.status == 0
    (m,) = result.run.measurements
    assert (m.case.pattern, m.case.rate) == ("stream", 1e6)
    # How near it comes is for the pacer's tests to say. Time that was lost is made up for at twice
    # the rate at most.
    seconds = sum(m.samples) * 1e-9
    assert m.delivery.sent * 1024 / seconds <= 2.1e6
    assert m.delivery.jitter > 0
    assert "not measured: udp pingpong: --rate: only a stream of udp has one" in result.out
    assert "rate 1 MB/s" in result.out


def test_messages_are_verified_but_for_their_heads(shell):
    sizes, caches = (1, 8, 17, 1024, 60000), ("hot", "cold")
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1,8,17,1K,60000", "--verify"),
        *("--buffers", "same,separate", "--cache", "hot,cold", *QUICK),
    )
    assert result.status == 0, result.err
    run = result.run
    assert run.failures == ()
    kinds = [("pingpong", "same"), ("pingpong", "separate"), ("stream", "separate")]
    measured = [
        (m.case.pattern, m.case.buffers, m.case.size, m.case.cache) for m in run.measurements
    ]
    assert sorted(measured) == sorted((*k, s, c) for k in kinds for s in sizes for c in caches)
    assert all(m.verified > 0 for m in run.measurements)
    # One buffer for both ways is for a ping-pong alone.
    (skip,) = run.skips
    assert (
        skip.reason
        == "--buffers same: only a ping-pong in turn sends from the buffer that it receives into"
    )
    assert (skip.transport, skip.patterns) == ("udp", ["stream"])
    assert skip.sizes is None  # of any size


def test_what_it_cannot_do_is_skipped_with_the_reason(shell):
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream,exchange,put", "-m", "blocking,nonblocking,onesided"),
        *("-s", "0,8", *QUICK),
    )
    assert result.status == 0
    assert {(m.case.pattern, m.case.size) for m in result.run.measurements} == {
        ("pingpong", 8),
        ("stream", 8),
    }
    reasons = " / ".join(skip.reason for skip in result.run.skips)
    for said in ("no room for its number", "no nonblocking calls", "no exchange", "no memory"):
        assert said in reasons


def test_a_count_is_a_count_of_answers(shell):
    result = shell.run("-t", "udp", "-s", "8,1K", "--iterations", "500")
    for m in result.run.measurements:
        assert len(m.samples) == 500
        assert m.stopped == "count"


def test_pairs_and_threads_have_paths_of_their_own(shell):
    result = shell.run("-t", "udp", "-p", "pingpong,stream", "-s", "1K", "-n", "4",
                       "--threads", "2", *QUICK)  # fmt: skip
    assert result.status == 0, result.err
    run = result.run
    paths = {(m.case.pattern, m.case.pair, m.case.thread) for m in run.measurements}
    assert paths == {
        (p, pair, t)
        for p in ("pingpong", "stream")
        for pair in ((0, 2), (1, 3))
        for t in (0, 1)
    }  # fmt: skip
    assert {together.case.pattern for together in run.aggregates} == {"pingpong", "stream"}


def test_programs_are_told_what_became_of_datagrams(shell):
    shell.run("-t", "udp", "-p", "stream", "-s", "1K", "--rate", "1MB", *QUICK)
    document = json.loads(shell.halftrip("show", "run.jsonl", "--style", "json").out)
    (row,) = document["rows"]
    assert row["sent"] > 0
    assert row["lost"] >= 0
    assert row["jitter_ns"] >= 0
    (m,) = shell.run("-o", "again.jsonl", "-t", "udp", "-s", "1K", "-q", *QUICK).run.measurements
    assert summarize_case([m]).bandwidth > 0
