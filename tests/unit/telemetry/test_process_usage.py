"""The resource usage of a rank: of its process and its thread, and of its core."""

import os
import resource
import time
from types import SimpleNamespace

import pytest

from halftrip.kernel_files import Reader
from halftrip.telemetry import process
from halftrip.telemetry.process import Meter
from harness.kernel import Kernel


@pytest.fixture
def one_core():
    """A core that this thread alone is pinned to."""
    cores = os.sched_getaffinity(0)
    core = min(cores)
    os.sched_setaffinity(0, {core})
    yield core
    os.sched_setaffinity(0, cores)


class VirtualTime:
    """In place of `time` and `resource`: the clock, and what this process and this thread have
    spent, by the names of getrusage(2)."""

    RUSAGE_SELF, RUSAGE_THREAD = resource.RUSAGE_SELF, resource.RUSAGE_THREAD
    # In the order of getrusage(2); the empty ones are not of interest.
    NAMES = (
        "utime",
        "stime",
        "maxrss",
        "",
        "",
        "",
        "minflt",
        "majflt",
        *[""] * 6,
        "nvcsw",
        "nivcsw",
    )

    def __init__(self):
        self.now = 0.0
        self.process = {}
        self.thread = {}

    def perf_counter(self):
        return self.now

    def perf_counter_ns(self):
        return round(self.now * 1e9)

    def getrusage(self, who):
        spent = self.process if who == self.RUSAGE_SELF else self.thread
        return resource.struct_rusage([spent.get(name, 0) for name in self.NAMES])


@pytest.fixture
def virtual(monkeypatch):
    made = VirtualTime()
    monkeypatch.setattr(process, "time", made)
    monkeypatch.setattr(process, "resource", made)
    return made


@pytest.mark.parametrize(("whole", "user"), [(True, 0.5), (False, 0.25)])
def test_each_figure_is_the_growth_of_the_kernel_s_own(tmp_path, virtual, whole, user):
    """Of the process or of the thread, but switches are always the thread's."""
    virtual.process = dict.fromkeys(("utime", "stime", "minflt", "majflt", "nvcsw", "nivcsw"), 1)
    virtual.thread = dict(virtual.process)
    meter = Meter(Kernel(tmp_path, {}).reader, whole)
    before = meter.read()
    virtual.now = 2.0
    virtual.process |= {"utime": 1.5, "stime": 1.125, "minflt": 31, "majflt": 5, "nvcsw": 99}
    virtual.thread |= {"utime": 1.25, "stime": 1.125, "minflt": 31, "majflt": 5, "nvcsw": 8}
    for each in (virtual.process, virtual.thread):
        each |= {"maxrss": 7, "nivcsw": 4}
    usage = meter.since(before, iterations=5)
    assert (usage.iterations, usage.elapsed, usage.user, usage.system) == (5, 2.0, user, 0.125)
    assert (usage.minor_faults, usage.major_faults) == (30, 4)
    assert (usage.voluntary, usage.involuntary) == (7, 3)
    assert usage.peak_memory == 7 * 1024


def test_the_figures_of_this_process_are_real():
    meter = Meter(Reader(), whole=True)
    before, began = meter.read(), time.process_time()
    touched = bytearray(os.urandom(1) * (64 << 20))
    for _ in range(10):
        time.sleep(0.001)
        sum(bytes(1_000_000))
    usage, passed = meter.since(before, 0), time.process_time() - began
    assert usage.busy == pytest.approx(passed, abs=0.05)
    assert usage.voluntary >= 10
    assert usage.minor_faults > 100
    assert usage.peak_memory > len(touched)


def test_the_time_of_others_is_neither_idle_nor_steal_nor_its_own(tmp_path, virtual, one_core):
    """Of two seconds it ran for half of one, a fifth was idle, and a tenth steal."""
    ticks = os.sysconf("SC_CLK_TCK")
    stat = f"cpu{one_core} 10 0 0 {{idle:.0f}} 0 0 0 {{steal:.0f}}\n"
    kernel = Kernel(tmp_path, {"proc/stat": stat.format(idle=0, steal=0)})
    kernel("proc/thread-self/schedstat", "0 1000000000 1\n")
    kernel(f"sys/devices/system/cpu/cpu{one_core}/cpufreq/scaling_cur_freq", "3200000\n")
    meter = Meter(kernel.reader, whole=True)
    watch, before = meter.watch_core(), meter.read()
    virtual.now, virtual.process = 2.0, {"utime": 0.5}
    others = "cpu9 0 0 0 0 0 0 0 0\n"
    line = stat.format(idle=0.2 * ticks, steal=0.1 * ticks).replace(" 10 ", f" {10 + ticks} ")
    kernel("proc/stat", others + line)
    kernel("proc/thread-self/schedstat", "500000000 2200000000 9\n")
    usage, core = meter.since(before, 1), watch.close()
    assert core.number == one_core
    assert (core.watched, core.hertz) == (2.0, 3.2e9)
    assert core.steal == pytest.approx(0.1)
    assert core.others == pytest.approx(1.2)
    assert usage.waited_share == pytest.approx(0.6)
    assert usage.load == pytest.approx(0.25)


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


@pytest.mark.parametrize(
    ("text", "waited"), [("0 0 0", None), ("1 2", None), ("x y z", None), ("", None), ("5 7 1", 0)]
)
def test_without_a_count_of_turns_the_waiting_time_is_not_known(tmp_path, text, waited):
    kernel = Kernel(tmp_path, {"proc/thread-self/schedstat": f"{text}\n"})
    meter = Meter(kernel.reader, whole=True)
    assert meter.since(meter.read(), 1).waited == waited


def test_the_busiest_task_is_looked_for_once_a_second(monkeypatch):
    looked_at, now = [], [100.0]

    def look(core):
        looked_at.append(core)
        return f"task of {core}"

    monkeypatch.setattr(process, "busiest_task", look)
    meter = Meter(Reader(), whole=True)
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(process, "time", clock)
    for moment, looked in ((100.0, 1), (100.9, 1), (101.1, 2), (101.2, 2)):
        now[0] = moment
        assert meter.busiest_task(3) == "task of 3"
        assert len(looked_at) == looked
    # Each core by itself.
    assert meter.busiest_task(1) == "task of 1"
    assert looked_at == [3, 3, 1]


def test_of_a_thread_s_core_it_is_not_known_what_others_took(monkeypatch):
    """Other threads of its process may run on it."""
    monkeypatch.setattr(process, "_LEAST_SECONDS", 0.0)
    watch = Meter(Reader(), whole=False).watch_core(0)
    time.sleep(0.02)
    core = watch.close()
    assert core.number == 0
    assert core.others is None
    assert core.watched >= 0.02
