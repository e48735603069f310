"""What is said of devices below the tables of a run."""

import json

import pytest

from halftrip.report import csv, devices, table
from halftrip.report import json as json_report
from halftrip.report.document import document as document_of
from harness.runs import device, environment, measurement, run
from harness.screens import text_of

WHOLE = (
    "cuda@0: A Device, 0000:3b:00.0, PCIe 5 x16, NUMA node 0, driver 570.1, CUDA 12.8, "
    "700 W at most"
)


def lines(*found, **changes):
    return devices.devices(run(devices=found, **changes))


def test_a_run_without_devices_says_nothing_of_them():
    assert lines() == []
    assert devices.bounds(run()) == []


def test_a_device_has_a_line():
    assert lines(device()) == [WHOLE]


def test_what_differs_from_what_is_usual_is_said():
    odd = {
        "link_generation": 3,
        "link_width": 8,
        "ecc": False,
        "mig": True,
        "compute_mode": "exclusive process",
    }
    assert lines(device(**odd)) == [
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


def test_ranks_and_launches_that_find_the_same_have_one_line():
    again = [device(rank, launch=launch) for rank in (0, 1) for launch in (0, 1)]
    assert lines(*again) == [WHOLE]
    assert len(lines(*again, device(1, launch=2, link_width=8))) == 2


def test_of_several_hosts_each_device_has_its_host():
    hosts = tuple(environment(rank, host=f"n{rank}") for rank in (0, 1))
    found = lines(device(0), device(1), environments=hosts)
    assert found == [WHOLE.replace(":", " on n0:", 1), WHOLE.replace(":", " on n1:", 1)]


def test_a_stand_in_is_named_first():
    assert lines(device(), device(1, stand_in=True))[0] == (
        "the CUDA driver of this run is a stand-in for tests: its figures say nothing of a device"
    )


@pytest.fixture
def document():
    rows = [
        measurement("tcp", memory="cuda@0:host", staging=512 << 10),
        measurement("cuda-ipc", memory="cuda@0:cuda@1", device_copy="engine"),
    ]
    return document_of(run(*rows, devices=(device(stand_in=True),)))


def test_the_table_has_devices_and_how_messages_are_staged(document):
    said = text_of(table.render(document, 200), 200)
    assert "stand-in for tests" in said
    assert "PCIe 5 x16" in said
    assert "cuda@0:host" in said
    assert "chunks of 512K" in said
    assert "engine" in said


def test_programs_get_all_of_it(document):
    found = json.loads(json_report.render(document))
    assert [(each["name"], each["stand_in"]) for each in found["devices"]] == [("A Device", True)]
    assert [each["memory"] for each in found["rows"]] == ["cuda@0:host", "cuda@0:cuda@1"]
    assert [each["staging_bytes"] for each in found["rows"]] == [512 << 10, None]
    assert [each["device_copy"] for each in found["rows"]] == [None, "engine"]
    assert "staging_bytes" in csv.render(document).partition("\n")[0]
