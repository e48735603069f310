"""The log of several hosts, in rank 0's time, and that it does not disturb what is timed."""

import os
import time

import numpy as np
import pytest

from halftrip.clock import Clock
from halftrip.measure import host_log
from halftrip.measure.connection import Pair
from halftrip.measure.host_log import SystemLog
from halftrip.measure.round import Bench
from halftrip.measure.sampler import Batch
from halftrip.results.case import Case
from halftrip.telemetry.host import Counters
from halftrip.telemetry.kernel_files import Reader
from halftrip.telemetry.process import Meter
from harness.bench import CACHE, on_two_ranks, scene

CASES = [Case(transport="tcp", size=size, wait="block") for size in range(1, 6)]


class StageOf:
    """What the log asks a stage: two ranks, each on a host of its own, or both on one."""

    def __init__(self, hosts, offsets):
        self.hosts = hosts
        self.offsets = offsets
        self.reader = Reader()
        self.environments = [type("Environment", (), {"host": name}) for name in hosts]

    def clock_offsets(self):
        return list(self.offsets)


def logged(hosts, offsets, script, monkeypatch):
    """The records of a log that does what `script(log)` has it do."""
    monkeypatch.setattr(host_log, "_IDLE_SECONDS", 0.05)
    records = []
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def take_part(rank, group):
        log = SystemLog(StageOf(hosts, offsets), group, records.append, began, launch=3)
        script(log)

    on_two_ranks(take_part)
    return records


def test_each_host_has_a_record_in_the_time_of_rank_0(monkeypatch):
    def script(log):
        log.rest("before")
        log.note(CASES[0], 0)
        log.rest("after")

    records = logged(["a", "b"], [0, 7 * 10**9], script, monkeypatch)
    assert [(r.host, r.rank, r.phase) for r in records[:2]] == [
        ("a", 0, "before"), ("b", 1, "before"),
    ]  # fmt: skip
    assert {r.launch for r in records} == {3}
    pairs = zip(records[::2], records[1::2], strict=True)
    for one, other in pairs:
        # The other host's clock is seven seconds ahead; here both are the same.
        assert other.at == pytest.approx(one.at - 7, abs=0.2)
        assert other.seconds == pytest.approx(one.seconds, abs=0.2)
    assert [case for r in records if r.host == "a" for case in r.cases] == [CASES[0]]


def test_a_host_with_several_ranks_has_one_record(monkeypatch):
    records = logged(["a", "a"], [0, 0], lambda log: log.rest("before"), monkeypatch)
    assert [(r.host, r.phase) for r in records] == [("a", "before")]


@pytest.mark.parametrize(("share", "shared"), [(1e9, False), (1e-9, True)])
def test_short_cases_share_a_record_where_it_would_cost_too_much(monkeypatch, share, shared):
    monkeypatch.setattr(host_log, "_LARGEST_SHARE", share)

    def script(log):
        log.rest("before")
        for case in CASES:
            log.note(case, case.size)
        log.rest("after")

    records = [r for r in logged(["a", "a"], [0, 0], script, monkeypatch) if r.phase == "case"]
    assert [r.cases for r in records] == ([CASES] if shared else [[case] for case in CASES])
    assert [number for r in records for number in r.repetitions] == [c.size for c in CASES]


def test_a_log_that_has_already_taken_too_long_waits_with_its_records(monkeypatch):
    """Whatever it was that took so long, a pause of the machine among it."""

    def script(log):
        log.rest("before")
        log.seconds += 1.0
        for case in CASES:
            log.note(case, 0)
        log.flush()
        log.flush()
        log.rest("after")

    records = logged(["a", "a"], [0, 0], script, monkeypatch)
    assert [(r.phase, r.cases) for r in records] == [("before", []), ("case", CASES), ("after", [])]


def test_clocks_are_compared_again_after_a_while(monkeypatch):
    monkeypatch.setattr(host_log, "_LARGEST_SHARE", 1e9)
    compared = []
    monkeypatch.setattr(StageOf, "clock_offsets", lambda stage: compared.append(1) or stage.offsets)

    def script(log):
        log.rest("before")
        for case in CASES:
            log.note(case, 0)

    logged(["a", "b"], [0, 0], script, monkeypatch)
    assert len(compared) == 2
    compared.clear()
    monkeypatch.setattr(host_log, "_CLOCKS_SECONDS", 0.0)
    logged(["a", "b"], [0, 0], script, monkeypatch)
    assert len(compared) == 2 * (1 + len(CASES))


class Alternating:
    """In place of a sampler: blocks of the same length, one like the other."""

    stopped = "count"

    def __init__(self, blocks):
        self.left = blocks
        self.times = []

    def next(self):
        self.left -= 1
        return Batch(exchanges=20, samples=50, keep=True) if self.left >= 0 else None

    def feed(self, times, waited=0):
        self.times.append(times)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_samples_after_the_counters_were_read_are_as_they_are_without(transport):
    """In turn in one process: of four blocks the second and the third come after both ranks have
    read all counters, the others do not. By how much these differ from those is less than by how
    much the first two of four differ from the last two, or else a few per cent. And that is more
    than a run does to its samples: it reads between cases, of which each begins with a warm-up."""
    case = Case(transport=transport, size=8, wait="spin" if transport == "shm" else "block")
    sampler = Alternating(402)
    cores = sorted(os.sched_getaffinity(0))

    def take_part(rank, group):
        # This thread alone.
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
        clock = Clock()
        pair = Pair(group, (0, 1), scene(rank), clock)
        bench = Bench(group, [(pair, case)], clock, CACHE, Meter(Reader(), whole=True))
        counters = Counters(Reader())
        blocks = iter(range(10**6))

        def probe():
            # Between two blocks, on both ranks: before the first, and after each.
            if next(blocks) % 4 in (1, 2):
                counters.advance()
            return [None]

        bench.run(sampler if rank == 0 else None, lambda ns: None, probe)
        bench.close()
        pair.close()

    on_two_ranks(take_part)
    times = np.asarray(sampler.times[:400], dtype=float).reshape(100, 4, 50)
    without, first, second, again = np.median(times, axis=2).T
    effect = np.median((first + second) / (without + again))
    chance = np.median((without + first) / (second + again))
    assert abs(effect - 1) < max(0.05, 3 * abs(chance - 1))
