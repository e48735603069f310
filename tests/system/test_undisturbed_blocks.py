"""While blocks are timed nothing else of the run is in their way: no thread of a rank wakes, no
page is touched first, and the launcher's process runs on another core where one is left."""

import contextlib
import os
import re
import time
from pathlib import Path

import psutil
import pytest

from halftrip.results.run_file import load
from harness.need import need
from harness.shell import HALFTRIP

CORES = os.sched_getaffinity(0)
RECORDS = {
    name: re.compile(rf'^{{"record":"{name}"'.encode(), re.MULTILINE)
    for name in ("environment", "measurement")
}
SWITCHES = re.compile(r"ctxt_switches:\s+(\d+)")
LOOK_SECONDS = 0.02


def recorded(path, name):
    return len(RECORDS[name].findall(path.read_bytes())) if path.exists() else 0


def looks(process, path, seen, launch=1):
    """What is `seen` of the processes of the ranks, again and again from when both have said where
    they run in a launch until the only slice of it is over."""
    found = []
    while process.poll() is None and recorded(path, "measurement") < launch:
        if recorded(path, "environment") == 2 * launch:
            with contextlib.suppress(psutil.Error, FileNotFoundError, ProcessLookupError):
                children = psutil.Process(process.pid).children()
                ranks = [each for each in children if each.name().startswith("halftrip:")]
                found += [seen(ranks)] if len(ranks) == 2 else []
        time.sleep(LOOK_SECONDS)
    return found


def wakes(rank):
    """How often each thread of a rank has left its core so far, but for the main one."""
    tasks = [
        task for task in Path(f"/proc/{rank.pid}/task").iterdir() if task.name != str(rank.pid)
    ]
    return {
        (task / "comm").read_text().strip(): SWITCHES.findall((task / "status").read_text())
        for task in tasks
    }


@pytest.mark.parametrize(
    "transport", [("shm",), ("tcp", "--wait", "spin"), ("pipe",)], ids=["shm", "tcp", "pipe"]
)
def test_no_thread_of_a_rank_wakes_in_the_middle_of_a_slice(shell, transport):
    process = shell.start(
        *(HALFTRIP, "run", "-o", "run.jsonl", "-q", "-s", "8", "-t", *transport),
        *("--time", "0.8s", "-r", "1", "--ci", "none"),
    )
    found = looks(process, shell.path, lambda ranks: [wakes(rank) for rank in ranks])
    assert process.wait() == 0, process.stderr.read()
    # Before that paths are opened.
    middle = found[len(found) // 4 : -len(found) // 4]
    assert len(middle) > 5
    # The one that watches over the others.
    assert [len(of_rank) for of_rank in middle[0]] == [1, 1]
    assert all(look == middle[0] for look in middle)


def test_kept_blocks_of_native_loops_take_no_page_faults(shell):
    result = shell.measure(
        *("-t", "shm,pipe,tcp,unix,udp", "-s", "8,64K", "-p", "pingpong,stream"),
        *("--time", "10ms", "-r", "1"),
    )
    blocks = [(m.configuration, block) for m in result.run.measurements for block in m.blocks]
    assert len({configuration for configuration, _ in blocks}) >= 18
    faults = [
        (configuration.title, [(end.minor_faults, end.major_faults) for end in block.usage])
        for configuration, block in blocks
    ]
    assert [each for each in faults if any(map(any, each[1]))] == []


def test_the_launcher_leaves_the_core_of_its_ranks_alone_while_they_measure(shell):
    """Both ranks on one core leave another one, on any machine with two. Those of the next launch
    may use all of them again."""
    need(len(CORES) > 1, "another core needs two")
    core = min(CORES)
    process = shell.start(
        *(HALFTRIP, "run", "-o", "run.jsonl", "-q", "-s", "8", "-t", "pipe", "--time", "0.4s"),
        *("-r", "1", "--launches", "2", "--cores", f"{core},{core}"),
    )

    def of_launcher(ranks):
        return {frozenset(os.sched_getaffinity(pid)) for pid in (process.pid, ranks[0].pid)}

    for launch in (1, 2):
        middle = looks(process, shell.path, of_launcher, launch)[1:-1]
        assert middle
        # Beside the core's other thread, too, where there are more.
        assert all(frozenset({core}) in look for look in middle)
        for look in middle:
            (others,) = look - {frozenset({core})}
            assert others < CORES
            assert core not in others
    assert process.wait() == 0, process.stderr.read()
    ranks = load(shell.path).environments
    assert [(each.launch, set(each.allowed_cores)) for each in ranks] == [
        (launch, CORES) for launch in (0, 0, 1, 1)
    ]
