"""``halftrip run -t udp`` with real ranks over loopback."""

import json

import pytest

from halftrip.analysis.summaries import summarize_configuration
from harness.shell import opened_shell

SIZES = "1,8,64,1K,8K,64000,65508,1M"
MEASURED = {1, 8, 64, 1024, 8192, 64000}


@pytest.fixture(scope="module")
def every_size(tmp_path_factory):
    """Both patterns of udp, and both ways to wait, at sizes of which some do not fit."""
    with opened_shell(tmp_path_factory.mktemp("udp")) as shell:
        patterns = ("-t", "udp", "-p", "pingpong,stream")
        result = shell.run(*patterns, "-s", SIZES, "--wait", "block,spin", "--time", "10ms")
        assert result.status == 0, result.err
        yield result


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_every_size_that_fits_is_measured(every_size, pattern, wait):
    run = every_size.run
    assert run.interrupted is None
    assert run.failures == ()
    found = [
        m
        for m in run.measurements
        if m.configuration.pattern == pattern and m.configuration.both_ends("wait") == wait
    ]
    assert {m.configuration.size for m in found} == set(MEASURED)
    for m in found:
        assert m.iterations == 1
        assert min(m.samples) > 0
        delivery = m.delivery
        # Without a rate it would be the jitter of a full buffer.
        assert delivery.jitter is None
        if pattern == "pingpong":
            assert delivery.sent == len(m.samples) + delivery.lost + delivery.reordered
            assert m.peer_median is None
        else:
            assert delivery.sent == len(m.samples) * m.configuration.window
            assert 0 <= delivery.lost < delivery.sent
            assert m.peer_median > 0
        assert summarize_configuration([m]).bandwidth > 0


def test_sizes_that_do_not_fit_are_refused(every_size):
    refusal = "not measured: udp 65508, 1M: a datagram holds at most 65507 bytes"
    assert refusal in every_size.out
    assert "lost: datagrams that never came" in every_size.show("--details").out


@pytest.mark.extended
def test_a_stream_keeps_to_its_rate(shell):
    """How near it comes is for the pacer's tests to say; time that was lost is made up for at twice
    the rate at most. Programs get what became of the datagrams."""
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1K", "--rate", "1MB", "--time", "0.2s")
    )
    assert result.status == 0, result.err
    ((configuration, measured),) = result.run.by_configuration.items()
    assert (configuration.pattern, configuration.rate) == ("stream", 1e6)
    for m in measured:
        assert m.delivery.sent * 1024 / (sum(m.samples) * 1e-9) <= 2.1e6
        assert m.delivery.jitter > 0
    assert "not measured: udp pingpong: --rate: only a stream of udp has one" in result.out
    assert "rate 1 MB/s" in result.out
    (row,) = json.loads(result.show("--format", "json").out)["rows"]
    assert row["sent"] == sum(m.delivery.sent for m in measured)
    assert row["lost"] == sum(m.delivery.lost for m in measured)
    jitters = [m.delivery.jitter for m in measured]
    assert min(jitters) <= row["jitter_ns"] <= max(jitters)


def test_messages_are_verified_but_for_their_headers(shell):
    sizes, caches = (1, 8, 17, 60000), ("hot", "cold")
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1,8,17,60000", "--verify"),
        *("--buffers", "same,separate", "--cache", "hot,cold", "--time", "2ms"),
        **shell.small_cache(),
    )
    assert result.status == 0, result.err
    run = result.run
    assert run.failures == ()
    kinds = [("pingpong", "same"), ("pingpong", "separate"), ("stream", "separate")]
    measured = [
        (configuration.pattern, configuration.buffers, configuration.size, configuration.cache)
        for configuration in run.by_configuration
    ]
    assert sorted(measured) == sorted((*k, s, c) for k in kinds for s in sizes for c in caches)
    assert all(m.verified > 0 for m in run.measurements)
    (skip,) = run.skips
    said = "--buffers same: only a ping-pong in turn sends from the buffer that it receives into"
    assert skip.reason == said
    assert (skip.transport, skip.patterns) == ("udp", ["stream"])
    assert skip.sizes is None  # of any size


def test_pairs_and_threads_have_paths_of_their_own_and_count_answers(shell):
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1K", "--iterations", "500"),
        *("-n", "4", "--threads", "2"),
    )
    assert result.status == 0, result.err
    run = result.run
    paths = {
        (m.configuration.pattern, m.configuration.pair, m.configuration.thread)
        for m in run.measurements
    }
    pairs, threads = ((0, 2), (1, 3)), (0, 1)
    assert paths == {
        (p, pair, t) for p in ("pingpong", "stream") for pair in pairs for t in threads
    }
    assert {aggregate.configuration.pattern for aggregate in run.aggregates} == {
        "pingpong",
        "stream",
    }
    for measured in run.by_configuration.values():
        assert sum(len(m.samples) for m in measured) == 500
        assert {m.stopped for m in measured} == {"count"}


@pytest.mark.extended
def test_a_window_of_datagrams_may_be_larger_than_any_buffer(shell):
    result = shell.run(
        *("-t", "udp", "-p", "stream", "-s", "60K", "--window", "40000", "--time", "10ms")
    )
    assert (result.status, result.err) == (0, "")
