"""A whole plan whose ranks are threads: its records, and what it leaves changed in its caller.

Where slices are counted, each has a number of iterations: by time, a configuration may be over
early, or late on a busy machine."""

import gc
import os
from collections import Counter

import pytest

from halftrip.errors import UsageError
from halftrip.measure.batch_runner import BatchRunner
from halftrip.results.records import Aggregate, Environment, Failure, Measurement, RunEnd, Skip
from halftrip.transports.base import Problem
from halftrip.transports.native.pipe import PipeTransport
from halftrip.transports.native.stream import TcpTransport
from harness.paths import NOTHING, added, held
from harness.plans import skip_baselines, walk


@pytest.fixture(autouse=True)
def _no_baselines(monkeypatch):
    skip_baselines(monkeypatch)


def slices_by_configuration(records):
    """The numbers of the slices of each configuration, in the order of their records."""
    found = {}
    for each in records.of(Measurement):
        found.setdefault(each.configuration, []).append(each.slice)
    return found


@pytest.mark.parametrize(("cores", "enabled"), [(None, True), ("none", False)])
def test_the_caller_gets_back_its_cores_and_its_collector(cores, enabled):
    before = os.sched_getaffinity(0)
    # A test of the command in this process may have left all objects frozen, as the command does.
    gc.unfreeze()
    frozen = gc.get_freeze_count()
    (gc.enable if enabled else gc.disable)()
    try:
        records, after = walk(cores)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert after == {0: before, 1: before}
    assert gc.get_freeze_count() == frozen
    assert {each.configuration.size for each in records.of(Measurement)} == {8, 64}
    recorded = [environment.core for environment in records.of(Environment)]
    assert len(recorded) == 2
    assert {core is None for core in recorded} == {cores == "none"}
    # The end is the last line, and marked.
    assert isinstance(records.all[-1], RunEnd)
    assert len(records.of(RunEnd)) == 1
    assert records.ends == [False] * (len(records.ends) - 1) + [True]


@pytest.mark.parametrize("transport", ["shm", "tcp", "simulated"])
def test_every_configuration_has_all_its_slices(transport):
    keys = {"simulated": {"latency": "2us"}} if transport == "simulated" else {}
    records, _ = walk(transport=transport, sizes="8,64,4K", slices=4, iterations=40, **keys)
    assert records.of(Failure) == records.of(Skip) == []
    found = slices_by_configuration(records)
    assert {configuration.size: numbers for configuration, numbers in found.items()} == {
        size: [0, 1, 2, 3] for size in (8, 64, 4096)
    }
    assert {configuration.transport for configuration in found} == {transport}
    # A configuration's next slice comes after every other configuration has had one.
    numbers = [each.slice for each in records.of(Measurement)]
    assert numbers == sorted(numbers)
    assert records.progress_shown
    for done, total, what in records.progress_shown:
        assert total == 3 * 4
        assert 0 <= done <= total
        assert what.startswith(f"{transport} pingpong ")


def test_what_one_end_refuses_or_cannot_open_is_one_skip_and_others_are_measured(monkeypatch):
    def path(self, pair, settings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(PipeTransport, "path", path)
    records, _ = walk(transport="pipe,shm,udp", sizes="0,8", slices=2)
    skips = {(skip.transport, skip.reason): skip.sizes for skip in records.of(Skip)}
    assert skips.pop(("pipe", "Permission denied")) == [8]
    assert sorted((name, sizes) for (name, _), sizes in skips.items()) == [
        ("pipe", [0]), ("udp", [0]),
    ]  # fmt: skip
    measured = {(each.transport, each.size) for each in slices_by_configuration(records)}
    assert measured == {("udp", 8), ("shm", 0), ("shm", 8)}


def plant(monkeypatch, problem, is_hit, **more):
    """Batches of the sides that are hit end with this problem."""
    run = BatchRunner.run

    def run_some(side, batch):
        report = run(side, batch)
        return type(report)(problem=problem, **more) if is_hit(side) else report

    monkeypatch.setattr(BatchRunner, "run", run_some)


# Several pairs.


def test_pairs_at_the_same_time_have_their_number_of_iterations_however_long_it_takes(monkeypatch):
    # A batch has a few of them.
    monkeypatch.setattr("halftrip.measure.sampler.LONGEST_CALL_NS", 100_000)
    keys = {"sizes": "8", "slices": 2, "iterations": 400, "transport": "udp"}
    # Whatever the clock says.
    monkeypatch.setattr("halftrip.measure.slices.raw_now", lambda: 1 << 62)
    records, _ = walk("none", ranks=4, **keys)
    counts = Counter()
    for each in records.of(Measurement):
        counts[each.configuration.pair] += each.samples.size
    assert counts == {(0, 2): 400, (1, 3): 400}


@pytest.mark.parametrize(
    ("ranks", "pairs", "met"),
    [(3, "all", [(0, 1), (0, 2), (1, 2)]), (4, "3-0,1-2,0-1", [(3, 0), (1, 2), (0, 1)])],
)
def test_pairs_are_measured_round_after_round_by_who_is_named_first(ranks, pairs, met):
    records, _ = walk("none", ranks=ranks, pairs=pairs, sizes="8", slices=2, iterations=40)
    found = Counter(each.configuration.pair for each in records.of(Measurement))
    assert found == dict.fromkeys(met, 2)


def test_with_many_partners_what_is_open_to_one_is_closed_after_its_turn(monkeypatch):
    monkeypatch.setattr("halftrip.measure.slice_runner._MOST_PARTNERS", 1)
    monkeypatch.setattr("halftrip.control.collectives._MOST_CONNECTED", 2)
    walk("none", sizes="8")
    gc.collect()
    before = held()
    records, _ = walk("none", ranks=5, pairs="all", sizes="8", slices=2, iterations=40)
    met = Counter(each.configuration.pair for each in records.of(Measurement))
    assert set(met.values()) == {2}
    assert len(met) == 10
    gc.collect()
    assert added(before) == NOTHING


def test_a_pair_that_fails_does_not_stop_the_others(monkeypatch):
    """It is tried again with its next slice, as the others go on."""

    def is_rank_3(side):
        return side.configuration.pair == (1, 3) and not side._context.initiates

    plant(monkeypatch, Problem("rank 3: byte 5 is wrong"), is_rank_3)
    records, _ = walk("none", ranks=4, sizes="8", slices=3, iterations=40, transport="shm")
    found = slices_by_configuration(records)
    assert {configuration.pair: numbers for configuration, numbers in found.items()} == {
        (0, 2): [0, 1, 2]
    }
    failures = records.of(Failure)
    assert {(f.configuration.pair, f.reason) for f in failures} == {
        ((1, 3), "rank 3: byte 5 is wrong")
    }
    assert records.of(Aggregate) == []
    assert records.all[-1].reason is None


def test_what_gets_no_answer_is_not_tried_again_while_other_pairs_go_on(monkeypatch):
    """Nor is what is larger. What is smaller goes over a path that is opened anew."""
    opened, paths = TcpTransport.path, Counter()

    def is_silent(side):
        return side.configuration.pair == (1, 3) and side.configuration.size >= 512

    def path(transport, pair, settings):
        paths[transport.process.rank] += 1
        return opened(transport, pair, settings)

    silence = Problem("rank 1: nothing came", silent=True)
    plant(monkeypatch, silence, is_silent, gives_up=True)
    monkeypatch.setattr(TcpTransport, "path", path)
    sizes = (64, 512, 1024)
    records, _ = walk("none", ranks=4, sizes=sizes, slices=3, iterations=40, transport="tcp")
    found = slices_by_configuration(records)
    measured = {((0, 2), 64), ((0, 2), 512), ((0, 2), 1024), ((1, 3), 64)}
    assert {(each.pair, each.size) for each in found} == measured
    assert all(numbers == [0, 1, 2] for numbers in found.values())
    failures = records.of(Failure)
    assert {f.configuration.pair for f in failures} == {(1, 3)}
    assert all(f.reason.startswith("rank 1: nothing came; ") for f in failures)
    silent = {f.configuration.size for f in failures}
    assert len(failures) == len(silent)
    assert silent | {size for skip in records.of(Skip) for size in skip.sizes} == {512, 1024}
    assert (paths[0], paths[1]) == (1, len(silent) + 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_rank_reports_where_pairs_are_reciprocal(threads):
    """Two ranks keep a path for each of their two pairs."""
    transports = ("shm", "shm-ring", "pipe", "unix", "tcp", "udp")
    keys = {"pairs": "reciprocal", "transport": ",".join(transports), "verify": True}
    records, _ = walk("none", ranks=4, threads=threads, sizes="64", slices=3, iterations=30, **keys)
    found = Counter(
        (m.configuration.transport, m.configuration.pair) for m in records.of(Measurement)
    )
    pairs = [(0, 1), (2, 3), (1, 0), (3, 2)]
    assert found == {(name, pair): 3 * threads for name in transports for pair in pairs}
    assert records.of(Skip) == records.of(Failure) == []
    numbers = {each.configuration.thread for each in records.of(Measurement)}
    assert numbers == set(range(threads))
    assert {each.configuration.concurrency for each in records.of(Measurement)} == {2 * threads}
    assert {each.slice for each in records.of(Aggregate)} == {0, 1, 2}
    # Those who talk at the same time are all even, or all odd.
    together = [{initiator % 2 for initiator, _ in each.pairs} for each in records.of(Aggregate)]
    assert together.count({0}) == together.count({1}) == 3 * len(transports)


PARTS = [
    {"sizes": "8", "iterations": 25, "warmup": 4},
    {"sizes": "8,64", "iterations": 3},
    {"pattern": "stream", "sizes": "8", "window": 16, "iterations": 12},
    {"transport": "shm", "sizes": "1K", "warmup": 2},
]


@pytest.mark.parametrize("ranks", [2, 4])
def test_each_part_has_its_own_counts(ranks):
    """Also where several pairs talk at the same time, and end together."""
    keys = {"ci": "none", "time": "5ms", "slices": 5, "part": PARTS}
    records, _ = walk("none", ranks=ranks, **keys)
    found = {}
    for each in records.of(Measurement):
        setting = each.configuration
        point = (setting.transport, setting.pattern, setting.size, setting.pair)
        of_point = found.setdefault(point, {"iterations": 0, "slices": [], "stopped": set()})
        of_point["iterations"] += each.samples.size * each.iterations
        of_point["slices"].append(each.slice)
        of_point["stopped"].add(each.stopped)
        # Calibration takes at least one iteration more.
        fixed = {("pingpong", 8): 4, ("pingpong", 1024): 2}.get((setting.pattern, setting.size))
        if fixed is not None:
            assert each.warm_up.settled is None
            assert each.warm_up.iterations >= fixed
    pairs = [(0, 1)] if ranks == 2 else [(0, 2), (1, 3)]
    counted = [
        (("pipe", "pingpong", 8), 25, 5),
        (("pipe", "pingpong", 64), 3, 3),
        (("pipe", "stream", 8), 12, 5),
    ]
    for point, iterations, slices in counted:
        for pair in pairs:
            assert found.pop((*point, pair)) == {
                "iterations": iterations,
                "slices": list(range(slices)),
                "stopped": {"count"},
            }
    assert set(found) == {("shm", "pingpong", 1024, pair) for pair in pairs}
    assert {reason for each in found.values() for reason in each["stopped"]} == {"time"}
    assert records.all[-1].reason is None


def test_a_configuration_whose_pairs_all_fail_is_over(monkeypatch):
    plant(monkeypatch, Problem("rank 0: lost"), lambda side: side.configuration.size == 8)
    records, _ = walk(sizes="8,64", slices=3, iterations=40)
    assert [(f.configuration.size, f.slice, f.reason) for f in records.of(Failure)] == [
        (8, 0, "rank 0: lost")
    ]
    # The other has its count, and no more.
    assert list(slices_by_configuration(records).values()) == [[0, 1, 2]]


def test_refined_sizes_are_measured_until_a_bend_is_known():
    bent = {"from": "64K", "latency": "8us", "bandwidth": "20GB"}
    path = {"latency": "2us", "bandwidth": "10GB", "segments": [bent]}
    keys = {"simulated": path, "transport": "simulated", "sizes": "1..4M", "slices": 3}
    records, _ = walk(**keys, refine=True)
    sizes = {each.configuration.size for each in records.of(Measurement)}
    low, high = max(size for size in sizes if size < 65536), min(sizes - set(range(65536)))
    assert low < 65536 <= high <= 1.02 * low
    assert all(len(found) >= 3 for found in slices_by_configuration(records).values())


def test_pairs_across_need_several_hosts():
    said = "^--pairs across: all ranks are on one host; --hosts a,b names several$"
    with pytest.raises(UsageError, match=said):
        walk("none", ranks=3, pairs="across", sizes="8")
