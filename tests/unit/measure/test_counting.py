"""Slices in which hardware counters count, and nothing is timed.

The ranks are threads of this process, and the kernel's clock of a thread stands in for the
processor's counters, which few virtual machines have."""

import os

import pytest

from halftrip.measure.batch_runner import BatchRunner
from halftrip.plan.slices import COUNTING_SLICES
from halftrip.results.counts import CountedSlice
from halftrip.results.records import Failure, Measurement, Notice, Skip
from halftrip.telemetry import perf_counters
from halftrip.transports.native.endpoint import NativeEndpoint
from harness.plans import skip_baselines, walk

# From linux/perf_event.h: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK.
TASK_CLOCK = (1, 1)
# No more slices are timed than are counted: to look for counters takes longer than what is timed.
KEYS = {
    "transport": "pipe,shm,simulated", "sizes": "8,4K", "time": 0.02, "slices": COUNTING_SLICES,
    "counters": True,
}  # fmt: skip


def open_counters():
    """How many perf events this process has open, counting or not."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            found += "perf_event" in os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            # The descriptor of the list itself.
            continue
    return found


@pytest.fixture(autouse=True)
def _counters(monkeypatch):
    skip_baselines(monkeypatch)
    monkeypatch.setattr(perf_counters, "INSTRUCTIONS", TASK_CLOCK)
    monkeypatch.setattr(perf_counters, "CYCLES", TASK_CLOCK)


@pytest.fixture
def looks(monkeypatch):
    """For each batch of native code, whether it is counted, and how many counters are open in the
    midst of it."""
    seen = []
    take, run = BatchRunner._time, NativeEndpoint.run

    def time(self, batch):
        self._opened.counts = batch.counts
        return take(self, batch)

    def look(self, *numbers):
        seen.append((self.counts, open_counters()))
        return run(self, *numbers)

    monkeypatch.setattr(BatchRunner, "_time", time)
    monkeypatch.setattr(NativeEndpoint, "run", look)
    return seen


def test_no_counter_is_open_while_times_are_taken(looks):
    records, _ = walk(**KEYS)
    assert {events for counts, events in looks if not counts} == {0}
    # Two at each end, of which the other may not have begun yet, or be over.
    counted = {events for counts, events in looks if counts}
    assert counted
    assert counted <= {2, 3, 4}
    real = {
        each.configuration
        for each in records.of(Measurement)
        if not each.configuration.is_simulated
    }
    found = {}
    for each in records.of(CountedSlice):
        found.setdefault(each.configuration, []).append(each)
    assert found.keys() == real
    for slices in found.values():
        assert [each.slice for each in slices] == list(range(COUNTING_SLICES))
        assert all(
            end.iterations > 0 and end.instructions > 0 for each in slices for end in each.ends
        )
    # What was timed comes first, and is what it is without counters.
    kinds = [type(each) for each in records.all if isinstance(each, Measurement | CountedSlice)]
    assert kinds == sorted(kinds, key=lambda kind: kind is CountedSlice)
    assert records.of(Failure) == records.of(Skip) == records.of(Notice) == []


def test_where_nothing_can_count_that_is_said_and_times_are_taken(monkeypatch, looks):
    monkeypatch.setattr(perf_counters, "INSTRUCTIONS", (99999, 0))
    records, _ = walk(**KEYS)
    assert records.of(CountedSlice) == []
    assert len({each.configuration for each in records.of(Measurement)}) == 6
    found = records.of(Notice)
    assert [each.rank for each in found] == [0, 1]
    assert {each.text for each in found} == {f"--counters: {perf_counters.missing()}"}
    assert {each.kind for each in found} == {"shortfall"}
    # Nor is anything counted that is not asked for.
    looks.clear()
    records, _ = walk(transport="pipe", sizes="8", iterations=40)
    assert records.of(CountedSlice) == records.of(Notice) == []
    assert set(looks) == {(False, 0)}
