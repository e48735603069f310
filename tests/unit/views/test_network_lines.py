"""What is said of the network between hosts."""

import msgspec
import pytest

from halftrip.results.network_path import Interface, NetworkPath, TcpInfo
from halftrip.results.records import Connection
from halftrip.views import network
from halftrip.views.system_log import system_log
from harness.runs import counters, environment, run
from harness.screens import printed


def of(rank, peer, speed=10**10, gateway=None, protocol="tcp", min_rtt_us=None, name="eth1"):
    """The path of a rank to its peer."""
    is_tcp = protocol == "tcp"
    tcp = TcpInfo(snd_mss=8948, timestamps=True, rtt_us=50, min_rtt_us=min_rtt_us)
    found = NetworkPath(
        protocol=protocol, family="ipv4", local=f"10.0.0.{rank}", peer=f"10.0.0.{peer}",
        interface=Interface(name=name, speed=speed, mtu=9000, driver="mlx5_core", hardware=1),
        gateway=gateway, path_mtu=9000, congestion="cubic" if is_tcp else None,
        tcp=tcp if is_tcp else None,
    )  # fmt: skip
    return Connection(transport=protocol, rank=rank, peer=peer, path=found)


def run_of(*connections, ranks=2, counted=()):
    hosts = tuple(environment(rank=rank, host=f"h{rank}") for rank in range(ranks))
    return run(environments=hosts, connections=connections, host_counters=counted)


def said(*connections, ranks=2):
    return network.lines(run_of(*connections, ranks=ranks))


def test_both_ends_and_what_the_link_leaves():
    both = (of(0, 1), of(1, 0), of(0, 1, protocol="udp"), of(1, 0, protocol="udp"))
    assert said() == []
    assert said(*both) == [
        (
            "network: h0 eth1 10.0.0.0 to h1 eth1 10.0.0.1: 10.0 Gbit/s mlx5_core, MTU 9,000, "
            "one link, MSS 8,948, cubic"
        ),
        "bound: the link leaves for payload, MB/s: tcp 1,238, udp 1,241",
    ]


def test_ends_that_differ_are_told_apart_and_their_shortest_round_trip_is_said():
    (line, _) = said(of(0, 1), of(1, 0, speed=10**9, gateway="10.0.0.254"))
    assert "10.0 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic and 1.00 Gbit/s" in line
    assert line.endswith("by gateway 10.0.0.254, MSS 8,948, cubic")
    (line, *_) = said(of(0, 1, min_rtt_us=23), of(1, 0, min_rtt_us=19))
    assert line.endswith(", MSS 8,948, cubic, round trip 19 us by the kernel")


def test_many_pairs_are_counted_by_kind():
    slow = of(0, 4, speed=10**9)
    lines = said(of(0, 1), of(0, 2), of(0, 3), slow, ranks=5)
    assert lines[:2] == [
        "network: 3 pairs: 10.0 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic",
        "network: 1 pair: 1.00 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic",
    ]
    # The slowest link bounds all.
    assert lines[2].endswith("tcp 123.8")


def test_what_is_not_known_is_left_out():
    bare = NetworkPath(protocol="udp", family="ipv6", local="::1", peer="::2")
    assert said(Connection(transport="udp", rank=0, peer=1, path=bare)) == [
        "network: h0 ::1: one link"
    ]


# Packets that hosts have lost, and segments that they sent again.


QUIET = dict.fromkeys(
    [f"{kind}_{way}" for kind in ("packets", "drops", "errors") for way in ("in", "out")], 0
)


def counted(rank, phase="launch", **changes):
    """What the host of a rank, h0, h1, ..., has counted."""
    nothing = {"counts": {}, "interfaces": {}, "softnet": {}}
    return counters(host=f"h{rank}", rank=rank, phase=phase, **(nothing | changes))


def losses(*records, ranks=2, connections=()):
    lines = network.lines(run_of(*connections, ranks=ranks, counted=records))
    return [line for line in lines if line.startswith("losses: ")]


def test_all_that_a_host_lost_is_in_one_line():
    segments = {"tcp_segments_out": 10, "tcp_retransmits": 0}
    assert losses(counted(0, counts=segments, interfaces={"eth0": QUIET}), counted(1)) == []
    lossy = counted(
        1,
        counts={
            "tcp_segments_out": 1000, "tcp_retransmits": 87, "udp_receive_buffer_full": 3,
            "tcp_listen_overflows": 1,
        },
        interfaces={"eth1": QUIET | {"packets_in": 90, "drops_in": 10, "errors_out": 1}},
        softnet={"0": {"dropped": 2}, "1": {"dropped": 3}},
    )  # fmt: skip
    (line,) = losses(counted(0), lossy)
    assert line == (
        "losses: h1: eth1 dropped 10 of 100 packets, eth1 had 1 error, tcp sent 87 of 1,000 "
        "segments again, udp had no room for 3 datagrams, 1 connection found a listener's queue "
        "full, 5 packets found a processor's queue full"
    )


def test_only_the_interface_that_the_pair_used_counts():
    lossy = QUIET | {"packets_in": 9, "drops_in": 1}
    interfaces = {"lo": lossy, "eth0": lossy, "eth1": lossy}
    both = counted(0, interfaces=interfaces)
    (line,) = losses(both, connections=(of(0, 1), of(1, 0, name="eth7")))
    assert line == "losses: h0: eth1 dropped 1 of 10 packets"
    # An MPI does not say which.
    (line,) = losses(both)
    assert line == "losses: h0: eth0 dropped 1 of 10 packets, eth1 dropped 1 of 10 packets"


@pytest.mark.parametrize(
    ("packets", "counts", "found"),
    [
        # Two frames of a protocol that nobody speaks.
        (5_000_000, {"tcp_retransmits": 0}, False),
        (5_000_000, {"tcp_retransmits": 1}, False),
        (5_000_000, {}, False),
        # More than that, and no socket lacks any.
        (900, {"tcp_retransmits": 0, "udp_receive_buffer_full": 0}, False),
        (900, {"tcp_retransmits": 1}, True),
        (900, {"tcp_retransmits": 0, "udp_receive_buffer_full": 1}, True),
        # Nothing tells what sockets lack.
        (900, {}, True),
    ],
)
def test_drops_are_told_if_they_are_many_and_a_socket_lacks_something(packets, counts, found):
    dropped = counted(0, interfaces={"eth0": QUIET | {"packets_in": packets, "drops_in": 2}})
    # The other end sends again what was dropped here.
    lines = losses(dropped, counted(1, counts={"tcp_segments_out": 10**6} | counts))
    assert any("eth0 dropped 2 of" in line for line in lines) is found


def test_launches_count_together_and_what_is_made_up_or_seldom_does_not():
    resent = [counted(0, counts={"tcp_retransmits": n, "tcp_segments_out": 50}) for n in (2, 3)]
    made_up = counted(0, counts={"tcp_retransmits": -4})
    second = msgspec.structs.replace(resent[1], launch=1)
    (line,) = losses(resent[0], second, made_up)
    assert line == "losses: h0: tcp sent 5 of 100 segments again"
    for count, lines in ((10, []), (11, ["losses: h0: tcp sent 11 of 100,000 segments again"])):
        few = counted(0, counts={"tcp_retransmits": count, "tcp_segments_out": 100_000})
        assert losses(few) == lines


def test_of_many_hosts_those_that_lost_most_are_named():
    records = [counted(n, counts={"tcp_retransmits": n, "tcp_segments_out": 9}) for n in range(8)]
    lines = losses(*records, ranks=8)
    assert [line.split(": ")[1] for line in lines] == [
        "h7", "h6", "h5", "h4", "h3", "and 2 more hosts, with less",
    ]  # fmt: skip


def test_the_system_log_is_without_it():
    alone, logged = run_of(counted=[counted(0)]), run_of(counted=[counted(0), counted(0, "after")])
    assert printed(system_log, alone) == [
        "no system log: this run has none; measure with --system-log"
    ]
    shown = "\n".join(printed(system_log, logged))
    assert (shown.count("after, idle"), "launch, idle" in shown) == (1, False)
