"""Buffers in a device's memory, over every path there is: with a stand-in for the driver, which
plants times and traps when the host touches what it cannot reach. It proves that the code works,
never a figure."""

import time

import pytest

from harness.choice import extended
from harness.victim import Victim

# Whether bytes arrive, a few iterations tell.
QUICK = ("-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate")
BOTH_WAYS = "pingpong,stream,bidirectional"


def shortest(measurements):
    """The shortest one-way time, us: beside other programs, only that is as planted."""
    return min(block.min() for one in measurements for block in one.one_way_blocks) / 1e3


@pytest.mark.parametrize(
    ("transports", "memory", "patterns", "more"),
    [
        ("cuda-ipc", "cuda,cuda@0:cuda@1", BOTH_WAYS, ("--device-copy", "driver,engine")),
        *extended(
            ("cuda-ipc,nccl", "cuda@0:cuda@1", "pingpong,stream,exchange,pingping",
             ("--align", "8")),
            ("cuda-ipc,nccl", "cuda@0:cuda@1", BOTH_WAYS, ("--mode", "nonblocking")),
            ("cuda-ipc", "cuda@0:cuda@1", "put,get", ("--mode", "onesided")),
            ("tcp,shm,unix,pipe", "cuda,cuda:host,host:cuda", BOTH_WAYS,
             ("--staging", "whole,chunk=4K")),
            # What a library does not take is staged for it.
            ("ucx", "cuda,host:cuda", "pingpong,stream", ()),
            ("ucx", "cuda,host:cuda", "pingpong,stream", ("--staging", "whole,chunk=4K")),
            ("libfabric", "cuda,cuda:host", BOTH_WAYS, ()),
            ("nccl", "cuda@0:cuda@1", BOTH_WAYS, ()),
            ("shm,tcp", "pinned,managed,host:pinned", BOTH_WAYS, ()),
        ),
    ],
)  # fmt: skip
def test_all_bytes_arrive_between_all_memory(shell, cuda, transports, memory, patterns, more):
    options = ("--memory", memory, "-p", patterns, "-s", "8,10001", "-W", "4", "--verify", *more)
    result = shell.measure("-t", transports, *options, *QUICK, **cuda())
    found = result.cells("transport", "memory", "pattern", "size_bytes")
    numbers = [len(each.split(",")) for each in (transports, memory, patterns)]
    assert len(found) == 2 * numbers[0] * numbers[1] * numbers[2]
    assert not result.run.failures


def test_planted_delays_come_out(shell, cuda):
    """Of a copy through the host, both; of one from device to device, the one that it takes."""
    plants = cuda(h2d="200000", d2h="300000", d2d="150000", p2p="250000")
    result = shell.measure(
        *("-t", "shm,cuda-ipc", "--memory", "cuda,cuda@0:cuda@1,cuda:host", "-s", "8"),
        *("--time", "150ms", "--slices", "3", "--no-message-rate"),
        **plants,
    )
    found = {
        (each.transport, each.both_ends("memory")): shortest(measurements)
        for each, measurements in result.run.by_configuration.items()
    }
    expected = {
        ("shm", "cuda"): 500.0,
        ("shm", "cuda@0:cuda@1"): 500.0,
        ("shm", "cuda:host"): 250.0,
        ("cuda-ipc", "cuda"): 150.0,
        ("cuda-ipc", "cuda@0:cuda@1"): 250.0,
    }
    assert found.keys() == expected.keys()
    for path, planted in expected.items():
        assert found[path] == pytest.approx(planted, rel=0.03), path


# What is not there is left out, with the reason.


@pytest.mark.extended
@pytest.mark.parametrize(
    ("arguments", "settings", "reason"),
    [
        (("--memory", "cuda@7"), {}, "there is no CUDA device 7; there is 0 (Stand-in 0"),
        (
            ("--memory", "cuda@0:cuda@1", "-t", "cuda-ipc"),
            {"no_peer": 1},
            "cuda@0 cannot access the memory of Stand-in 1",
        ),
        (("--memory", "cuda", "-t", "nccl"), {}, "--memory cuda: NCCL has no two ranks on one"),
        (
            ("--memory", "cuda", "-t", "ucx", "--staging", "none"),
            {},
            "does not take it; -t ucx --staging whole sends by",
        ),
        (("--memory", "cuda", "-s", "1G"), {}, "buffers need 4096 MiB in cuda, and less is left"),
        (
            ("--memory", "cuda", "-t", "cuda-ipc"),
            {"fail": "cuMemAlloc_v2=2"},
            "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory)",
        ),
    ],
)
def test_what_cannot_be_is_left_out_with_the_reason(shell, cuda, arguments, settings, reason):
    result = shell.run("-t", "shm", "-s", "8", *arguments, *QUICK, **cuda(**settings))
    assert reason in result.out + result.err
    assert "Traceback" not in result.out + result.err
    assert not result.run.measurements


# A device that fails, and ends that die.


def test_a_run_leaves_nothing_allocated(shell, cuda, tmp_path):
    """And says what was measured with, which was a stand-in, and what bounds each device has."""
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    result = shell.measure(
        *("-t", "cuda-ipc,shm,nccl", "--memory", "cuda@0:cuda@1,pinned,managed"),
        *("-p", "pingpong,put", "--mode", "blocking,onesided", "-s", "8,64K", *QUICK),
        **cuda(ledger=ledger),
    )
    left = {path.name: path.read_text() for path in ledger.iterdir()}
    assert len(left) >= 2
    assert not any(left.values()), left
    assert "stand-in for tests" in result.out
    found = {each.memory: each for each in result.run.devices}
    device = found["cuda@1"]
    assert device.stand_in
    assert (device.index, device.name) == (1, "Stand-in 1")
    assert device.reaches == ["GPU-a05a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"]
    assert (device.link_generation, device.link_width_max) == (3, 16)
    devices = ["cuda@0", "cuda@1"]
    assert sorted({copy.memory for copy in result.run.device_copies}) == devices
    assert [each.memory for each in result.run.device_latencies] == devices
    details = result.show("--details").out
    assert all(f"bound: copies of {name}, GB/s, of " in details for name in devices)


@pytest.mark.parametrize("hangs", extended(True, False))
def test_the_other_end_of_a_killed_one_ends_soon(shell, cuda, hangs):
    """Also where it is inside a call of the driver that never returns."""
    settings = {"hang": "cuStreamSynchronize@5000"} if hangs else {}
    work = ("-t", "cuda-ipc", "--memory", "cuda", "-s", "8", "--ci", "none", "--time", "60s")
    victim = Victim(shell, *work, "--slices", "600", **cuda(**settings))
    victim.await_ranks()
    if hangs:
        # By then it has come to that call.
        time.sleep(1.0)
    else:
        victim.await_work(0)
    victim.kill_rank(1)
