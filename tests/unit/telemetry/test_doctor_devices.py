"""The doctor's question about CUDA devices, answered by a stand-in for the driver.

The stand-in's NVML always says that 8 of 16 lanes are in use."""

import json
from types import SimpleNamespace

import pytest

from halftrip.cuda import driver as cuda
from halftrip.cuda.nvml import Facts
from halftrip.telemetry import doctor_devices
from harness.cuda import said

WHOLE = Facts(
    driver="570.1", link_generation=1, link_generation_max=5, link_width=16, link_width_max=16
)


@pytest.fixture
def ask(cuda_libraries, bare_kernel):
    """The answer in a process that has the stand-in."""
    program = (
        "import msgspec; from pathlib import Path\n"
        "from halftrip.kernel_files import Reader\n"
        "from halftrip.telemetry.doctor_devices import check\n"
        f"found = check(Reader(Path({str(bare_kernel.root)!r})))\n"
        "print(msgspec.json.encode(found).decode())"
    )

    return lambda **settings: json.loads(said(cuda_libraries, program, **settings))


@pytest.fixture
def made_up(monkeypatch, bare_kernel):
    """The answer for devices that are made up: what NVML says of each."""

    def asked(*facts):
        def device(index):
            return SimpleNamespace(
                index=index, name="A", pci=f"0000:0{index}:00.0", attribute=lambda _: 0
            )

        found = [device(index) for index in range(len(facts))]
        driver = SimpleNamespace(version="12.8", is_stand_in=False)
        monkeypatch.setattr(doctor_devices, "devices", lambda: found)
        monkeypatch.setattr(cuda, "driver", lambda: driver)
        by_address = {each.pci: fact for each, fact in zip(found, facts, strict=True)}
        monkeypatch.setattr(doctor_devices.nvml, "facts", by_address.__getitem__)
        return doctor_devices.check(bare_kernel.reader)

    return asked


def test_devices_are_named_a_line_for_each(bare_kernel, ask):
    bare_kernel("sys/bus/pci/devices/0000:ab:00.0/local_cpulist", "0-3\n")
    found = ask()
    assert found["name"] == "CUDA devices"
    assert found["found"].split("\n") == [
        "cuda@0: Stand-in 0, 0000:aa:00.0, PCIe 3 x8, driver 999.1, CUDA 12.8",
        "cuda@1: Stand-in 1, 0000:ab:00.0, PCIe 3 x8, near cores 0-3, driver 999.1, CUDA 12.8",
        "the CUDA driver is a stand-in for tests",
    ]
    # And no memory of a device is taken, which a context would.
    assert ask(fail="cuDevicePrimaryCtxRetain=719") == found


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mig": 1}, "MIG is on for cuda@0, of which"),
        ({"compute_mode": 2}, "no process may use cuda@0"),
        ({"compute_mode": 3}, "two ranks cannot both use cuda@0"),
    ],
)
def test_fewer_lanes_than_there_could_be_and_modes_are_a_warning(ask, settings, said):
    found = ask(devices=1, **settings)
    assert found["state"] == "warning"
    assert "cuda@0 has 8 of 16 lanes to the host: see its slot and riser" in found["advice"]
    assert said in found["advice"]
    reset = "nvidia-smi -i 0000:aa:00.0 -c DEFAULT"
    assert (reset in found["advice"]) == ("compute_mode" in settings)


def test_only_the_device_in_question_is_named_and_what_nvml_does_not_say_is_no_warning(made_up):
    check = made_up(WHOLE, Facts())
    assert (check.state, check.advice) == ("ok", None)
    assert check.found.split("\n") == [
        "cuda@0: A, 0000:00:00.0, PCIe 1 x16, driver 570.1, CUDA 12.8",
        "cuda@1: A, 0000:01:00.0, driver ?, CUDA 12.8",
    ]
    check = made_up(WHOLE, WHOLE._replace(link_width=8))
    assert check.state == "warning"
    assert check.advice.startswith("cuda@1 has 8 of 16 lanes")


@pytest.mark.parametrize(
    ("settings", "state", "found"),
    [
        # A host for other work, with the driver installed.
        ({"devices": 0}, "unknown", "CUDA_ERROR_NO_DEVICE"),
        ({"version": 11000}, "unknown", "the CUDA driver is too old"),
        ({"fail": "cuInit=803"}, "warning", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ({"fail": "cuDeviceGetAttribute=719@2"}, "warning", "CUDA_ERROR_LAUNCH_FAILED"),
    ],
)
def test_only_a_driver_that_fails_is_a_warning(ask, settings, state, found):
    answer = ask(**settings)
    assert answer["state"] == state
    assert found in answer["found"]
    assert (answer["advice"] is not None) == (state == "warning")
