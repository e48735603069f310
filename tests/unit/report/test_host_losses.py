"""What is said of packets that hosts have lost, and segments that they sent again."""

import msgspec

from halftrip.report import network
from halftrip.report.system_log import render_system_log
from halftrip.results.network_path import Interface, NetworkPath
from halftrip.results.records import Connection
from harness.runs import counters, environment, run
from harness.screens import printed

QUIET = dict.fromkeys(
    [f"{kind}_{way}" for kind in ("packets", "drops", "errors") for way in ("in", "out")], 0
)


def counted(rank, phase="launch", **changes):
    """What the host of a rank, h0, h1, ..., has counted."""
    nothing = {"counts": {}, "interfaces": {}, "softnet": {}}
    return counters(host=f"h{rank}", rank=rank, phase=phase, **(nothing | changes))


def talked(rank, interface):
    path = NetworkPath(
        protocol="tcp", family="ipv4", local="10.0.0.1", peer="10.0.0.2",
        interface=Interface(name=interface),
    )  # fmt: skip
    return Connection(transport="tcp", rank=rank, peer=1 - rank, path=path)


def run_of(*records, ranks=2, connections=()):
    environments = tuple(environment(rank=rank, host=f"h{rank}") for rank in range(ranks))
    return run(environments=environments, host_counters=records, connections=connections)


def said(*records, **changes):
    lines = network.lines(run_of(*records, **changes))
    return [line for line in lines if line.startswith("losses: ")]


def test_where_nothing_was_lost_nothing_is_said():
    segments = {"tcp_segments_out": 10, "tcp_retransmits": 0}
    assert said(counted(0, counts=segments, interfaces={"eth0": QUIET}), counted(1)) == []


def test_all_that_a_host_lost_is_in_one_line():
    lossy = counted(
        1,
        counts={
            "tcp_segments_out": 1000, "tcp_retransmits": 87, "udp_receive_buffer_full": 3,
            "tcp_listen_overflows": 1,
        },
        interfaces={"eth1": QUIET | {"packets_in": 90, "drops_in": 10, "errors_out": 1}},
        softnet={"0": {"dropped": 2}, "1": {"dropped": 3}},
    )  # fmt: skip
    (line,) = said(counted(0), lossy)
    assert line == (
        "losses: h1: eth1 dropped 10 of 100 packets, eth1 had 1 error, tcp sent 87 of 1,000 "
        "segments again, udp had no room for 3 datagrams, 1 connection found a listener's queue "
        "full, 5 packets found a processor's queue full"
    )


def test_only_the_interface_that_the_pair_used_counts():
    lossy = QUIET | {"packets_in": 9, "drops_in": 1}
    interfaces = {"lo": lossy, "eth0": lossy, "eth1": lossy}
    both = counted(0, interfaces=interfaces)
    (line,) = said(both, connections=(talked(0, "eth1"), talked(1, "eth7")))
    assert line == "losses: h0: eth1 dropped 1 of 10 packets"
    # An MPI does not say which.
    (line,) = said(both)
    assert line == "losses: h0: eth0 dropped 1 of 10 packets, eth1 dropped 1 of 10 packets"


def test_launches_count_together_and_what_is_made_up_or_seldom_does_not():
    resent = [counted(0, counts={"tcp_retransmits": n, "tcp_segments_out": 50}) for n in (2, 3)]
    made_up = counted(0, counts={"tcp_retransmits": -4})
    second = msgspec.structs.replace(resent[1], launch=1)
    (line,) = said(resent[0], second, made_up)
    assert line == "losses: h0: tcp sent 5 of 100 segments again"
    for count, lines in ((10, []), (11, ["losses: h0: tcp sent 11 of 100,000 segments again"])):
        few = counted(0, counts={"tcp_retransmits": count, "tcp_segments_out": 100_000})
        assert said(few) == lines


def test_of_many_hosts_those_that_lost_most_are_named():
    records = [counted(n, counts={"tcp_retransmits": n, "tcp_segments_out": 9}) for n in range(8)]
    lines = said(*records, ranks=8)
    assert [line.split(": ")[1] for line in lines] == [
        "h7", "h6", "h5", "h4", "h3", "and 2 more hosts, with less",
    ]  # fmt: skip


def test_the_system_log_is_without_it():
    assert printed(render_system_log, run_of(counted(0))) == [
        "no system log: this run has none; measure with --system-log"
    ]
    shown = "\n".join(printed(render_system_log, run_of(counted(0), counted(0, "after"))))
    assert shown.count("after, idle") == 1
    assert "launch, idle" not in shown
