"""The resource usage of a rank: of its process and its thread, and of its core."""

import os
import resource
import time
from types import SimpleNamespace

import pytest

from halftrip.kernel_files import Reader
from halftrip.telemetry import core_watch, process
from halftrip.telemetry.process import Meter
from halftrip.telemetry.task_times import task_times
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
        *[""] * 3,
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

    def thread_time(self):
        return self.thread.get("utime", 0.0)

    def getrusage(self, who):
        spent = self.process if who == self.RUSAGE_SELF else self.thread
        return resource.struct_rusage([spent.get(name, 0) for name in self.NAMES])


@pytest.fixture
def virtual(monkeypatch):
    made = VirtualTime()
    monkeypatch.setattr(process, "time", made)
    monkeypatch.setattr(process, "resource", made)
    monkeypatch.setattr(core_watch, "time", made)
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


SCHEDULER = "version 17\ntimestamp 4295\ncpu{} 0 0 0 0 0 0 {:.0f} 77 9\ndomain0 3 0 0\n"
ACCOUNT = "sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"


def tasks_ran(source, core, seconds):
    """The file that says for how long tasks have run on a core, and its text."""
    ns = seconds * 1e9
    if source == "scheduler":
        return "proc/schedstat", SCHEDULER.format(core, ns)
    return ACCOUNT, "1 " * core + f"{ns:.0f} 5\n"


@pytest.mark.parametrize("source", ["scheduler", "account"])
def test_who_had_a_core_for_how_long(tmp_path, virtual, one_core, source):
    """Of two seconds its thread ran for half of one, other tasks for 0.7 (of which its own other
    threads for 0.3), a tenth of a second was steal, two went to interrupts, 0.2 s were idle, and
    0.3 nobody knows of."""
    stat = f"cpu{one_core} {{:.0f}} 0 0 {{:.0f}} {{:.0f}} {{:.0f}} {{:.0f}} {{:.0f}}\n"

    def times(**seconds):
        ticks = [
            100 + seconds.get(kind, 0) * os.sysconf("SC_CLK_TCK")
            for kind in ("user", "idle", "iowait", "irq", "softirq", "steal")
        ]
        return "cpu99 0 0 0 0 0 0 0 0\n" + stat.format(*ticks)

    kernel = Kernel(tmp_path, {"proc/stat": times()})
    kernel("sys/fs/cgroup/cpuacct/release_agent", "")
    kernel(*tasks_ran(source, one_core, 3.0))
    kernel("proc/thread-self/schedstat", "0 1000000000 1\n")
    kernel(f"sys/devices/system/cpu/cpu{one_core}/cpufreq/scaling_cur_freq", "3200000\n")
    kernel("proc/net/snmp", "Tcp: RtoMin RetransSegs\nTcp: 200 40\nUdp: a\nUdp: 1\n")
    meter = Meter(kernel.reader, whole=True)
    watch, before = meter.watch_core(counts_retransmits=True), meter.read()
    virtual.now, virtual.process, virtual.thread = 2.0, {"utime": 0.8}, {"utime": 0.5}
    kernel("proc/stat", times(user=1.2, idle=0.15, iowait=0.05, irq=0.05, softirq=0.15, steal=0.1))
    kernel(*tasks_ran(source, one_core, 4.2))
    kernel("proc/thread-self/schedstat", "500000000 2200000000 9\n")
    kernel("proc/net/snmp", "Tcp: RtoMin RetransSegs\nTcp: 200 47\n")
    usage, core = meter.since(before, 1), watch.close()
    assert core.number == one_core
    assert (core.watched, core.hertz, core.retransmits) == (2.0, 3.2e9, 7)
    figures = core.others, core.interrupts, core.steal, core.unaccounted
    assert figures == pytest.approx((0.7, 0.2, 0.1, 0.3))
    assert usage.waited_share == pytest.approx(0.6)
    assert usage.load == pytest.approx(0.4)
    assert (core.throttled, core.sibling) == (None, None)


def test_the_line_of_a_core_is_found_however_many_readings_it_takes(tmp_path, monkeypatch):
    """The kernel gives a page of records at a time."""
    of_each = "cpu{} 0 0 0 0 0 0 {}000000000 77 9\ndomain0 3 0 0\n"
    lines = "".join(of_each.format(core, core) for core in range(40))
    kernel = Kernel(tmp_path, {"proc/schedstat": f"version 17\ntimestamp 4295\n{lines}"})
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 64), at))
    assert [task_times(kernel.reader, core)() for core in (0, 1, 9, 39)] == [0.0, 1.0, 9.0, 39.0]
    assert task_times(kernel.reader, 40) is None


@pytest.mark.parametrize(
    "files",
    [
        {},
        # Older kernels count in other units.
        {"proc/schedstat": SCHEDULER.replace("17", "14").format(0, 1e9)},
        # A container's own group, and the line of another core.
        {ACCOUNT: "1 2 3\n"},
        {"proc/schedstat": SCHEDULER.format(9999, 1e9)},
        {"proc/schedstat": "version 17\ncpu0 0 0 0 0 0 0"},
    ],
)
def test_without_the_scheduler_s_times_what_others_had_is_unaccounted(
    tmp_path, virtual, monkeypatch, files
):
    ticks = os.sysconf("SC_CLK_TCK")
    kernel = Kernel(tmp_path, {"proc/stat": "cpu0 10 0 0 0 0 0 0 0\n"} | files)
    watch = Meter(kernel.reader, whole=True).watch_core(0)
    virtual.now, virtual.thread = 2.0, {"utime": 0.5}
    kernel("proc/stat", f"cpu0 {10 + ticks} 0 0 {ticks / 2:.0f} 0 0 0 0\n")
    core = watch.close()
    assert core.others is None
    assert core.unaccounted == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("flags", "stolen", "steal"),
    [("fpu hypervisor", 0, None), ("fpu hypervisor", 5, 0.0), ("fpu", 0, 0.0)],
)
def test_steal_that_a_hypervisor_never_counted_is_unknown(tmp_path, flags, stolen, steal):
    kernel = Kernel(tmp_path, {"proc/stat": f"cpu0 10 0 0 0 0 0 0 {stolen}\n"})
    kernel("proc/cpuinfo", f"flags\t\t: {flags}\n")
    watch = Meter(kernel.reader, whole=True).watch_core(0)
    assert watch.close().steal == steal


def test_a_busy_sibling_is_seen(tmp_path, virtual):
    """Of two siblings of core 1, core 3 was used for half of the time."""
    ticks = os.sysconf("SC_CLK_TCK")
    idle = "".join(f"cpu{n} 10 0 0 {{}} 0 0 0 0\n" for n in (1, 3, 5))
    kernel = Kernel(tmp_path, {"proc/stat": idle.format(0, 0, 0)})
    kernel("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3,5\n")
    watch = Meter(kernel.reader, whole=True).watch_core(1)
    virtual.now = 2.0
    kernel("proc/stat", idle.format(2 * ticks, ticks, 2 * ticks))
    assert watch.close().sibling == pytest.approx(1.0)


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
    monkeypatch.setattr(core_watch, "_LEAST_SECONDS", 0.0)
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
    monkeypatch.setattr(core_watch, "_LEAST_SECONDS", 0.0)
    watch = Meter(Reader(), whole=False).watch_core(0)
    time.sleep(0.02)
    core = watch.close()
    assert core.number == 0
    assert core.others is None
    assert core.watched >= 0.02
