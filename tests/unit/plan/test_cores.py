"""Cores and NUMA nodes that a plan chooses by a word."""

import os

import pytest

from halftrip.plan import cores, memory
from halftrip.plan.layers import make_plan, options_layer
from harness.kernel import TWO_NODES, Kernel
from harness.plans import mistake


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Has the kernel tell of these files, and allow these processors."""

    def make(files, allowed):
        reader = Kernel(tmp_path, files).reader
        for module in (cores, memory):
            monkeypatch.setattr(module, "HOST_FILES", reader)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(allowed))

    return make


@pytest.mark.parametrize(
    ("text", "allowed", "chosen"),
    [
        ("all", (3, 1, 2), (1, 2, 3)),
        ("physical", (8, 1, 2, 6), (1, 2, 6)),
        # Two physical cores of each node, not the first.
        ("nodes", range(12), (1, 2, 4, 5)),
        # Two threads of one, where there is no other, of those that may be used.
        ("nodes", (0, 6, 4, 5), (0, 6, 4, 5)),
        ("nodes", (0, 1, 2), (1, 2)),
    ],
)
def test_cores_are_chosen(machine, text, allowed, chosen):
    machine(TWO_NODES, allowed)
    plan = make_plan(options_layer({"cores": text, "pairs": "all"}))
    assert (plan.cores, plan.ranks) == (chosen, len(chosen))


@pytest.mark.parametrize(
    ("key", "text", "files", "said"),
    [
        ("cores", "all", {}, "--cores: this process may use core 3 alone; a pair needs two"),
        ("cores", "nodes", {}, "the kernel tells of no NUMA nodes here; name cores, as 0,1"),
        ("cores", "nodes", TWO_NODES,
         "--cores: of node 1 this process may use core 3 alone; a pair needs two"),
        ("cores", "some", {}, "'some' is not a core; write core numbers as 0,1 or 0-3, or all,"),
        ("concurrent_pairs", "some", {}, "no number of pairs; write one, or all or caches"),
        ("memory_node", "all", {}, "--memory-node: this host has one NUMA node, and so nothing to"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused_with_the_reason(machine, key, text, files, said):
    machine(files, (3,))
    assert said in mistake(lambda: make_plan(options_layer({key: text})))


def test_nodes_of_memory_stand_for_its_names(machine):
    machine(TWO_NODES, range(12))

    def memory_of(**options):
        return make_plan(options_layer(options)).memory

    assert memory_of(memory_node="all") == ("host@0", "host@1")
    assert memory_of(memory_node="1,0:1") == ("host@1", "host@0:host@1")
    said = mistake(lambda: memory_of(memory_node="0:7"))
    assert said == "--memory-node: no NUMA node 7 with memory here; nodes: 0, 1"
    # There are others on other hosts.
    assert memory_of(memory_node="7", hosts="a,b") == ("host@7",)
    said = mistake(lambda: memory_of(memory_node="0", memory="pinned"))
    assert said == "--memory-node: --memory says the same; leave out one of them"
