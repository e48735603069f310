"""Who has the cores, on made-up machines whose clock only a sleep advances."""

import os
from types import SimpleNamespace

import pytest

from halftrip.telemetry import doctor
from halftrip.telemetry import load as module
from halftrip.telemetry.load import CoreLoad, Load, Program, look

CORES = (0, 1)
CPU = "sys/devices/system/cpu"
TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """Two cores. `runs` has what each of its tasks gets in a second: the process, the thread, its
    name, its core and its share of it; `counted` has the seconds of user time and of steal that the
    kernel counts for each core in a second, and `interrupts` those of hard and of soft ones."""

    def __init__(self, kernel, monkeypatch):
        self.kernel = kernel
        self.now = 0.0
        self.runs = []
        self.counted = dict.fromkeys(CORES, (0.0, 0.0))
        self.interrupts = dict.fromkeys(CORES, (0.0, 0.0))
        self.ran = {}
        self.times = {core: [1000.0, 0.0, 0.0, 0.0] for core in CORES}
        clock = SimpleNamespace(
            sleep=self.sleep,
            perf_counter=lambda: self.now,
            perf_counter_ns=lambda: round(self.now * 1e9),
        )
        monkeypatch.setattr(module, "time", clock)
        kernel("proc/loadavg", "0.50 0.40 0.30 1/100 12345\n")
        self.write()

    def task(self, pid, name, core, share, tid=None, parent=1):
        self.runs.append((pid, tid or pid, name, core, share, parent))
        self.write()

    def sleep(self, seconds):
        self.now += seconds
        for _, tid, _, _, share, _ in self.runs:
            self.ran[tid] = self.ran.get(tid, 0.0) + share * seconds
        for core, shares in self.counted.items():
            for kind, share in enumerate((*shares, *self.interrupts[core])):
                self.times[core][kind] += share * seconds
        self.write()

    def write(self):
        lines = ["cpu 1 0 1 1 0 0 0 0 0 0"]
        for core, (user, steal, irq, softirq) in self.times.items():
            idle = 10_000 + self.now
            ticks = (round(each * TICKS) for each in (user, 0, 0, idle, 0, irq, softirq, steal))
            lines.append(f"cpu{core} {' '.join(map(str, ticks))} 0 0")
        self.kernel("proc/stat", "\n".join(lines) + "\n")
        for pid, tid, name, core, _, parent in self.runs:
            fields = ["S", str(parent), *["0"] * 34, str(core), "0"]
            self.kernel(f"proc/{pid}/task/{tid}/stat", f"{tid} ({name}) {' '.join(fields)}\n")
            ran = round(self.ran.get(tid, 5.0) * 1e9)
            self.kernel(f"proc/{pid}/task/{tid}/schedstat", f"{ran} 0 1\n")
            self.ran.setdefault(tid, 5.0)

    def look(self, seconds=0.2, own=()):
        return look(seconds, own, self.kernel.reader, CORES)


@pytest.fixture
def machine(bare_kernel, monkeypatch):
    return Machine(bare_kernel, monkeypatch)


@pytest.mark.parametrize("seconds", [0.2, 5.0])
def test_at_rest_there_is_nothing_to_say(machine, seconds):
    machine.task(20, "sshd", 0, 0.02)
    machine.counted[0] = (0.05, 0.01)
    seen = machine.look(seconds)
    assert seen.seconds == pytest.approx(seconds)
    assert seen.lines(CORES) == []
    assert seen.average == [0.5, 0.4, 0.3]


@pytest.mark.parametrize("seconds", [0.2, 5.0])
def test_whoever_has_a_core_is_named_with_its_share(machine, seconds):
    machine.task(20, "pytest", 0, 0.5)
    machine.task(20, "a thread", 0, 0.32, tid=21)
    machine.task(30, "cc1plus", 0, 0.1)
    machine.counted[0] = (0.95, 0.0)
    seen = machine.look(seconds)
    assert seen.lines(CORES) == [
        "core 0 is busy: pytest (process 20) has 82% of it, cc1plus (process 30) 10%"
    ]
    assert seen.cores[1] == CoreLoad(1, 0.0, 0.0, [])
    assert seen.lines([1]) == []
    # Own processes do not count.
    assert "pytest" not in "".join(machine.look(seconds, own=[20, 30]).lines(CORES))


def test_what_cannot_be_seen_is_still_counted(machine):
    machine.counted[1] = (0.75, 0.0)
    (line,) = machine.look().lines(CORES)
    assert (
        line == "core 1 is busy: programs that ended, or cannot be seen from here, have 75% of it"
    )
    machine.task(20, "make", 1, 0.25)
    (line,) = machine.look().lines(CORES)
    assert line == "core 1 is busy: make (process 20) has 25% of it, others 50%"


def test_interrupts_are_no_programs(machine):
    machine.interrupts[0] = (0.05, 0.35)
    machine.task(9, "ksoftirqd/0", 0, 0.3, parent=2)
    seen = machine.look()
    assert seen.lines(CORES) == ["core 0 has interrupts 40% of the time (hard 5%, soft 35%)"]
    assert seen.advice([0]) == (
        "move interrupts to other cores (/proc/irq/*/smp_affinity), or take idle cores: --cores 1"
    )
    assert "end these programs" not in seen.advice(CORES)
    machine.interrupts[0] = (0.05, 0.1)
    assert machine.look().lines(CORES) == []


def test_a_task_that_moves_was_on_both_cores(machine):
    machine.task(20, "wanders", 0, 1.0)
    sleep = module.time.sleep

    def moves(seconds):
        sleep(seconds)
        machine.runs.clear()
        machine.task(20, "wanders", 1, 1.0)

    module.time.sleep = moves
    shares = [core.programs[0].share for core in machine.look().cores]
    assert shares == pytest.approx([0.5, 0.5])


def test_no_core_is_shared_out_twice(machine):
    for pid in (20, 30, 40):
        machine.task(pid, "any", 0, 1.0)
    (core, _) = machine.look().cores
    assert core.busy == 1.0
    assert [program.share for program in core.programs] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("share", [0.05, 0.15])
def test_steal_is_told_where_it_is_more_than_chance(machine, share):
    machine.counted[0] = (0.0, share)
    lines = machine.look(5.0).lines(CORES)
    assert lines == (["core 0: the hypervisor has 15% of it (steal)"] if share > 0.1 else [])
    assert "dedicated cores" in machine.look().advice(CORES)


def test_idle_cores_are_recommended_where_there_are_enough_and_of_many_busy_ones_some_are_named():
    def core(number, busy):
        return CoreLoad(number, busy, 0.0, [Program("any", 20 + number, busy)] if busy else [])

    seen = Load(0.2, [core(number, 1.0 if number in (0, 3) else 0.0) for number in range(5)], [])
    assert seen.advice([0, 1]).endswith("--cores 2,4")
    assert "--cores" not in seen.advice([0, 1, 2])
    seen = Load(0.2, [core(number, 1.0) for number in range(9)], [])
    assert len(seen.lines(range(9))) == 5
    assert seen.lines(range(9))[-1] == "5 more cores are busy"


def test_siblings_of_a_busy_core_are_not_idle_and_a_busy_sibling_is_told():
    def core(number, busy, siblings):
        return CoreLoad(number, busy, 0.0, [], siblings=siblings)

    # Cores 0 and 1, 2 and 3, 4 and 5, 6 and 7 are siblings.
    def seen(*busy):
        cores = [core(n, 0.9 if n in busy else 0.0, [n ^ 1]) for n in range(8)]
        return Load(0.2, cores, [])

    assert seen(0, 2).advice([0, 2]).endswith("--cores 4,6")
    assert "--cores" not in seen(0, 2, 5).advice([0, 2])
    assert seen(1).lines([0, 2]) == [
        (
            "core 1, the sibling of 0, is busy: programs that ended, or cannot be seen from here, "
            "have 90% of it"
        )
    ]
    assert seen(1).advice([0, 2]).endswith("--cores 3,4")
    assert seen(5).lines([0, 2]) == []


def test_siblings_that_are_not_allowed_are_looked_at_and_not_recommended(machine):
    for core in CORES:
        machine.kernel(f"{CPU}/cpu{core}/topology/thread_siblings_list", "0-1\n")
    machine.task(20, "cc1plus", 1, 0.9)
    seen = look(0.2, (), machine.kernel.reader, [0])
    assert seen.allowed == [0]
    assert seen.lines([0]) == [
        "core 1, the sibling of 0, is busy: cc1plus (process 20) has 90% of it"
    ]
    assert "--cores" not in seen.advice([0])


# What the doctor says.


def check(machine, seconds=0.2):
    return doctor.load(machine.kernel.reader, seconds)


def test_the_doctor_warns_of_a_busy_core(machine, allowed):
    assert check(machine).state == "ok"
    machine.kernel("proc/loadavg", "10.00 9.00 8.00 1/100 12345\n")
    # Who rests at the moment was busy before.
    found = check(machine)
    assert (found.state, "--load 10s" in found.advice) == ("warning", True)
    machine.kernel("proc/loadavg", "0.50 0.40 0.30 1/100 12345\n")
    machine.task(20, "pytest", 0, 0.9)
    found = check(machine, 3.0)
    assert found.state == "warning"
    assert "core 0 is busy: pytest (process 20) has 90% of it; load average 0.50" in found.found
    assert found.load.cores[0].programs[0].share == pytest.approx(0.9)


def test_the_load_average_is_about_all_cores_of_the_machine(machine, monkeypatch):
    machine.kernel("proc/loadavg", "10.00 9.00 8.00 1/100 12345\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    found = check(machine)
    assert (found.state, "load average 10.00" in found.found) == ("ok", True)


@pytest.mark.parametrize("content", ["", "a b c"])
def test_without_readable_files_the_load_is_unknown(bare_kernel, allowed, monkeypatch, content):
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    bare_kernel("proc/loadavg", content)
    bare_kernel("proc/stat", content)
    assert doctor.load(bare_kernel.reader, 0.01).state == "unknown"
