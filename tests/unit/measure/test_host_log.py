"""The system log: records of several hosts in rank 0's time, and counters that are read only while
nothing is timed."""

import threading
import time
from types import SimpleNamespace

import pytest

from halftrip.kernel_files import Reader
from halftrip.measure import host_log
from halftrip.measure.batch import UNTIMED_ITERATIONS
from halftrip.measure.batch_runner import BatchRunner
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.host_log import HostLog
from halftrip.results.counts import HostCounters
from halftrip.stats.clock_line import MeasuredOffset
from halftrip.telemetry.host import Counters
from harness import runs
from harness.groups import on_two_ranks
from harness.plans import skip_baselines, walk

CASES = [runs.configuration("tcp", size, "block") for size in range(1, 6)]


@pytest.fixture(autouse=True)
def _short_rest(monkeypatch):
    monkeypatch.setattr(host_log, "IDLE_SECONDS", 0.02)


def setup_of(group, hosts):
    """The parts of a Setup that the log uses: two ranks, on one host or on two."""
    environments = [SimpleNamespace(host=name) for name in hosts]
    meter = SimpleNamespace(reader=Reader())
    return SimpleNamespace(
        group=group, hosts=hosts, environments=environments, meter=meter, is_absent=False
    )


def logged(hosts, offsets, script):
    """The records of a log after `script(log)` at each of two ranks. `offsets` are how far the
    clocks of their hosts are said to be ahead."""
    records = []
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def take_part(rank, group):
        clocks = HostClocks(group, hosts)
        for host, offset in zip(hosts, offsets, strict=True):
            clocks.add(host, MeasuredOffset(began, offset, error=1.0))
        script(HostLog(setup_of(group, hosts), clocks, records.append, began, launch=3), rank)

    on_two_ranks(take_part)
    return records


def note(log, rank, configuration, number=0):
    """What a run does after a slice. Returns on rank 0 whether a record was due."""
    # Rank 0 decides, and the others hear of it with the next order.
    due = log.note(configuration, number) if rank == 0 else None
    if log._group.broadcast(due, bool):
        log.record_configurations()
    return due


def test_each_host_has_a_record_in_the_time_of_rank_0():
    def script(log, rank):
        log.rest("before")
        if rank == 0:
            log.note(CASES[0], 0)
        log.record_configurations()
        log.rest("after")

    records = logged(["a", "b"], [0, 7 * 10**9], script)
    assert [(r.host, r.rank, r.phase) for r in records] == [
        ("a", 0, "before"), ("b", 1, "before"),
        ("a", 0, "during"), ("b", 1, "during"),
        ("a", 0, "after"), ("b", 1, "after"),
    ]  # fmt: skip
    assert {r.launch for r in records} == {3}
    pairs = zip(records[::2], records[1::2], strict=True)
    for one, other in pairs:
        # The other host's clock is said to be seven seconds ahead; really it is the same clock.
        assert other.at == pytest.approx(one.at - 7, abs=0.2)
        assert other.seconds == pytest.approx(one.seconds, abs=0.2)
    assert [r.configurations for r in records] == [[], [], [CASES[0]], [CASES[0]], [], []]


@pytest.mark.parametrize(("share", "shared"), [(1e9, False), (1e-9, True)])
def test_short_slices_share_a_record_where_one_each_costs_too_much(monkeypatch, share, shared):
    monkeypatch.setattr(host_log, "_LARGEST_SHARE", share)

    def script(log, rank):
        log.rest("before")
        for configuration in CASES:
            due = note(log, rank, configuration, configuration.size)
            assert due in (not shared, None)
        if log._group.broadcast(log.has_configurations if rank == 0 else None, bool):
            log.record_configurations()
        log.rest("after")

    records = logged(["a", "a"], [0, 0], script)
    of_configurations = [r for r in records if r.phase == "during"]
    assert [r.configurations for r in of_configurations] == (
        [CASES] if shared else [[configuration] for configuration in CASES]
    )
    assert [number for r in of_configurations for number in r.slices] == [c.size for c in CASES]


# Counters and samples.


class Moments:
    """The times of calls: `spans` are (begin, end, what), ns, in the order in which they ended."""

    def __init__(self):
        self.spans = []
        self._lock = threading.Lock()

    def note(self, function, what, cost=0.0):
        """`function`, with its calls noted as `what(arguments)`, and slower by `cost`, s."""

        def noted(*arguments):
            began = time.monotonic_ns()
            result = function(*arguments)
            time.sleep(cost)
            with self._lock:
                self.spans.append((began, time.monotonic_ns(), what(*arguments)))
            return result

        return noted


READ = "read"


def test_counters_are_read_while_nothing_is_timed(monkeypatch):
    """No rank's part in a batch overlaps a reading, and each configuration warms up between a
    reading and its first kept samples."""
    skip_baselines(monkeypatch)
    monkeypatch.setattr(host_log, "_LARGEST_SHARE", 1e9)
    moments = Moments()
    reading = moments.note(Counters.advance, lambda counters: READ, cost=0.01)
    timing = moments.note(BatchRunner.run, lambda side, batch: batch)
    monkeypatch.setattr(Counters, "advance", reading)
    monkeypatch.setattr(BatchRunner, "run", timing)
    records, _ = walk(system_log=True, sizes="1,2,4", slices=2, ci="none")
    readings = [span for span in moments.spans if span[2] == READ]
    timed = sorted(span for span in moments.spans if span[2] != READ)
    # Two around each rest, and one after each slice.
    assert len(readings) == 4 + 6
    assert len(records.of(HostCounters)) == 2 + 6
    for began, ended, _ in readings:
        assert not [span for span in timed if span[0] < ended and began < span[1]]
        later = [batch for at, _, batch in timed if at > ended]
        # Both ranks' warm-up, or the untimed iterations before a block.
        assert all(not batch.keep or batch.untimed >= UNTIMED_ITERATIONS for batch in later[:2])
    assert any(batch.keep for _, _, batch in timed)


def test_no_rank_goes_on_while_another_still_rests(monkeypatch):
    """The others' paths are closed soon after, and would be in the counters of that rest."""
    skip_baselines(monkeypatch)
    moments = Moments()
    monkeypatch.setattr(
        Counters, "advance", moments.note(Counters.advance, lambda counters: READ, cost=0.05)
    )
    monkeypatch.setattr(HostLog, "rest", moments.note(HostLog.rest, lambda log, phase: phase))
    walk(system_log=True, sizes="1")
    read = [ended for _, ended, what in moments.spans if what == READ]
    for phase in ("before", "after"):
        ends = [ended for _, ended, what in moments.spans if what == phase]
        assert len(ends) == 2
        last_read = max(at for at in read if at <= max(ends))
        assert min(ends) >= last_read
