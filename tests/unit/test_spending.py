"""What a rank reads of itself: with real work, real sleep, and a real neighbour on its core."""

import os
import socket
import threading
import time

import pytest

from halftrip import _native
from halftrip.telemetry.busiest_task import culprit
from halftrip.telemetry.kernel_files import Reader
from halftrip.telemetry.perf_counters import HardwareCounters, counted_between
from halftrip.telemetry.process import Meter
from harness.neighbour import neighbour
from lab.hosts import need

# Of linux/perf_event.h: the kernel's own clock of a thread, which every machine has.
SOFTWARE, TASK_CLOCK = 1, 1


def spent(work, whole=True, seconds=0.3):
    meter = Meter(Reader(), whole)
    before = meter.read()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        work()
    return meter.since(before, exchanges=5)


@pytest.fixture
def one_core():
    """A core that this thread alone is pinned to."""
    cores = os.sched_getaffinity(0)
    core = min(cores)
    os.sched_setaffinity(0, {core})
    yield core
    os.sched_setaffinity(0, cores)


def test_work_is_user_time_and_calls_are_system_time():
    """The kernel's ticks tell which; both together are exact."""
    numbers = bytes(1000)
    working = spent(lambda: sum(numbers))
    assert working.exchanges == 5
    assert working.user > 5 * working.system
    ours, theirs = socket.socketpair()
    with ours, theirs:
        payload = bytes(100_000)

        def call():
            ours.send(payload)
            theirs.recv(len(payload))

        calling = spent(call)
    assert calling.system > calling.user
    assert calling.busy <= 1.1 * calling.elapsed


def test_sleep_is_neither_and_leaves_the_core_by_itself():
    asleep = spent(lambda: time.sleep(0.01))
    assert asleep.load < 0.2
    assert asleep.voluntary >= 10
    assert not asleep.is_busy_poll


def test_memory_that_is_touched_is_faults_and_stays_in_the_peak():
    meter = Meter(Reader(), whole=True)
    before = meter.read()
    touched = bytearray(os.urandom(1) * (64 << 20))
    usage = meter.since(before, 0)
    assert len(touched) < usage.peak_memory
    assert usage.minor_faults > 100


@pytest.mark.parametrize(("whole", "mine"), [(True, False), (False, True)])
def test_what_other_threads_spend_is_the_process_s_alone(whole, mine):
    meter = Meter(Reader(), whole)
    before = meter.read()
    numbers = bytes(30_000_000)
    thread = threading.Thread(target=sum, args=(numbers,))
    began = time.thread_time()
    thread.start()
    thread.join()
    usage = meter.since(before, 0)
    own = time.thread_time() - began
    assert (usage.busy <= own + 0.05) == mine


def test_a_neighbour_s_share_of_the_core_is_known_and_who_it_is(one_core):
    """Two that want the same core get about half of it each."""
    meter = Meter(Reader(), whole=True)
    with neighbour(one_core) as pid:
        watch = meter.watch_core()
        usage = spent(lambda: None, seconds=0.5)
        core = watch.close()
        found = culprit(one_core)
    assert core.number == one_core
    assert usage.involuntary > usage.voluntary
    for share in (usage.waited_share, core.others / core.watched):
        assert 0.2 < share < 0.8
    assert usage.waited_share + usage.load == pytest.approx(1, abs=0.15)
    assert found.name.endswith(f" (process {pid})")
    assert found.share > 0.3


def test_there_is_no_core_to_watch_where_there_are_several():
    assert len(os.sched_getaffinity(0)) > 1
    assert Meter(Reader(), whole=True).watch_core() is None


def test_a_kernel_that_tells_less_leaves_that_out(tmp_path, one_core):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(f"cpu{one_core} 1 2 3\n")
    meter = Meter(Reader(tmp_path), whole=True)
    watch, before = meter.watch_core(), meter.read()
    time.sleep(0.12)
    usage, core = meter.since(before, 1), watch.close()
    assert usage.waited is None
    assert (core.others, core.stolen, core.hertz, core.joules) == (None, None, None, None)
    assert core.watched > 0


def test_a_kernel_that_has_the_columns_but_does_not_count_tells_nothing(tmp_path, one_core):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(f"cpu{one_core} 0 0 0 0 0 0 0 0\n")
    watch = Meter(Reader(tmp_path), whole=True).watch_core()
    time.sleep(0.12)
    core = watch.close()
    assert (core.others, core.stolen) == (None, None)


def test_the_frequency_is_that_of_the_core(tmp_path, one_core):
    path = tmp_path / f"sys/devices/system/cpu/cpu{one_core}/cpufreq/scaling_cur_freq"
    path.parent.mkdir(parents=True)
    path.write_text("3200000\n")
    watch = Meter(Reader(tmp_path), whole=True).watch_core()
    assert watch.close().hertz == 3.2e9


def test_counters_count_what_their_thread_does():
    """The processor's may not be there, or not be allowed; the kernel's clock is a counter, too."""
    try:
        counter = _native.Counter(SOFTWARE, TASK_CLOCK, False)
    except PermissionError as error:
        need(False, f"perf events are not allowed: {error}")
    before, began = counter.read(), time.thread_time_ns()
    sum(bytes(1_000_000))
    counted, passed = counted_between(before, counter.read()), time.thread_time_ns() - began
    assert 0.5 * passed < counted <= 1.5 * passed


def test_counters_that_are_not_there_are_an_error_and_no_figure():
    with pytest.raises(OSError, match=r".+"):
        _native.Counter(99999, 0, False)
    counters = HardwareCounters()
    assert (counters.read() is None) == (counters.counted is None)


class Counted:
    """As on a machine that has counters: of each reading more by so much, and it ran meanwhile."""

    ran = 10

    def __init__(self, kind, config, everywhere):
        self.config = config
        self.readings = 0

    def read(self):
        self.readings += 1
        count = self.readings * (1000 if self.config == 1 else 500)
        return count, self.readings * 10, self.readings * self.ran


@pytest.mark.parametrize(("ran", "scale"), [(10, 1), (5, 2)])
def test_instructions_and_cycles_are_those_in_between(monkeypatch, ran, scale):
    """Scaled up where a counter had to share the processor's."""
    monkeypatch.setattr("halftrip.telemetry.perf_counters.Counter", Counted)
    monkeypatch.setattr(Counted, "ran", ran)
    usage = spent(lambda: None, seconds=0)
    assert (usage.instructions, usage.cycles) == (1000 * scale, 500 * scale)
    assert usage.counted == "all"
    assert usage.instructions_per_cycle == 2


def test_a_counter_that_never_ran_has_counted_nothing(monkeypatch):
    """As that of another kind of core than the one in use, or of one that is taken."""
    monkeypatch.setattr("halftrip.telemetry.perf_counters.Counter", Counted)
    monkeypatch.setattr(Counted, "ran", 0)
    usage = spent(lambda: None, seconds=0)
    assert (usage.instructions, usage.cycles, usage.counted) == (None, None, None)


def test_a_counter_that_cannot_be_read_any_more_is_none(monkeypatch):
    def broken(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("halftrip.telemetry.perf_counters.Counter", Counted)
    monkeypatch.setattr(Counted, "read", broken)
    assert spent(lambda: None, seconds=0).instructions is None


def test_a_kernel_that_does_not_count_turns_does_not_say_how_long_it_waited(tmp_path):
    (tmp_path / "proc/thread-self").mkdir(parents=True)
    schedstat = tmp_path / "proc/thread-self/schedstat"
    for text in ("0 0 0\n", "1 2\n", "x y z\n", ""):
        schedstat.write_text(text)
        meter = Meter(Reader(tmp_path), whole=True)
        assert meter.since(meter.read(), 1).waited is None
    schedstat.write_text("5 7 1\n")
    meter = Meter(Reader(tmp_path), whole=True)
    assert meter.since(meter.read(), 1).waited == 0.0


def test_what_becomes_of_a_core_in_a_short_while_is_not_known(one_core):
    core = Meter(Reader(), whole=True).watch_core().close()
    assert (core.others, core.stolen) == (None, None)


def test_the_core_of_a_thread_is_watched_without_blame():
    """Others of its process may run on it."""
    watch = Meter(Reader(), whole=False).watch_core(0)
    time.sleep(0.12)
    core = watch.close()
    assert core.number == 0
    assert core.others is None
    assert core.watched >= 0.12
