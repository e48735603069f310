"""What is said of the network between hosts."""

from halftrip.report import network
from halftrip.results.network_path import Interface, NetworkPath, TcpInfo
from halftrip.results.records import Connection
from harness.runs import environment, run


def path(local, peer, speed=10**10, gateway=None, protocol="tcp", mtu=9000, min_rtt_us=None):
    tcp = TcpInfo(snd_mss=mtu - 52, timestamps=True, rtt_us=50, min_rtt_us=min_rtt_us)
    tcp = tcp if protocol == "tcp" else None
    return NetworkPath(
        protocol=protocol,
        family="ipv4",
        local=local,
        peer=peer,
        interface=Interface(name="eth1", speed=speed, mtu=mtu, driver="mlx5_core", hardware=1),
        gateway=gateway,
        path_mtu=mtu,
        congestion="cubic" if protocol == "tcp" else None,
        tcp=tcp,
    )


def of(rank, peer, **changes):
    found = path(f"10.0.0.{rank}", f"10.0.0.{peer}", **changes)
    return Connection(transport=found.protocol, rank=rank, peer=peer, path=found)


def said(*connections, ranks=2):
    hosts = tuple(environment(rank=rank, host=f"h{rank}") for rank in range(ranks))
    return network.lines(run(environments=hosts, connections=connections))


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


def test_ends_that_differ_are_told_apart():
    (line, _) = said(of(0, 1), of(1, 0, speed=10**9, gateway="10.0.0.254"))
    assert "10.0 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic and 1.00 Gbit/s" in line
    assert line.endswith("by gateway 10.0.0.254, MSS 8,948, cubic")


def test_the_shortest_round_trip_of_either_end_is_said():
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
