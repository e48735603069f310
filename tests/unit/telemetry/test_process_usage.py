"""The resource usage of a rank: with real work, real sleep, and a real neighbour on its core."""

import os
import re
import resource
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from halftrip.kernel_files import Reader
from halftrip.telemetry import process
from halftrip.telemetry.busiest_task import busiest_task
from halftrip.telemetry.process import Meter
from harness.kernel import Kernel
from harness.neighbour import cpu_seconds, neighbour


def spent(work, whole=True, seconds=0.2, clock=time.monotonic):
    meter = Meter(Reader(), whole)
    before = meter.read()
    deadline = clock() + seconds
    while clock() < deadline:
        work()
    return meter.since(before, iterations=5)


@pytest.fixture
def one_core():
    """A core that this thread alone is pinned to."""
    cores = os.sched_getaffinity(0)
    core = min(cores)
    os.sched_setaffinity(0, {core})
    yield core
    os.sched_setaffinity(0, cores)


def test_work_is_user_time_and_kernel_calls_are_system_time():
    """The kernel samples at its ticks which of the two it is; their sum is exact. Ticks may fall on
    the same moments again and again, above all where others have the core, too: one of several
    tries has to show it, unless the core was ours in none."""
    numbers = bytes(1000)
    working = spent(lambda: sum(numbers), seconds=0.3, clock=time.process_time)
    assert working.iterations == 5
    assert working.user > 5 * working.system
    ours, theirs = socket.socketpair()
    with ours, theirs:
        payload = bytes(100_000)

        def call():
            ours.send(payload)
            theirs.recv(len(payload))

        had_core = False
        for _ in range(6):
            calling = spent(call, seconds=0.3, clock=time.process_time)
            had_core = had_core or calling.busy > 0.9 * calling.elapsed
            if calling.system > calling.user:
                break
    assert calling.system > (calling.user if had_core else 2 * working.system)
    assert calling.busy <= 1.1 * calling.elapsed


def test_sleep_is_no_load_but_voluntary_switches():
    asleep = spent(lambda: time.sleep(0.01))
    assert asleep.load < 0.2
    assert asleep.voluntary >= 10
    assert not asleep.is_busy_poll


def test_touched_memory_causes_faults_and_is_in_the_peak():
    meter = Meter(Reader(), whole=True)
    before = meter.read()
    touched = bytearray(os.urandom(1) * (64 << 20))
    usage = meter.since(before, 0)
    assert len(touched) < usage.peak_memory
    assert usage.minor_faults > 100


@pytest.mark.parametrize(("whole", "mine"), [(True, False), (False, True)])
def test_other_threads_count_only_where_the_whole_process_does(whole, mine):
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


class VirtualTime:
    """In place of `time` and `resource`: the clock, and the CPU time of this process, s."""

    RUSAGE_SELF, RUSAGE_THREAD = resource.RUSAGE_SELF, resource.RUSAGE_THREAD

    def __init__(self):
        self.now = 0.0
        self.busy = 0.0

    def perf_counter(self):
        return self.now

    def perf_counter_ns(self):
        return round(self.now * 1e9)

    def getrusage(self, who):
        # Fields in the order of getrusage(2).
        return resource.struct_rusage((self.busy, 0.0, *[0] * 14))


def test_the_time_of_others_is_neither_idle_nor_steal_nor_its_own(tmp_path, monkeypatch, one_core):
    """Of two seconds it ran for half of one, a fifth was idle, and a tenth steal."""
    virtual = VirtualTime()
    monkeypatch.setattr(process, "time", virtual)
    monkeypatch.setattr(process, "resource", virtual)
    ticks = os.sysconf("SC_CLK_TCK")
    stat = f"cpu{one_core} 10 0 0 {{idle:.0f}} 0 0 0 {{steal:.0f}}\n"
    kernel = Kernel(tmp_path, {"proc/stat": stat.format(idle=0, steal=0)})
    kernel("proc/thread-self/schedstat", "0 1000000000 1\n")
    meter = Meter(kernel.reader, whole=True)
    watch, before = meter.watch_core(), meter.read()
    virtual.now, virtual.busy = 2.0, 0.5
    others = "cpu9 0 0 0 0 0 0 0 0\n"
    line = stat.format(idle=0.2 * ticks, steal=0.1 * ticks).replace(" 10 ", f" {10 + ticks} ")
    kernel("proc/stat", others + line)
    kernel("proc/thread-self/schedstat", "500000000 2200000000 9\n")
    usage, core = meter.since(before, 1), watch.close()
    assert core.number == one_core
    assert core.watched == 2.0
    assert core.steal == pytest.approx(0.1)
    assert core.others == pytest.approx(1.2)
    assert usage.waited_share == pytest.approx(0.6)
    assert usage.load == pytest.approx(0.25)


@pytest.mark.extended
def test_a_neighbour_on_the_core_is_named_with_its_share(one_core):
    """Two tasks that want the same core get about half of it each. Where a third wants it, too, it
    may be that which is named."""
    meter = Meter(Reader(), whole=True)
    with neighbour(one_core) as pid:
        watch = meter.watch_core()
        usage = spent(lambda: None, seconds=0.5)
        core = watch.close()
        before = cpu_seconds()
        found = busiest_task(one_core)
        took = {task: total - before.get(task, 0.0) for task, total in cpu_seconds().items()}
    assert core.number == one_core
    assert usage.involuntary > usage.voluntary
    for share in (usage.waited_share, core.others / core.watched):
        assert 0.2 < share < 0.8
    assert usage.waited_share + usage.load == pytest.approx(1, abs=0.15)
    named = int(re.fullmatch(r".+ \(process (\d+)\)", found.name)[1])
    assert named == pid or took.get(named, 0.0) > 0.5 * took[pid]
    assert found.share > 0.3


def test_a_process_with_several_cores_watches_none(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert Meter(Reader(), whole=True).watch_core() is None


@pytest.mark.parametrize(
    "columns",
    [
        "1 2 3",
        # A sandbox may have the columns, and count nothing.
        "0 0 0 0 0 0 0 0",
    ],
)
def test_times_that_a_kernel_does_not_count_are_not_known(tmp_path, monkeypatch, one_core, columns):
    monkeypatch.setattr(process, "_LEAST_SECONDS", 0.0)
    kernel = Kernel(tmp_path, {"proc/stat": f"cpu{one_core} {columns}\n"})
    meter = Meter(kernel.reader, whole=True)
    watch, before = meter.watch_core(), meter.read()
    usage, core = meter.since(before, 1), watch.close()
    assert usage.waited is None
    assert (core.others, core.steal, core.hertz, core.joules) == (None, None, None, None)
    assert core.watched > 0


def test_the_frequency_is_that_of_the_core(tmp_path, one_core):
    path = f"sys/devices/system/cpu/cpu{one_core}/cpufreq/scaling_cur_freq"
    kernel = Kernel(tmp_path, {path: "3200000\n"})
    watch = Meter(kernel.reader, whole=True).watch_core()
    assert watch.close().hertz == 3.2e9


@pytest.mark.parametrize(
    ("text", "waited"), [("0 0 0", None), ("1 2", None), ("x y z", None), ("", None), ("5 7 1", 0)]
)
def test_without_a_count_of_turns_the_waiting_time_is_not_known(tmp_path, text, waited):
    kernel = Kernel(tmp_path, {"proc/thread-self/schedstat": f"{text}\n"})
    meter = Meter(kernel.reader, whole=True)
    assert meter.since(meter.read(), 1).waited == waited


def test_figures_of_short_times_add_up(one_core):
    """The kernel counts in steps: what a short time lacks, another has too much."""
    meter = Meter(Reader(), whole=True)
    whole = meter.watch_core()
    parts = []
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        watch = meter.watch_core()
        spent(lambda: None, seconds=0.004)
        parts.append(watch.close())
    total = whole.close()
    for field in ("watched", "others", "steal"):
        values = [getattr(part, field) for part in parts]
        if getattr(total, field) is None:
            assert None in values
        else:
            # All but what passed between one and the next.
            lost = total.watched - sum(part.watched for part in parts)
            assert sum(values) == pytest.approx(getattr(total, field), abs=0.05 + lost)


class Elsewhere:
    """What finds the busiest task, counting how often it looks."""

    def __init__(self):
        self.looked = []

    def __call__(self, core):
        self.looked.append(core)
        return f"task of {core}"


def test_the_busiest_task_is_looked_for_once_a_second(monkeypatch):
    look, now = Elsewhere(), [100.0]
    monkeypatch.setattr(process, "busiest_task", look)
    meter = Meter(Reader(), whole=True)
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(process, "time", clock)
    for moment, looked in ((100.0, 1), (100.9, 1), (101.1, 2), (101.2, 2)):
        now[0] = moment
        assert meter.busiest_task(3) == "task of 3"
        assert len(look.looked) == looked
    # Each core by itself.
    assert meter.busiest_task(1) == "task of 1"
    assert look.looked == [3, 3, 1]


def test_of_a_thread_s_core_it_is_not_known_what_others_took(monkeypatch):
    """Other threads of its process may run on it."""
    monkeypatch.setattr(process, "_LEAST_SECONDS", 0.0)
    watch = Meter(Reader(), whole=False).watch_core(0)
    time.sleep(0.02)
    core = watch.close()
    assert core.number == 0
    assert core.others is None
    assert core.watched >= 0.02
