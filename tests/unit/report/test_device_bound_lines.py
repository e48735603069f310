"""The bounds of devices, as lines below the table."""

from halftrip.report.devices import bounds
from halftrip.results.device import DeviceCopy, DeviceLatency
from harness import runs


def copy(size=4096, ns=1000.0, **changes):
    values = {"rank": 0, "memory": "cuda@0", "direction": "host to device", "host": "pinned"}
    return DeviceCopy(**(values | {"size": size, "ns": ns} | changes))


def latency(**changes):
    values = {"rank": 0, "memory": "cuda@0", "synchronize": 4000.0}
    return DeviceLatency(**(values | changes))


def lines(*copies, latencies=()):
    return bounds(runs.run(device_copies=copies, device_latencies=tuple(latencies)))


def test_a_run_without_devices_has_none():
    assert lines() == []


def test_a_line_for_each_kind_below_that_of_the_sizes():
    """Of several launches the median; what is not known of a size is left open."""
    of_launches = [copy(ns=ns) for ns in (1000.0, 8192.0, 1024.0)]
    within = {"direction": "device to device", "host": ""}
    found = lines(
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
    found = lines(copy(), copy(rank=1, ns=4096.0), latencies=[latency(), latency(rank=1)])
    assert [line for line in found if line.startswith("bound")] == [
        "bound: copies of cuda@0 of rank 0, GB/s, of 4K:",
        "bound: copies of cuda@0 of rank 1, GB/s, of 4K:",
        "bound: cuda@0 of rank 0: 4.00 us for an idle stream",
        "bound: cuda@0 of rank 1: 4.00 us for an idle stream",
    ]


def test_what_it_takes_to_wait_or_why_that_is_not_known():
    found = lines(latencies=[latency(kernel=9000.0)])
    assert found == ["bound: cuda@0: 4.00 us for an idle stream, 9.00 us for an empty kernel"]
    (found,) = lines(latencies=[latency(refused="too old")])
    assert found == "bound: cuda@0: 4.00 us for an idle stream; no kernel was launched: too old"
