"""What is said of the network between hosts, and of devices."""

import json

import msgspec
import pytest

from halftrip.report.document import document as document_of
from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.results.network_path import Connection, Interface, NetworkPath, TcpInfo
from halftrip.views import details, network
from halftrip.views.system_log import system_log
from harness.runs import counters, device, environment, measurement, run
from harness.screens import printed, text_of


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


def test_both_ends_and_what_the_link_leaves_are_said_as_far_as_they_are_known():
    both = (of(0, 1), of(1, 0), of(0, 1, protocol="udp"), of(1, 0, protocol="udp"))
    assert said() == []
    assert said(*both) == [
        (
            "network: h0 eth1 10.0.0.0 to h1 eth1 10.0.0.1: 10.0 Gbit/s mlx5_core, MTU 9,000, "
            "one link, MSS 8,948, cubic"
        ),
        "bound: the link leaves for payload, MB/s: tcp 1,238, udp 1,241",
    ]
    # Ends that differ are told apart, and their shortest round trip is said.
    (line, _) = said(of(0, 1), of(1, 0, speed=10**9, gateway="10.0.0.254"))
    assert "10.0 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic and 1.00 Gbit/s" in line
    assert line.endswith("by gateway 10.0.0.254, MSS 8,948, cubic")
    (line, *_) = said(of(0, 1, min_rtt_us=23), of(1, 0, min_rtt_us=19))
    assert line.endswith(", MSS 8,948, cubic, round trip 19 us by the kernel")
    # Many pairs are counted by kind.
    slow = of(0, 4, speed=10**9)
    lines = said(of(0, 1), of(0, 2), of(0, 3), slow, ranks=5)
    assert lines[:2] == [
        "network: 3 pairs: 10.0 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic",
        "network: 1 pair: 1.00 Gbit/s mlx5_core, MTU 9,000, one link, MSS 8,948, cubic",
    ]
    # The slowest link bounds all.
    assert lines[2].endswith("tcp 123.8")
    # What is not known is left out.
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


def test_launches_and_hosts_count_together_what_is_made_up_or_seldom_does_not():
    resent = [counted(0, counts={"tcp_retransmits": n, "tcp_segments_out": 50}) for n in (2, 3)]
    made_up = counted(0, counts={"tcp_retransmits": -4})
    second = msgspec.structs.replace(resent[1], launch=1)
    (line,) = losses(resent[0], second, made_up)
    assert line == "losses: h0: tcp sent 5 of 100 segments again"
    for count, lines in ((10, []), (11, ["losses: h0: tcp sent 11 of 100,000 segments again"])):
        few = counted(0, counts={"tcp_retransmits": count, "tcp_segments_out": 100_000})
        assert losses(few) == lines
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


WHOLE = (
    "cuda@0: A Device, 0000:3b:00.0, PCIe 5 x16, NUMA node 0, driver 570.1, CUDA 12.8, "
    "700 W at most"
)


def lines(*found, **changes):
    return network.devices(run(devices=found, **changes))


def test_what_differs_from_what_is_usual_is_said_as_far_as_it_is_known():
    odd = device(
        link_generation=3, link_width=8, ecc=False, mig=True, compute_mode="exclusive process"
    )
    assert lines(odd) == [
        WHOLE.replace("x16", "x16)").replace("PCIe 5", "PCIe 3 x8 (at most 5")
        + ", no ECC, MIG, compute mode exclusive process"
    ]
    unknown = dict.fromkeys(
        ("driver", "link_generation", "link_width", "power_limit", "ecc", "mig"), None
    )
    said = "cuda@0: A Device, 0000:3b:00.0, driver ?, CUDA 12.8"
    assert lines(device(numa_node=None, **unknown)) == [said]
    assert lines(device(numa_node=-1, **unknown)) == [said]


def test_what_is_the_same_has_one_line_and_of_several_hosts_each_its_own():
    again = [device(rank, launch=launch) for rank in (0, 1) for launch in (0, 1)]
    assert lines(*again) == [WHOLE]
    assert len(lines(*again, device(1, launch=2, link_width=8))) == 2
    hosts = tuple(environment(rank, host=f"n{rank}") for rank in (0, 1))
    found = lines(device(0), device(1), environments=hosts)
    assert found == [WHOLE.replace(":", " on n0:", 1), WHOLE.replace(":", " on n1:", 1)]
    assert lines() == network.device_bounds(run()) == []
    assert lines(device(), device(1, stand_in=True))[0] == (
        "the CUDA driver of this run is a stand-in for tests: its figures say nothing of a device"
    )


@pytest.mark.parametrize(
    ("mps", "memory", "uuids", "is_said"),
    [
        (False, "cuda@0", "aa", True),
        (True, "cuda@0", "aa", False),
        (None, "cuda@0", "aa", False),
        (False, "pinned@0:cuda@0", "aa", False),
        (False, "cuda@0:cuda@1", "ab", False),
    ],
)
def test_two_ranks_on_a_device_without_mps_wait_for_each_other(mps, memory, uuids, is_said):
    names = memory.split(":") * (1 if ":" in memory else 2)
    found = [
        device(rank, memory=names[rank], uuid=uuids[rank], mps=mps, launch=launch)
        for rank in (0, 1)
        for launch in (0, 1)
    ]
    said = network.devices(run(measurement("cuda-ipc", memory=memory), devices=tuple(found)))
    assert [line for line in said if "both ranks use it without MPS" in line] == said[-1:] * is_said


def test_the_table_and_programs_get_all_of_it():
    rows = [
        measurement("tcp", memory="cuda@0:host", staging=512 << 10),
        measurement("cuda-ipc", memory="cuda@0:cuda@1", device_copy="engine"),
    ]
    document = document_of(run(*rows, devices=(device(stand_in=True),)))
    said = text_of(details.details(document), 200)
    for words in ("stand-in for tests", "PCIe 5 x16", "cuda@0:host", "chunks of 512K", "engine"):
        assert words in said
    found = json.loads(details.json(document))
    assert [(each["name"], each["stand_in"]) for each in found["devices"]] == [("A Device", True)]
    assert [each["memory"] for each in found["rows"]] == ["cuda@0:host", "cuda@0:cuda@1"]
    assert [each["staging_bytes"] for each in found["rows"]] == [512 << 10, None]
    assert [each["device_copy"] for each in found["rows"]] == [None, "engine"]
    assert "staging_bytes" in details.csv(document).partition("\n")[0]


# Their bounds.


def copy(size=4096, ns=1000.0, **changes):
    values = {"rank": 0, "memory": "cuda@0", "direction": "host to device", "host": "pinned"}
    return DeviceCopy(**(values | {"size": size, "ns": ns} | changes))


def latency(**changes):
    values = {"rank": 0, "memory": "cuda@0", "synchronize": 4000.0}
    return DeviceLatency(**(values | changes))


def bounds(*copies, latencies=()):
    return network.device_bounds(run(device_copies=copies, device_latencies=tuple(latencies)))


def test_a_line_for_each_kind_below_that_of_the_sizes():
    """Of several launches the median; what is not known of a size is left open."""
    of_launches = [copy(ns=ns) for ns in (1000.0, 8192.0, 1024.0)]
    within = {"direction": "device to device", "host": ""}
    found = bounds(
        *of_launches, copy(65536, 2048.0), copy(65536, 4096.0, both_ways=True),
        copy(1 << 20, 1024.0, **within), copy(1 << 20, 2048.0, **within, peer="cuda@1"),
    )  # fmt: skip
    assert found == [
        "bound: copies of cuda@0, GB/s, of 4K, 64K, 1M:",
        "    host to device, pinned: 4.00, 32.0, ?",
        "    host to device, pinned, both ways at once: ?, 16.0, ?",
        "    device to device: ?, ?, 1,024",
        "    to cuda@1: ?, ?, 512",
    ]


def test_bounds_of_ranks_are_told_apart_and_what_it_takes_to_wait_is_said():
    found = bounds(copy(), copy(rank=1, ns=4096.0), latencies=[latency(), latency(rank=1)])
    assert [line for line in found if line.startswith("bound")] == [
        "bound: copies of cuda@0 of rank 0, GB/s, of 4K:",
        "bound: copies of cuda@0 of rank 1, GB/s, of 4K:",
        "bound: cuda@0 of rank 0: 4.00 us for an idle stream",
        "bound: cuda@0 of rank 1: 4.00 us for an idle stream",
    ]
    found = bounds(latencies=[latency(kernel=9000.0)])
    assert found == ["bound: cuda@0: 4.00 us for an idle stream, 9.00 us for an empty kernel"]
    (found,) = bounds(latencies=[latency(refused="too old")])
    assert found == "bound: cuda@0: 4.00 us for an idle stream; no kernel was launched: too old"
