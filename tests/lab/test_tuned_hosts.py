"""Sockets between two hosts that are set up as asked for: what is on the wire, and what arrives
where packets are lost."""

import pytest

from lab.relay import TCP, UDP, Rule

pytestmark = pytest.mark.extended

DELAY = 1_000_000
EF = 46
# Of IPv4, and of TCP without its options.
HEADERS = 20 + 20


@pytest.mark.parametrize("tuning", [("--zerocopy",), ("--streams", "3", "--no-nodelay")])
def test_what_is_sent_arrives_where_segments_are_lost(relayed, shell, tuning):
    """They are sent again, from the buffers that they were sent from."""
    relayed.relay.rule(Rule(delay=DELAY, loss=0.005, reorder=0.005, hold=DELAY, protocol=TCP))
    rows = ("-p", "pingpong,stream,bidirectional", "--window", 4, "--wait", "block,spin")
    run = relayed.measure(shell, "-t", "tcp", "-s", "8,30000", *rows, "--verify", *tuning)
    assert run.failures == ()
    assert len({m.configuration for m in run.measurements}) == 12
    assert all(m.verified > 0 for m in run.measurements)


def marked(log, direction, protocol):
    """The packets of one direction that have the code point EF."""
    packets = log.chosen(direction, protocol)
    return [each for each in packets if bytes(each["header"])[1] >> 2 == EF]


def test_packets_have_the_code_point_and_the_length_that_were_asked_for(relayed, shell):
    relayed.relay.rule(Rule(delay=DELAY))
    relayed.relay.journal()
    relayed.measure(
        shell, "-t", "tcp,udp", "-s", "1400,30000", "--mss", "1000", "--dscp", "EF", "-i", "20"
    )
    log = relayed.relay.journal()
    for direction in (0, 1):
        lengths = [int(each["length"]) for each in marked(log, direction, TCP)]
        # The options of a segment are part of its largest size.
        assert max(lengths) == HEADERS + 1000
        datagrams = marked(log, direction, UDP)
        assert len(datagrams) >= 20
        assert len(datagrams) == len(log.chosen(direction, UDP))
