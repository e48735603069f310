"""What ranks set up for memory of a device: with a stand-in for the driver, in a process of its
own."""

import json

import pytest

from harness.cuda import python, stand_in
from harness.files import ROOT

PROGRAM = """
import json
from halftrip.measure.setup import set_up
from halftrip.plan.configurations import settings
from halftrip.plan.layers import make_plan, python_layer
from halftrip.telemetry.topology import last_level_cache
from halftrip.transports.base import ProcessContext
from harness.groups import TOKEN, on_ranks

keys = {"transport": "tcp", "sizes": "4096", "cache": "cold", "staging": "whole"}
plan = make_plan(python_layer(keys | {"memory": "cuda@1:host"}))
setups, rings = {}, {}

def take_part(rank, group):
    setups[rank] = own = set_up(plan, group, ProcessContext.from_plan(plan, rank, TOKEN))
    choices = {name: each.capabilities.choices for name, each in own.transports.items()}
    rings[rank] = [own.layout(each).bytes for each in settings(plan, choices)]

on_ranks(2, take_part)
print(json.dumps({
    "caches": [setups[rank].cache_bytes for rank in (0, 1)],
    "own cache": max(last_level_cache(setups[rank].places[rank][0].core or 0) for rank in (0, 1)),
    "kept": [setups[rank].kept_bytes for rank in (0, 1)],
    "rings": [rings[rank] for rank in (0, 1)],
    "devices": [(each.rank, each.memory, each.index) for each in setups[0].devices],
    "of rank 1": len(setups[1].devices),
}))
"""


@pytest.fixture
def found(cuda_libraries):
    def set_up(**settings):
        environment = stand_in(cuda_libraries, **settings) | {"PYTHONPATH": str(ROOT / "tests")}
        result = python(PROGRAM, environment)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return set_up


@pytest.mark.parametrize("cache", [4096, 1 << 30])
def test_a_cold_ring_is_larger_than_every_cache(found, cache):
    """The L2 of the device counts, too, and both ends have as many places."""
    said = found(l2=cache, memory=1 << 34)
    largest = max(cache, said["own cache"])
    assert said["caches"] == [largest, largest]
    for rings in said["rings"]:
        assert rings
        assert all(ring > largest for ring in rings)
    assert said["rings"][0] == said["rings"][1]
    # Rank 0 has the devices of all ranks.
    assert said["devices"] == [[0, "cuda@1", 1], [1, "cuda@1", 1]]
    assert said["of rank 1"] == 0


def test_what_is_kept_is_a_share_of_the_device_s_memory(found):
    kept = found(memory=64 << 20)["kept"]
    # Of all ranks the least, of which each has a share.
    assert kept[0] == kept[1] <= 16 << 20
