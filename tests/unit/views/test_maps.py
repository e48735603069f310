"""What maps of cores and of memory say in words: which places belong together, and what is off."""

import re
from itertools import combinations

import numpy as np
import pytest

from halftrip.page.asked import asked
from halftrip.render.blocks import Table
from halftrip.report.document import document
from halftrip.results.records import Failure
from halftrip.results.threshold import Threshold
from halftrip.views import maps, pairs
from halftrip.views.matrices import Matrix, MatrixFigure, cache_lines, matrices, of_memories
from halftrip.views.matrix import matrix, table_of
from harness.choice import drawn
from harness.runs import configuration, environment, measurement, planned, run

NS = MatrixFigure("round trip", "ns", lambda _: 0.0, False)
SEEDS = drawn(range(20), 3)
NOTHING = ["no cores belong together more than others, and no pair is off"]
TOO_FEW = ["it takes 4 cores to tell which belong together, or are off"]


def core_map(distance, cores, seed, odd=None, factor=1.0, groups=(), slow=None):
    """Each core with each other, as long as `distance` says of the two, ns; the pair `odd` and all
    of the core `slow` `factor` times as long. Pairs differ by 2 %, their slices by 3 %, and some of
    these are disturbed."""
    random = np.random.default_rng(seed)
    times = {}
    for pair in combinations(range(cores), 2):
        level = distance(*pair) * random.lognormal(0.0, 0.02)
        level *= factor if pair == odd or slow in pair else 1.0
        disturbed = np.where(random.random(6) < 0.1, 1.3, 1.0)
        times[tuple(map(str, pair))] = level * random.lognormal(0.0, 0.03, 6) * disturbed
    values = {link: float(np.median(each)) for link, each in times.items()}
    names = [*map(str, range(cores))]
    return Matrix("made up: round trip, ns", NS, names, values, {}, head="core", groups=groups,
                  times=lambda: times)  # fmt: skip


def within(*sizes):
    """The distance of cores of which each size has so many in a group, as (size, ns), from the
    smallest on."""

    def distance(one, other):
        return next(ns for size, ns in sizes if one // size == other // size)

    return distance


CACHES = (within((4, 50), (8, 110)), 8, ["0-3 | 4-7"])
NODES = (within((4, 50), (8, 110), (16, 250)), 16, ["0-3 | 4-7 | 8-11 | 12-15", "0-7 | 8-15"])
THREADS = (within((2, 15), (8, 50), (16, 110)), 16, ["0-1 | 2-3 | 4-5 |", "0-7 | 8-15"])


def test_in_one_character_a_pair_those_of_a_group_stand_out():
    """Also where most pairs are of two groups, so that the median pair is."""
    (code, _) = table_of(core_map(*CACHES[:2], seed=1)).instead
    fields = [line[3:] for line in code.text.splitlines()]
    near = [[one // 4 == other // 4 for other in range(8)] for one in range(8)]
    assert [[field == "'" for field in line] for line in fields] == [
        [is_near and one != other for other, is_near in enumerate(line)]
        for one, line in enumerate(near)
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("distance", "cores", "groups"), [CACHES, NODES, THREADS])
@pytest.mark.parametrize("odd", [None, ((1, 2), 1.5), ((0, 7), 1.6), ((2, 5), 0.5)])
def test_planted_groups_and_an_odd_pair_are_named(seed, distance, cores, groups, odd):
    pair, factor = odd or (None, 1.0)
    said = maps.said_of(core_map(distance, cores, seed, pair, factor))
    together = [line for line in said if "belong together" in line]
    assert [text in line for text, line in zip(groups, together, strict=True)] == [True] * len(
        groups
    )
    off = said[len(together) :]
    if odd is None:
        assert off == []
        return
    (line,) = off
    assert line.startswith(f"core {pair[0]} with core {pair[1]} is off: ")
    value, low, high = (float(x) for x in re.findall(r"[0-9]+\.[0-9]+", line))
    assert low <= value <= high
    assert value == pytest.approx(factor, rel=0.15)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cores", [3, 4, 8, 16])
def test_a_uniform_map_names_nothing(seed, cores):
    # Of three, two that are nearer to each other are a pair, or the third one is off.
    said = NOTHING if cores > 3 else TOO_FEW
    assert maps.said_of(core_map(within((cores, 100)), cores, seed)) == said


def test_a_core_without_an_answer_hides_nothing_of_the_others():
    groups = [("L3 cache", [[*"0123"], [*"4567"]])]
    made = core_map(CACHES[0], 8, 1, (1, 2), 1.5, groups=groups)
    for link in [link for link in made.times() if "0" in link]:
        del made.times()[link]
    together, off = maps.said_of(made)
    assert together.startswith("cores belong together: 1-3 | 4-7: ")
    assert together.endswith(", as they share an L3 cache")
    assert off.startswith("core 1 with core 2 is off: ")


def test_a_core_that_is_slow_to_all_is_one_line():
    said = maps.said_of(core_map(within((16, 100)), 16, 1, slow=5, factor=1.4))
    assert len(said) == 1
    assert said[0].startswith("core 5 is off on all its 15 pairs: 1.")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([("L3 cache", [[*"0123"], [*"4567"]])], ", as they share an L3 cache"),
        ([("NUMA node", [[*"04"], [*"123567"]])], ", which the kernel does not tell"),
    ],
)  # fmt: skip
def test_what_the_kernel_tells_of_groups_is_said(groups, said):
    made = core_map(CACHES[0], 8, 1, groups=groups)
    (line,) = maps.said_of(made)
    assert line.endswith(said)
    assert maps.shared_by(made)[0].startswith("by the kernel, these share a")


# Of runs.


def core_run(**changes):
    """Four cores with two threads each: 0 and 4 are one physical core, 0, 1, 4 and 5 share a
    cache."""
    ranks = range(8)
    environments = tuple(
        environment(rank, core=rank, siblings=[rank % 4, rank % 4 + 4], node=0) for rank in ranks
    )
    caches = tuple(
        Threshold(rank=rank, name="the L3 cache", value=1 << 20, acts="cache", source="made up",
                  cores=[each for each in ranks if each // 2 % 2 == rank // 2 % 2])
        for rank in ranks
    )  # fmt: skip
    missing = configuration(pair=(2, 3))
    measured = [
        measurement(pair=pair, seed=n, half_ns=40.0, rtts=(90.0, 90.0))
        for n, pair in enumerate(combinations(ranks, 2))
        if pair != missing.pair
    ]
    failed = Failure(configuration=missing, reason="no answer", slice=0)
    header = planned(cores=[*ranks], pairs="all")
    values = {"environments": environments, "thresholds": caches, "failures": (failed,)}
    return run(*measured, **({"header": header} | values | changes))


def test_cores_stand_in_order_of_what_they_share():
    (_, (line,)), (_, (latency, bandwidth)) = matrices(document(core_run(), flags=False))
    assert line.title == "cache line from core to core: round trip, ns"
    assert {*line.values.values()} == {90.0}
    for each in (line, latency, bandwidth):
        assert each.hosts == ["0", "4", "1", "5", "2", "6", "3", "7"]
        assert [name for name, _ in each.groups] == ["SMT siblings", "L3 cache"]
        assert each.groups[1][1] == [["0", "4", "1", "5"], ["2", "6", "3", "7"]]
        assert each.is_missing("3", "2")
        assert not each.is_missing("1", "2")
    assert "27 pairs of cores." in asked(document(core_run(), flags=False))[0]
    view = matrix(document(core_run(), flags=False))
    records = view.records()
    assert (records[0]["host"], records[0]["other_host"]) == ("core 0", "core 1")


@pytest.mark.parametrize(
    "changes",
    [
        {"header": planned(pairs="all")},
        {"environments": tuple(environment(rank, host=f"n{rank}") for rank in range(8))},
        {"environments": tuple(environment(rank, core=rank % 4) for rank in range(8))},
    ],
)
def test_ranks_whose_cores_nobody_has_named_are_no_map_of_cores(changes):
    assert cache_lines(document(core_run(**changes), flags=False)) == []


def memory_run(*cells, nodes=(0, 0), pairs=((0, 1),), plan=(), sizes=(8,)):
    """Eight slices of each of these kinds of memory, each with its time, ns, over each pair."""
    found = [
        measurement(memory=memory, size=size, half_ns=half_ns(pair), pair=pair, slice=number,
                    seed=number)
        for memory, half_ns in cells
        for pair in pairs
        for size in sizes
        for number in range(8)
    ]  # fmt: skip
    environments = tuple(environment(rank, node=node) for rank, node in enumerate(nodes))
    return document(
        run(*found, environments=environments, header=planned(memory=[*plan])), flags=False
    )


def test_memory_is_a_map_in_which_each_direction_has_its_value():
    cells = {"host": 100.0, "cuda": 50.0, "host:cuda": 200.0, "cuda:host": 300.0}
    made = [(name, lambda _, ns=ns: ns) for name, ns in cells.items()]
    found = memory_run(*made, plan=["host", "cuda", "pinned:cuda"])
    ((_, (latency, _)),) = of_memories(found)
    assert latency.between("host", "cuda") == pytest.approx(0.2, rel=0.02)
    assert latency.between("cuda", "host") == pytest.approx(0.3, rel=0.02)
    # A pair is a cell of it, and no map of its own.
    assert len(matrices(found)) == 1
    (said,) = maps.lines(found)
    assert said.startswith("shm pingpong 8 B: asymmetric: cuda to host: 1.")
    assert said.endswith("x the time of host to cuda")
    # Two alone are no map.
    assert of_memories(memory_run(*made[:2])) == []


def test_numa_is_a_map_of_nodes_of_ranks_and_of_memory():
    def at(memory):
        return lambda pair: 100.0 if pair[0] // 2 == memory else 150.0 + 100.0 * memory

    found = memory_run(
        *((f"host@{node}", at(node)) for node in (0, 1)),
        nodes=(0, 0, 1, 1), pairs=((0, 1), (2, 3)),
    )  # fmt: skip
    ((_, (latency, _)),) = of_memories(found)
    assert (latency.hosts, latency.columns) == (["node 0", "node 1"],) * 2
    assert latency.between("node 1", "node 0") == pytest.approx(0.15, rel=0.02)
    # The pairs are of one node each: the map is in place of theirs, on the first screen, too.
    assert len(matrices(found)) == 1
    (shown,) = [each for each in pairs.blocks(found) if isinstance(each, Table)]
    assert shown.title == ["shm pingpong 8 B: latency, us; across: memory of"]
    (said,) = maps.lines(found)
    assert "asymmetric: ranks on node 0 with memory of node 1: 1.6" in said
