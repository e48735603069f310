"""What a rank reads of itself: with real work, real sleep, and a real neighbour on its core."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from halftrip import _native
from halftrip.observe.hardware import HardwareCounters
from halftrip.observe.reading import Reader
from halftrip.observe.spending import Meter
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


@contextlib.contextmanager
def neighbour(core):
    """A process that wants a core for itself."""
    program = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile 1: pass"
    busy = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        busy.stdout.readline()
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()


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
        core = watch.close(shared=False)
    assert core.number == one_core
    assert usage.involuntary > usage.voluntary
    for share in (usage.waited_share, core.others / core.watched):
        assert 0.2 < share < 0.8
    assert usage.waited_share + usage.load == pytest.approx(1, abs=0.15)
    assert core.culprit == f"{os.path.basename(sys.executable)[:15]} (process {pid})"


def test_nobody_is_blamed_where_ranks_share_a_core_or_nothing_was_taken(one_core):
    meter = Meter(Reader(), whole=True)
    with neighbour(one_core):
        watch = meter.watch_core()
        spent(lambda: None)
        assert watch.close(shared=True).culprit is None


def test_there_is_no_core_to_watch_where_there_are_several():
    assert len(os.sched_getaffinity(0)) > 1
    assert Meter(Reader(), whole=True).watch_core() is None


def test_a_kernel_that_tells_less_leaves_that_out(tmp_path, one_core):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(f"cpu{one_core} 1 2 3\n")
    meter = Meter(Reader(tmp_path), whole=True)
    watch, before = meter.watch_core(), meter.read()
    usage, core = meter.since(before, 1), watch.close(shared=False)
    assert usage.waited is None
    assert (core.others, core.stolen, core.hertz, core.joules) == (None, None, None, None)
    assert core.watched > 0


def test_the_frequency_is_that_of_the_core(tmp_path, one_core):
    path = tmp_path / f"sys/devices/system/cpu/cpu{one_core}/cpufreq/scaling_cur_freq"
    path.parent.mkdir(parents=True)
    path.write_text("3200000\n")
    watch = Meter(Reader(tmp_path), whole=True).watch_core()
    assert watch.close(shared=False).hertz == 3.2e9


def test_counters_count_what_their_thread_does():
    """The processor's may not be there, or not be allowed; the kernel's clock is a counter, too."""
    try:
        counter = _native.Counter(SOFTWARE, TASK_CLOCK, False)
    except PermissionError as error:
        need(False, f"perf events are not allowed: {error}")
    before, began = counter.read(), time.thread_time_ns()
    sum(bytes(1_000_000))
    counted, passed = counter.read() - before, time.thread_time_ns() - began
    assert 0.5 * passed < counted <= 1.5 * passed


def test_counters_that_are_not_there_are_an_error_and_no_figure():
    with pytest.raises(OSError, match=r".+"):
        _native.Counter(99999, 0, False)
    counters = HardwareCounters()
    assert (counters.read() is None) == (counters.counted is None)


def test_instructions_and_cycles_are_those_in_between(monkeypatch):
    """As on a machine that has them."""

    class Counted:
        def __init__(self, kind, config, everywhere):
            self.step = {1: 1000, 0: 500}[config]
            self.count = 0

        def read(self):
            self.count += self.step
            return self.count

    monkeypatch.setattr("halftrip.observe.hardware.Counter", Counted)
    usage = spent(lambda: None, seconds=0)
    assert (usage.instructions, usage.cycles, usage.counted) == (1000, 500, "all")
    assert usage.instructions_per_cycle == 2
