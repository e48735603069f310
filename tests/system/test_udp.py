"""``halftrip run -t udp`` with real ranks over loopback."""

import json

import pytest

from halftrip.analysis.summaries import summarize_configuration


def test_every_size_that_fits_is_measured_and_verified_but_for_its_header(shell):
    sizes = {1, 8, 17, 8192, 64000}
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1,8,17,8K,64000,65508,1M", "--verify"),
        *("--wait", "block,spin", "--buffers", "same,separate", "--time", "5ms", "-r", "1"),
    )
    assert result.status == 0, result.err
    run = result.run
    assert run.interrupted is None
    assert run.failures == ()
    found = {
        (each.pattern, each.buffers, each.both_ends("wait"), each.size)
        for each in run.by_configuration
    }
    kinds = [("pingpong", "same"), ("pingpong", "separate"), ("stream", "separate")]
    assert found == {
        (*kind, wait, size) for kind in kinds for wait in ("block", "spin") for size in sizes
    }
    for m in run.measurements:
        assert m.verified > 0
        assert m.iterations == 1
        assert min(m.samples) > 0
        delivery = m.delivery
        # Without a rate it would be the jitter of a full buffer.
        assert delivery.jitter is None
        if m.configuration.pattern == "pingpong":
            assert delivery.sent == len(m.samples) + delivery.lost + delivery.reordered
            assert m.peer_median is None
        else:
            assert delivery.sent == len(m.samples) * m.configuration.window
            assert 0 <= delivery.lost < delivery.sent
            assert m.peer_median > 0
        assert summarize_configuration([m]).bandwidth > 0
    assert "not measured: udp 65508, 1M: a datagram holds at most 65507 bytes" in result.out
    assert "lost: datagrams that never came" in result.show("--details").out


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


@pytest.mark.extended
def test_pairs_and_threads_have_paths_of_their_own_and_count_answers(shell):
    result = shell.run(
        *("-t", "udp", "-p", "pingpong,stream", "-s", "1K", "--iterations", "500"),
        *("-n", "4", "--threads", "2"),
    )
    assert result.status == 0, result.err
    run = result.run
    patterns, pairs, threads = ("pingpong", "stream"), ((0, 2), (1, 3)), (0, 1)
    assert {(c.pattern, c.pair, c.thread) for c in run.by_configuration} == {
        (pattern, pair, thread) for pattern in patterns for pair in pairs for thread in threads
    }
    assert {aggregate.configuration.pattern for aggregate in run.aggregates} == set(patterns)
    for measured in run.by_configuration.values():
        assert sum(len(m.samples) for m in measured) == 500
        assert {m.stopped for m in measured} == {"count"}
