"""Which task of another process runs most on a core, on a clock that only its sleep advances."""

import os
import threading
from types import SimpleNamespace

import pytest

from halftrip.telemetry import busiest_task as module
from halftrip.telemetry.busiest_task import busiest_task

WATCHED_NS = 20_000_000


@pytest.fixture
def tasks(kernel, monkeypatch):
    """Makes up tasks; `tasks.meanwhile` is called while a core is watched."""
    now = 0

    def sleep(seconds):
        nonlocal now
        now += round(seconds * 1e9)
        tasks.meanwhile()

    def show(pid, tid, name, processor, ran, parent=1):
        fields = ["S", str(parent), *["0"] * 34, str(processor), "0"]
        kernel(f"proc/{pid}/task/{tid}/stat", f"{tid} ({name}) {' '.join(fields)}\n")
        kernel(f"proc/{pid}/task/{tid}/schedstat", f"{ran} 5 6\n")

    clock = SimpleNamespace(sleep=sleep, perf_counter_ns=lambda: now)
    monkeypatch.setattr(module, "time", clock)
    tasks = SimpleNamespace(
        show=show,
        kernel=kernel,
        meanwhile=lambda: None,
        busiest=lambda core: busiest_task(core, kernel.root / "proc"),
    )
    return tasks


def test_the_busiest_task_ran_most_on_the_core(tasks):
    def run():
        tasks.show(20, 21, "so) so (", 1, 5 * 10**9)
        tasks.show(30, 30, "elsewhere", 0, 9 * 10**9)
        tasks.show(40, 40, "kworker/1:0", 1, 2 * 10**9, parent=2)

    for pid, tid in ((20, 20), (20, 21), (30, 30), (40, 40), (os.getpid(), os.getpid())):
        tasks.show(pid, tid, "any", 1, 100)
    tasks.meanwhile = run
    found = tasks.busiest(1)
    assert found.name == "so) so ( (process 20)"
    # It has run for longer than the core was watched.
    assert found.share == 1.0
    assert tasks.busiest(1) is None
    assert tasks.busiest(7) is None


@pytest.mark.parametrize("share", [0.005, 0.0999, 0.1, 0.75])
def test_a_task_that_ran_for_less_than_a_tenth_of_the_time_is_not_named(tasks, share):
    tasks.show(20, 20, "brief", 1, 0)
    tasks.meanwhile = lambda: tasks.show(20, 20, "brief", 1, round(share * WATCHED_NS))
    found = tasks.busiest(1)
    assert (found is None) == (share < 0.1)
    assert found is None or found.share == share


@pytest.mark.parametrize("malformed", ["", "x 1 2\n"])
def test_a_task_whose_files_are_malformed_is_left_out(tasks, malformed):
    tasks.show(20, 20, "unread", 1, 0)
    tasks.show(40, 40, "ksoftirqd/\x1b[2J", 1, 100, parent=2)
    tasks.kernel("proc/20/task/20/schedstat", malformed)
    tasks.meanwhile = lambda: tasks.show(40, 40, "ksoftirqd/\x1b[2J", 1, 10**9, parent=2)
    # Nor does a name control a terminal.
    assert tasks.busiest(1).name == "ksoftirqd/?[2J (of the kernel)"


@pytest.mark.parametrize(
    ("pid", "parent", "name", "owner"),
    [
        (os.getpid(), 1, "progress", "rank"),
        (900, 1, "mpiexec", "run"),
        (os.getppid(), 900, "proxy", "run"),
        # Another child of what has started this process: the rank beside it.
        (77, os.getppid(), "python", "run"),
        (78, 900, "stress", None),
        (79, 2, "ksoftirqd/1", "kernel"),
        (79, 2, "irq/9-eth0", "kernel"),
        (79, 2, "kworker/1:0", None),
    ],
    # Not by the numbers of processes: each worker of pytest has its own.
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_whose_a_task_is(tasks, pid, parent, name, owner):
    for of, child_of in ((os.getppid(), 900), (900, 1)):
        tasks.kernel(f"proc/{of}/stat", f"{of} (x) S {child_of} {'0 ' * 34}0 0\n")
        tasks.kernel(f"proc/{of}/schedstat", "1 2 3\n")
    tasks.show(pid, 5, name, 1, 0, parent=parent)
    tasks.meanwhile = lambda: tasks.show(pid, 5, name, 1, WATCHED_NS, parent=parent)
    assert tasks.busiest(1).owner == owner


def test_the_thread_that_looks_is_not_named(tasks):
    own = threading.get_native_id()
    tasks.show(os.getpid(), own, "python", 1, 0)
    tasks.meanwhile = lambda: tasks.show(os.getpid(), own, "python", 1, WATCHED_NS)
    assert tasks.busiest(1) is None
