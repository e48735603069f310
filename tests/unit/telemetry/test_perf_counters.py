"""The processor's counters of a thread: real ones, and made-up ones."""

import time

import pytest

from halftrip import _native
from halftrip.kernel_files import Reader
from halftrip.telemetry.perf_counters import HardwareCounters, counted_between
from halftrip.telemetry.process import Meter
from lab.hosts import need

# From linux/perf_event.h: the kernel's clock of a thread, which every machine has.
SOFTWARE, TASK_CLOCK = 1, 1


def one_reading():
    """The usage between one reading and the next."""
    meter = Meter(Reader(), whole=True)
    return meter.since(meter.read(), iterations=5)


def test_a_counter_counts_what_its_thread_does():
    """With the kernel's clock of a thread: not every machine shows the processor's counters."""
    try:
        counter = _native.Counter(SOFTWARE, TASK_CLOCK, False)
    except PermissionError as error:
        need(False, f"perf events are not allowed: {error}")
    before, began = counter.read(), time.thread_time_ns()
    sum(bytes(1_000_000))
    counted, passed = counted_between(before, counter.read()), time.thread_time_ns() - began
    assert 0.5 * passed < counted <= 1.5 * passed


def test_a_missing_counter_raises_and_gives_no_figure():
    with pytest.raises(OSError, match=r".+"):
        _native.Counter(99999, 0, False)
    counters = HardwareCounters()
    assert (counters.read() is None) == (counters.counted is None)


class Counted:
    """A counter that grows by a fixed amount with each reading, while it ran for `ran` of 10 ns."""

    ran = 10

    def __init__(self, kind, config, everywhere):
        self.config = config
        self.readings = 0

    def read(self):
        self.readings += 1
        count = self.readings * (1000 if self.config == 1 else 500)
        return count, self.readings * 10, self.readings * self.ran


@pytest.mark.parametrize(("ran", "scale"), [(10, 1), (5, 2)])
def test_instructions_and_cycles_are_differences_of_readings(monkeypatch, ran, scale):
    """Scaled up where a counter ran for a part of the time."""
    monkeypatch.setattr("halftrip._native.Counter", Counted)
    monkeypatch.setattr(Counted, "ran", ran)
    usage = one_reading()
    assert (usage.instructions, usage.cycles) == (1000 * scale, 500 * scale)
    assert usage.counted == "all"
    assert usage.instructions_per_cycle == 2


def test_a_counter_that_never_ran_gives_no_figure(monkeypatch):
    """Such as a counter of another kind of core than the one in use."""
    monkeypatch.setattr("halftrip._native.Counter", Counted)
    monkeypatch.setattr(Counted, "ran", 0)
    usage = one_reading()
    assert (usage.instructions, usage.cycles, usage.counted) == (None, None, None)


def test_a_counter_that_can_no_longer_be_read_gives_no_figure(monkeypatch):
    def broken(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("halftrip._native.Counter", Counted)
    monkeypatch.setattr(Counted, "read", broken)
    assert one_reading().instructions is None
