"""The log of several hosts, in rank 0's time, and that it does not disturb what is timed."""

import threading
import time

import numpy as np
import pytest

from halftrip import system_log
from halftrip.bench import Bench
from halftrip.clock import Clock
from halftrip.group import join_socket_group, lead_socket_group
from halftrip.model import Case
from halftrip.observe.reading import Reader
from halftrip.observe.spending import Meter
from halftrip.observe.system import Counters
from halftrip.pair import Pair
from halftrip.sampler import Batch
from halftrip.system_log import SystemLog
from halftrip.wire import Listener, introduce
from harness.bench import CACHE, TOKEN, scene

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


def on_two_ranks(take_part):
    """Calls `take_part(rank, group)` on two ranks, which are threads."""
    listener = Listener(TOKEN)
    raised = []

    def member(rank):
        if rank == 0:
            group = lead_socket_group(listener, 2, 5.0)
        else:
            group = join_socket_group(listener.address, introduce(TOKEN, "group", 1), 2)
        try:
            take_part(rank, group)
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            raised.append(error)
        finally:
            group.close()

    threads = [threading.Thread(target=member, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert raised == []


def logged(hosts, offsets, script, monkeypatch):
    """The records of a log that does what `script(log)` has it do."""
    monkeypatch.setattr(system_log, "_IDLE_SECONDS", 0.05)
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
        log.end_repetition()
        log.rest("after")

    records = logged(["a", "b"], [0, 7 * 10**9], script, monkeypatch)
    assert [(r.host, r.phase) for r in records[:2]] == [("a", "before"), ("b", "before")]
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
    monkeypatch.setattr(system_log, "_LARGEST_SHARE", share)

    def script(log):
        log.rest("before")
        for case in CASES:
            log.note(case, 1)
        log.end_repetition()

    records = [r for r in logged(["a", "a"], [0, 0], script, monkeypatch) if r.phase == "case"]
    assert [r.cases for r in records] == ([CASES] if shared else [[case] for case in CASES])
    assert {r.repetition for r in records} == {1}


class Alternating:
    """In place of a sampler: blocks of the same length, one like the other."""

    stopped = "count"

    def __init__(self, blocks):
        self.left = blocks
        self.medians = []

    def next(self):
        self.left -= 1
        return Batch(exchanges=20, samples=50, keep=True) if self.left >= 0 else None

    def feed(self, times, waited=0):
        self.medians.append(float(np.median(times)))


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_samples_after_the_counters_were_read_are_as_they_are_without(transport):
    """In turn in one process: half of the blocks come after both ranks have read all counters, and
    the others do not. What one is longer than the next is, in the middle, a few per cent at most.
    """
    case = Case(transport=transport, size=8, wait="spin" if transport == "shm" else "block")
    sampler = Alternating(202)

    def take_part(rank, group):
        clock = Clock()
        pair = Pair(group, (0, 1), scene(rank), clock)
        bench = Bench(group, [(pair, case)], clock, CACHE, Meter(Reader(), whole=True))
        counters = Counters(Reader())
        blocks = iter(range(10**6))

        def probe():
            # Between two blocks, on both ranks.
            if next(blocks) % 2:
                counters.advance()
            return [None]

        bench.run(sampler if rank == 0 else None, lambda ns: None, probe)
        bench.close()
        pair.close()

    on_two_ranks(take_part)
    medians = np.asarray(sampler.medians[2:])
    assert medians.size == 200
    ratios = medians[::2] / medians[1::2]
    assert np.median(ratios) == pytest.approx(1.0, abs=0.05)
