"""``halftrip run -t udp`` with real ranks over loopback."""

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
