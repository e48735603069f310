"""What a path of known delays, losses and reordering does is measured as it was done."""

import re

import numpy as np
import pytest

from halftrip.analysis.one_way import LARGEST_SHARE, Clocks, one_way_times
from halftrip.analysis.rows import rows
from lab import hosts
from lab.relay import TCP, UDP, Rule

pytestmark = pytest.mark.extended

DELAY = 1_000_000
SIZE = 200
# What the IP packets of the messages look like: 20 bytes of IP; 20 of TCP and 12 of its timestamps,
# or 8 of UDP. An MPI puts a header of its own before them; nothing else is that long.
PACKETS = {
    "tcp": (TCP, range(SIZE + 52, SIZE + 53)),
    "udp": (UDP, range(SIZE + 28, SIZE + 29)),
    "mpi": (TCP, range(SIZE + 53, SIZE + 100)),
}
QUANTILES = (0.1, 0.5)
EF = 46
# Of IPv4, and of TCP without its options.
HEADERS = 20 + 20


# Delays.


@pytest.mark.parametrize(
    ("transports", "delay", "mpi"), [("tcp,udp", 1, "mpich"), ("mpi", 5, "openmpi")]
)
def test_a_delay_is_measured(relayed, shell, transports, delay, mpi):
    """A row's median, and its quick tenth, are, within 3 %, half of a round trip by the relay's own
    record: what passed from when it read a message until it wrote the reply, and as much again as
    the second host took, since the relay cannot see the time of the first host. Both see the same
    iterations, so that it does not matter how long hosts on a busy machine take. The relay held
    them for the delay at least."""
    relayed.relay.rule(Rule(delay=delay * DELAY))
    relayed.relay.journal()
    arguments = ("-t", transports, "-s", SIZE, "--wait", "spin", "--ci", "none")
    run = relayed.measure(shell, *arguments, "--time", "0.5s", "-r", 1, mpi=mpi)
    log = relayed.relay.journal()
    assert {m.configuration.transport for m in run.measurements} == set(transports.split(","))
    for m in run.measurements:
        name, times = m.configuration.transport, m.one_way_times
        until_reply, at_second_host = log.round_trips(*PACKETS[name])
        assert np.all(until_reply - at_second_host >= 2 * delay * DELAY)
        for quantile in QUANTILES:
            ends = (np.quantile(each, quantile) for each in (until_reply, at_second_host))
            expected = pytest.approx(sum(ends) / 2, rel=0.03)
            assert np.quantile(times, quantile) == expected, (name, quantile)


def test_a_way_back_that_is_longer_is_in_the_stamps_but_not_in_what_is_known(relayed, shell):
    """By one clock for both ends, which namespaces have, the ways are as long as they are made. By
    two, they cannot be told from clocks that differ, and that is within the error."""
    there, back = DELAY, 5 * DELAY
    relayed.relay.rule(Rule(delay=there, further=back - there))
    work = ("-t", "tcp", "--wait", "spin", "--ci", "none", "--time", "60ms", "-r", 6)
    run = relayed.measure(shell, *work, "-s", SIZE)
    (row,) = rows(run)
    assert not row.one_way.is_known
    blocks = check_clocks(run)
    ways = [
        np.concatenate(each) for each in zip(*(one_way_times(b, 0, 0) for b in blocks), strict=True)
    ]
    # On a busy machine, some take longer.
    assert there <= ways[0].min() < back <= ways[1].min()


def check_clocks(run):
    """The clocks were compared before and after all configurations, and the difference, which is
    none, is within the error at all times. Returns all blocks."""
    moments = [each.at for each in run.clock_comparisons]
    blocks = [block for m in run.measurements for block in m.blocks]
    assert min(moments) < min(block.start for block in blocks)
    assert max(moments) > max(block.end for block in blocks if block.end is not None)
    assert {tuple(each.ranks) for each in run.clock_comparisons} == {(1,)}
    clocks = Clocks(run)
    for block in blocks:
        reading = clocks.ahead(0, (0, 1), block.start)
        assert abs(reading.ahead) <= reading.error
    return blocks


def test_large_messages_have_one_way_times_and_small_ones_have_none(lab, shell):
    work = ("-t", "tcp", "--wait", "spin", "--ci", "none", "--time", "60ms", "-r", 6)
    result = shell.measure(
        *(*work, "-s", "8,4M", *lab.by_ssh),
        prefix=(*hosts.FIRST, *lab.hosts[0].prefix()),
        silent=True,
    )
    check_clocks(result.run)
    small, large = rows(result.run)
    assert not small.one_way.is_known
    assert small.one_way.error > LARGEST_SHARE * small.summary.latency
    assert large.one_way.is_known
    assert large.one_way.error <= LARGEST_SHARE * large.summary.latency
    both = large.one_way.there + large.one_way.back
    assert both == pytest.approx(2 * large.summary.latency, rel=0.5)


# Losses.


def test_segments_that_were_sent_again_are_told(relayed, shell):
    relayed.relay.rule(Rule(loss=0.02, protocol=TCP))
    result = shell.measure(
        *("-t", "tcp", "-p", "stream", "-s", "1000", "--time", "1s", "-r", "1", "--ci", "none"),
        *relayed.by_ssh,
        prefix=relayed.hosts[0].prefix(),
    )
    counted = {each.host: each for each in result.run.host_counters}
    assert set(counted) == {host.name for host in relayed.hosts}
    assert {each.phase for each in counted.values()} == {"launch"}
    sender = relayed.hosts[0].name
    resent = counted[sender].counts["tcp_retransmits"]
    assert resent > 0
    (line,) = (line for line in result.out.splitlines() if line.startswith(f"losses: {sender}: "))
    assert re.search(rf"tcp sent {resent:,} of [0-9,]+ segments again", line)
    # Nothing of it is within what is timed.
    (m,) = result.run.measurements
    each = counted[sender]
    assert each.at < m.at
    assert each.at + each.seconds > m.at + sum(block.elapsed for block in m.blocks) * 1e-9


@pytest.mark.parametrize("tuning", [("--zerocopy",), ("--streams", "3", "--no-nodelay")])
def test_what_is_sent_arrives_where_segments_are_lost(relayed, shell, tuning):
    """They are sent again, from the buffers that they were sent from."""
    relayed.relay.rule(Rule(delay=DELAY, loss=0.005, reorder=0.005, hold=DELAY, protocol=TCP))
    work = ("-p", "pingpong,stream,bidirectional", "--window", 4, "-i", "60", "--verify")
    run = relayed.measure(shell, "-t", "tcp", "-s", "30000", *work, *tuning)
    assert run.failures == ()
    assert len({m.configuration for m in run.measurements}) == 3
    assert all(m.verified > 0 for m in run.measurements)


# Packets.


def marked(log, direction, protocol):
    """The packets of one direction that have the code point EF."""
    packets = log.chosen(direction, protocol)
    return [each for each in packets if bytes(each["header"])[1] >> 2 == EF]


def test_packets_have_the_code_point_and_the_length_that_were_asked_for(relayed, shell):
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
