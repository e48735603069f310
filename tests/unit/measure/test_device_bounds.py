"""A device's own limits: what a stand-in for the driver plants comes out of them."""

import json

import pytest

from halftrip.measure.device_bounds import turns_of
from harness import runs
from harness.cuda import python, stand_in
from harness.preload import preloading

# The bounds of devices as JSON, in a process that has the stand-in.
BOUNDS = """
import sys
import msgspec
from halftrip.clock import Clock
from halftrip.measure.device_bounds import device_bounds
from halftrip.telemetry.devices import describe

names, largest = sys.argv[1].split(","), int(sys.argv[2])
devices = [describe(name, 0) for name in names]
clock = Clock("monotonic")
found = [each for device in devices for each in device_bounds(device, devices, largest, clock)]
print(msgspec.json.encode(found).decode())
"""


def bounds(folder, names="cuda@0", largest=8, **settings):
    """The records that are measured, as dicts; settings are those of the stand-in."""
    code = f"import sys; sys.argv = ['bounds', {names!r}, '{largest}']\n{BOUNDS}"
    environment = stand_in(folder, **settings) | preloading(folder / "made_clock.so")
    result = python(code, environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def copies(found):
    """The times of copies, us, by device, direction, memory of the host, peer, both ways, size."""
    return {
        (
            each["memory"], each["direction"], each["host"], each["peer"], each["both_ways"],
            each["size"],
        ): each["ns"] / 1e3
        for each in found
        if each["record"] == "device-copy"
    }  # fmt: skip


def latency(found):
    (record,) = [each for each in found if each["record"] == "device-latency"]
    return record


def seen(found, expected):
    """By a clock that goes on with each reading, so that nobody else's work is in these times."""
    assert found.keys() == expected.keys()
    off = {key: found[key] / expected[key] for key in expected}
    assert {key: ratio for key, ratio in off.items() if abs(ratio - 1) > 0.03} == {}


def test_planted_copies_come_out(cuda_libraries):
    """Both ways at once take as long as the slower of the two."""
    us = {
        "host to device": (500, 0.5), "device to host": (300, 1.0), "device to device": (200, 2.0)
    }  # fmt: skip

    def planted(direction, size):
        fixed, bytes_per_ns = us[direction]
        return fixed + size / bytes_per_ns / 1e3

    def expected(size):
        there, back, within = (planted(direction, size) for direction in us)
        own = 200 + size / 1.0 / 1e3
        yield ("host to device", "pageable", "", False), there + own
        yield ("device to host", "pageable", "", False), back + own
        yield ("host to device", "pinned", "", False), there
        yield ("device to host", "pinned", "", False), back
        yield ("host to device", "pinned", "", True), there
        yield ("device to device", "", "", False), within
        for both in (False, True):
            yield ("device to device", "", "cuda@1", both), 800 + size / 4.0 / 1e3

    settings = {
        "h2d": "500000,0.5", "d2h": "300000,1", "d2d": "200000,2", "p2p": "800000,4",
        "pageable": "200000,1",
    }  # fmt: skip
    every = {
        ("cuda@0", *kind, size): time for size in (4096, 65536) for kind, time in expected(size)
    }

    found = copies(bounds(cuda_libraries, "cuda@0,cuda@1", **settings))
    seen({key: time for key, time in found.items() if key[0] == "cuda@0"}, every)


def test_planted_latencies_come_out_and_what_the_driver_refuses_is_said(cuda_libraries):
    """Whoever waits for a kernel has waited for the stream."""
    found = latency(bounds(cuda_libraries, sync="200000", launch="450000"))
    assert found["refused"] == ""
    times = {name: found[name] / 1e3 for name in ("synchronize", "kernel")}
    seen(times, {"synchronize": 200, "kernel": 450})
    found = latency(bounds(cuda_libraries, fail="cuModuleLoadData=801"))
    assert found["kernel"] is None
    assert found["refused"].startswith("cuModuleLoadData: CUDA_ERROR_NOT_SUPPORTED")
    assert found["synchronize"] > 0


@pytest.mark.parametrize(
    ("memory", "sizes"),
    [(1 << 34, {4096, 65536, 1 << 20}), (1 << 20, {4096, 65536}), (8192, set())],
)
def test_copies_are_as_large_as_messages_need_and_fit_the_device(cuda_libraries, memory, sizes):
    found = bounds(cuda_libraries, largest=65536, memory=memory)
    assert {key[-1] for key in copies(found)} == sizes
    assert bool(found) == bool(sizes)


def test_devices_that_cannot_reach_each_other_have_no_copies_between_them(cuda_libraries):
    found = copies(bounds(cuda_libraries, "cuda@0,cuda@1", no_peer=1))
    assert {key[0] for key in found} == {"cuda@0", "cuda@1"}
    assert {key[3] for key in found} == {""}


# Who measures what, and when.


def test_each_device_is_measured_once_by_who_sees_it_and_those_of_a_host_in_turn():
    hosts = ["n1", "n1", "n2"]
    found = [
        runs.device(rank=rank, memory=f"cuda@{index}", uuid=f"{host}-{index}")
        for rank, host in enumerate(hosts)
        for index in range(2)
    ]
    turns = turns_of(found, hosts)
    assert [[(each.rank, each.memory) for each in turn] for turn in turns] == [
        [(0, "cuda@0"), (2, "cuda@0")],
        [(0, "cuda@1"), (2, "cuda@1")],
    ]
    found = [runs.device(rank=0, uuid="GPU-a"), runs.device(rank=1, uuid="GPU-b")]
    assert [[each.rank for each in turn] for turn in turns_of(found, ["n1", "n1"])] == [[0], [1]]
    # Page-locked memory alone has no bounds.
    assert turns_of([runs.device(memory="pinned@0")], ["n1"]) == turns_of([], ["n1"]) == []
