"""The processor's counters of a thread: a real one of the kernel's, and made-up ones."""

import errno
import time

import pytest

from halftrip import _native
from halftrip.telemetry import perf_counters
from halftrip.telemetry.perf_counters import count, counted_between, missing
from lab.hosts import need

# From linux/perf_event.h: the kernel's clock of a thread, which every machine has.
SOFTWARE, TASK_CLOCK = 1, 1


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


def test_where_there_is_no_counter_the_reason_is_said_and_nothing_is_counted(monkeypatch):
    monkeypatch.setattr(perf_counters, "INSTRUCTIONS", (99999, 0))
    assert missing() == "no hardware counters here, as in most virtual machines"
    assert count(lambda: "result", iterations=3) == ("result", None)


class Counter:
    """A counter that grows by a fixed amount with each reading, while it ran for `ran` of 10 ns,
    and of which there are some in `opened`."""

    ran = 10
    opened = 0
    forbidden = ()

    def __init__(self, kind, config, everywhere):
        if everywhere in self.forbidden:
            raise PermissionError(errno.EACCES, "Permission denied")
        self.config = config
        self.readings = 0
        Counter.opened += 1

    def __del__(self):
        if hasattr(self, "config"):
            Counter.opened -= 1

    def read(self):
        self.readings += 1
        counted = self.readings * (1000 if self.config == 1 else 500)
        return counted, self.readings * 10, self.readings * self.ran


@pytest.fixture
def counter(monkeypatch):
    monkeypatch.setattr(_native, "Counter", Counter)
    monkeypatch.setattr(Counter, "opened", 0)
    return monkeypatch


@pytest.mark.parametrize(("ran", "scale"), [(10, 1), (5, 2)])
def test_counts_are_differences_scaled_up_where_a_counter_ran_for_a_part(counter, ran, scale):
    counter.setattr(Counter, "ran", ran)
    opened, counts = count(lambda: Counter.opened, iterations=5)
    assert (counts.instructions, counts.cycles) == (1000 * scale, 500 * scale)
    assert (counts.iterations, counts.counted) == (5, "all")
    # Nothing is open before and after.
    assert (opened, Counter.opened) == (2, 0)


@pytest.mark.parametrize(
    ("forbidden", "mode", "reason"),
    [
        ((), "all", None),
        ((True,), "user", None),
        ((True, False), None, "the kernel does not allow hardware counters"),
    ],
)
def test_the_kernel_may_allow_user_mode_alone(counter, forbidden, mode, reason):
    counter.setattr(Counter, "forbidden", forbidden)
    _, counts = count(lambda: None, iterations=1)
    assert (counts.counted if counts else None) == mode
    found = missing()
    assert found is None if reason is None else found.startswith(reason)


def test_a_counter_that_never_ran_or_cannot_be_read_gives_no_figure(counter):
    """It never runs where it is one of another kind of core than the one in use."""
    counter.setattr(Counter, "ran", 0)
    assert count(lambda: None, iterations=1) == (None, None)

    def broken(self):
        raise OSError(errno.EIO, "Input/output error")

    counter.setattr(Counter, "read", broken)
    assert count(lambda: "result", iterations=1) == ("result", None)
