"""What is said of devices below the tables of a run."""

import json

import pytest

from halftrip.report.document import document as document_of
from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.views import details, network
from harness.runs import device, environment, measurement, run
from harness.screens import text_of

WHOLE = (
    "cuda@0: A Device, 0000:3b:00.0, PCIe 5 x16, NUMA node 0, driver 570.1, CUDA 12.8, "
    "700 W at most"
)


def lines(*found, **changes):
    return network.devices(run(devices=found, **changes))


def test_what_differs_from_what_is_usual_is_said():
    odd = device(
        link_generation=3, link_width=8, ecc=False, mig=True, compute_mode="exclusive process"
    )
    assert lines(odd) == [
        WHOLE.replace("x16", "x16)").replace("PCIe 5", "PCIe 3 x8 (at most 5")
        + ", no ECC, MIG, compute mode exclusive process"
    ]


def test_what_is_not_known_is_left_out():
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


def test_devices_of_the_same_name_at_other_ranks_are_told_apart():
    found = bounds(copy(), copy(rank=1, ns=4096.0), latencies=[latency(), latency(rank=1)])
    assert [line for line in found if line.startswith("bound")] == [
        "bound: copies of cuda@0 of rank 0, GB/s, of 4K:",
        "bound: copies of cuda@0 of rank 1, GB/s, of 4K:",
        "bound: cuda@0 of rank 0: 4.00 us for an idle stream",
        "bound: cuda@0 of rank 1: 4.00 us for an idle stream",
    ]


def test_what_it_takes_to_wait_or_why_that_is_not_known():
    found = bounds(latencies=[latency(kernel=9000.0)])
    assert found == ["bound: cuda@0: 4.00 us for an idle stream, 9.00 us for an empty kernel"]
    (found,) = bounds(latencies=[latency(refused="too old")])
    assert found == "bound: cuda@0: 4.00 us for an idle stream; no kernel was launched: too old"
