"""A process of a run is killed or stopped, at a moment that a seed draws: whoever and whenever it
is, the run ends soon, says so, and leaves nothing behind but a file with what was measured.

KILLS is how many seeds there are, from 0 on."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from harness.limits import DRAGON_SECONDS, END_SECONDS, until
from harness.mpi import chosen, job, quick_start
from harness.victim import LOCAL, WITH_MPI, Victim

KILLS = int(os.environ.get("KILLS", "12"))
# So many of them are of every change's tests.
QUICK_KILLS = 2
LATEST_SECONDS = 1.5
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# What a launch with --launches has between its launches, too.
SERIES = (*LOCAL[:-2], "-t", "shm", "--time", "20ms", "--launches", "30")
DRAGON = (*LOCAL[:-2], "-t", "dragon")
RUNS = {
    "local": (LOCAL, ()),
    "launches": (SERIES, ()),
    "dragon": (DRAGON, ()),
    "beside dragon": ((*DRAGON, "--launcher", "local"), ()),
    **{name: (WITH_MPI, ("launched", name)) for name in ("wheel", "openmpi", "mpich")},
    **{f"joined {name}": (WITH_MPI, ("joined", name)) for name in ("openmpi", "mpich")},
}


def start(shell, kind):
    """A run of this kind that goes on for longer than any test."""
    work, how = RUNS[kind]
    if not how:
        return Victim(shell, *work)
    way, name = how
    if way == "launched":
        return Victim(shell, *work, *chosen(name), **quick_start(name))
    return Victim(shell, *work, prefix=job(name), **quick_start(name))


def victims(victim):
    """The processes of the run at this moment: the command itself, and what it has started, without
    MPICH's proxies. These pass on what is printed; a run whose ranks have started ends well without
    them."""
    command = psutil.Process(victim.process.pid)
    children = [each for each in command.children(recursive=True) if "proxy" not in _name(each)]
    return [command, *children]


def _name(process):
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def shared_memory():
    """What has no mark by which `Victim.kill` would find it: directories, pools of Dragon."""
    return {path for name in ("halftrip-*", "DD*") for path in Path("/dev/shm").glob(name)}


def unused(paths):
    """Those of which no process has anything: other tests may run beside these."""
    held = ""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held += (process / "maps").read_text(errors="replace") if paths else ""
    return {path for path in paths if str(path) not in held}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.extended] if seed >= QUICK_KILLS else [])
        for seed in range(KILLS)
    ],
)
def test_nothing_is_lost_and_nothing_left_whoever_dies(shell, seed):
    draw = random.Random(seed)
    kind, number = draw.choice(sorted(RUNS)), draw.choice(SIGNALS)
    before = shared_memory()
    victim = start(shell, kind)
    if kind.startswith("joined"):
        victim.await_file()
    else:
        victim.await_handler()
    time.sleep(draw.uniform(0, LATEST_SECONDS))
    processes = victims(victim)
    # The command is drawn as often as all others together. A signal by which a user stops a run
    # comes to it alone.
    is_command = number != signal.SIGKILL or len(processes) == 1 or draw.random() < 0.5
    pid = processes[0].pid if is_command else draw.choice(processes[1:]).pid
    seconds = DRAGON_SECONDS if "dragon" in kind else END_SECONDS
    ended = victim.kill(pid, number, seconds)
    # Of a job that is stopped, an mpiexec prints what it likes; MPICH's exits with 0 once in three
    # times, whatever the status of its ranks.
    assert ended.status != 0 or (is_command and kind == "joined mpich")
    if is_command and not kind.startswith("joined"):
        expected = -number if number == signal.SIGKILL else 128 + number
        assert ended.status == expected, ended.err
    elif not kind.startswith("joined"):
        assert ended.status == 1
        assert ended.err.startswith("halftrip: ")
        assert ended.err.count("\n") == 1, ended.err
    until(lambda: not unused(shared_memory() - before), "shared memory is left", END_SECONDS)
