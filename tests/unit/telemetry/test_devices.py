"""Devices of a plan's memory as a rank finds them, and the cores near them: a stand-in for the
driver, and a made-up kernel."""

import json

import pytest

from harness.cuda import said

FIRST, SECOND = "sys/bus/pci/devices/0000:aa:00.0", "sys/bus/pci/devices/0000:ab:00.0"


@pytest.fixture
def ask(cuda_libraries, bare_kernel):
    """Evaluates an expression of `halftrip.telemetry.devices` with a `reader` of the made-up
    kernel, in a process that has the stand-in."""

    def asked(expression, **settings):
        program = (
            "import msgspec; from pathlib import Path\n"
            "from halftrip.kernel_files import Reader\n"
            "from halftrip.telemetry.devices import describe, near_cores\n"
            f"reader = Reader(Path({str(bare_kernel.root)!r}))\n"
            f"print(msgspec.json.encode({expression}).decode())"
        )
        return json.loads(said(cuda_libraries, program, **settings))

    return asked


def test_a_device_is_described(bare_kernel, ask):
    bare_kernel(f"{SECOND}/numa_node", "1\n")
    found = ask("describe('cuda@1', 3, reader)", devices=3, memory=1 << 30, l2=4096)
    assert found == {
        "record": "device",
        "rank": 3,
        "memory": "cuda@1",
        "index": 1,
        "name": "Stand-in 1",
        "uuid": "GPU-a15a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a",
        "pci": "0000:ab:00.0",
        "cuda": "12.8",
        "memory_bytes": 1 << 30,
        "cache_bytes": 4096,
        "compute_mode": "default",
        "reaches": [
            "GPU-a05a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a",
            "GPU-a25a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a",
        ],
        "stand_in": True,
        "driver": "999.1",
        "link_generation": 3,
        "link_generation_max": 5,
        "link_width": 8,
        "link_width_max": 16,
        "numa_node": 1,
        "power_limit": 300.0,
        "graphics_clock": 1500.0,
        "memory_clock": 2000.0,
        "ecc": True,
        "mig": False,
        "mps": False,
        "launch": 0,
    }


def test_modes_and_peers_are_as_the_driver_says_and_nodes_as_the_kernel_does(bare_kernel, ask):
    settings = {"compute_mode": 3, "mig": 1, "no_peer": 1, "busy": 1}
    bare_kernel(f"{SECOND}/numa_node", "-1\n")
    first, second = ask("[describe(f'pinned@{n}', 0, reader) for n in (0, 1)]", **settings)
    # It is described also where another process has it: that takes no context.
    assert (first["compute_mode"], first["mig"]) == ("exclusive process", True)
    assert first["reaches"] == []
    # The kernel does not tell, or the host has no nodes.
    assert (first["numa_node"], second["numa_node"]) == (None, -1)


def test_what_is_not_there_is_not_described(ask):
    # The last is the beginning of more than one UUID.
    names = ("host", "cuda@2", f"cuda@{'9' * 5000}", "cuda@0000:01:00.0", "cuda@GPU-")
    assert ask(f"[describe(each, 0, reader) for each in {names}]") == [None] * len(names)


@pytest.mark.parametrize("settings", [{"fail": "cuInit=100"}, {"version": 11000}])
def test_without_a_driver_that_can_be_used_no_device_is_described_nor_near(
    bare_kernel, ask, settings
):
    bare_kernel(f"{FIRST}/local_cpulist", "0-1\n")
    found = ask("[describe('cuda@0', 0, reader), near_cores('cuda@0', reader)]", **settings)
    assert found == [None, []]


def test_the_near_cores_are_those_of_its_address(bare_kernel, ask):
    bare_kernel(f"{FIRST}/local_cpulist", "\n")
    bare_kernel(f"{SECOND}/local_cpulist", "2-3,6\n")
    kinds = ("cuda@1", "pinned@1", "managed@1")
    names = (*kinds, "cuda@ab:00.0", "cuda@00000000:AB:00.0", "cuda@GPU-a1")
    assert ask(f"[near_cores(each, reader) for each in {names}]") == [[2, 3, 6]] * len(names)
    assert ask("[near_cores(each, reader) for each in ('cuda@0', 'host', 'cuda@7')]") == [[]] * 3


SET_UP = """
import json
from pathlib import Path
from halftrip.measure import setup
from halftrip.kernel_files import Reader
from halftrip.plan.layers import make_plan, options_layer
reader = Reader(Path({root!r}))
def found(memory):
    plan = make_plan(options_layer({{"transport": "tcp", "sizes": "8", "memory": memory}}))
    return [
        [list(setup._near(plan, role, reader)) for role in (0, 1)],
        [each.memory for each in setup._devices(plan, 0, reader)],
        [cache for cache, _ in setup._device_limits(plan)],
    ]
print(json.dumps([found(memory) for memory in {memories!r}]))
"""


def test_what_a_rank_finds_of_a_plan(cuda_libraries, bare_kernel):
    """The cores near each end, its devices, each once, and the caches that a cold ring exceeds."""
    bare_kernel(f"{FIRST}/local_cpulist", "0-1\n")
    bare_kernel(f"{SECOND}/local_cpulist", "2-3\n")
    expected = {
        "cuda@0:cuda@1": [[[0, 1], [2, 3]], ["cuda@0", "cuda@1"], [4096, 4096]],
        "cuda@1:host": [[[2, 3], []], ["cuda@1"], [4096]],
        # Pinned memory is of the host, and as near to the device.
        "host:pinned@1": [[[], [2, 3]], ["pinned@1"], []],
        # The first that there is; a device that is not there has no place.
        "cuda@9,host,cuda@1:cuda@0": [[[2, 3], [0, 1]], ["cuda@1", "cuda@0"], [4096, 4096]],
        # The same device by two names.
        "cuda,pinned@0": [[[0, 1], [0, 1]], ["cuda"], [4096]],
        "host": [[[], []], [], []],
    }
    program = SET_UP.format(root=str(bare_kernel.root), memories=list(expected))
    found = json.loads(said(cuda_libraries, program, l2=4096))
    assert dict(zip(expected, found, strict=True)) == expected
