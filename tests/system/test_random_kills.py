"""A process of a run is killed or stopped, at a moment that a seed draws: whoever and whenever it
is, the run ends soon, says so, and leaves nothing behind but a file with what was measured.

KILLS is how many seeds there are, from FIRST_KILL or 0 on."""

import contextlib
import fcntl
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from halftrip.job.left_behind import remove_left_behind
from halftrip.job.shm_cleanup import SHARED_MEMORY
from harness.kills import (
    BETWEEN_HOSTS,
    FIRST,
    KILLS,
    LATEST_SECONDS,
    SIGNALS,
    check_end,
    choose,
    has_forked,
    victims,
)
from harness.limits import DRAGON_SECONDS, END_SECONDS, until
from harness.mpi import chosen, job, quick_start
from harness.served import served
from harness.ssh import stand_in
from harness.victim import LOCAL, WITH_MPI, Victim

# So many of them are of every change's tests.
QUICK_KILLS = 2
# What a launch with --launches has between its launches, too.
SERIES = (*LOCAL[:-2], "-t", "shm", "--time", "20ms", "--launches", "30")
DRAGON = (*LOCAL[:-2], "-t", "dragon")
# A rank that dies ends one launch, and the others go on.
VARY = ("-s", "8,64K", "--ci", "none", "--time", "400ms", "-r", "10", "--vary", "env.MINE=a,b,c")
MPIS = ("wheel", "openmpi", "mpich")
RUNS = {
    "local": (LOCAL, ()),
    "launches": (SERIES, ()),
    "dragon": (DRAGON, ()),
    "beside dragon": ((*DRAGON, "--launcher", "local"), ()),
    **{name: (WITH_MPI, ("launched", name)) for name in MPIS},
    **{f"joined {name}": (WITH_MPI, ("joined", name)) for name in MPIS},
    "peer": ((*BETWEEN_HOSTS, "-n", "4"), ("peer", "")),
    "hosts": (BETWEEN_HOSTS, ("hosts", "")),
    "vary": ((*VARY, "-t", "shm"), ()),
    "vary mpi": ((*VARY, "-t", "mpi,shm"), ("launched", "wheel")),
}


def start(shell, kind, server):
    """A run of this kind that goes on for longer than any test; of several launches with --vary,
    each of a second."""
    work, how = RUNS[kind]
    if not how:
        return Victim(shell, *work)
    way, name = how
    if way == "peer":
        return Victim(shell, *work, *server.peer, HALFTRIP_SECRET=server.secret)
    if way == "hosts":
        return Victim(shell, *work, "--hosts", "a,a,b,b", "--ssh", stand_in(shell.directory))
    if way == "launched":
        return Victim(shell, *work, *chosen(name), **quick_start(name))
    return Victim(shell, *work, prefix=job(name), **quick_start(name))


def shared_memory():
    """What has no mark by which `Victim.kill` would find it: directories, pools of Dragon. Notes of
    joined ranks are not meant: those of one that had no time to remove them go at the next start.
    """
    found = {path for name in ("halftrip-*", "DD*") for path in SHARED_MEMORY.glob(name)}
    return found - {*SHARED_MEMORY.glob("halftrip-job-*-*")}


def unused(paths):
    """Those of which no process has anything: other tests may run beside these."""
    held = ""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held += (process / "maps").read_text(errors="replace") if paths else ""
    return {path for path in paths if str(path) not in held and not is_locked(path)}


def is_locked(path):
    """Whether somebody who lives has claimed the directory (job/left_behind.py)."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(directory)
    return False


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.extended] if seed >= QUICK_KILLS else [])
        for seed in range(FIRST, FIRST + KILLS)
    ],
)
def test_nothing_is_lost_and_nothing_left_whoever_dies(shell, tmp_path, seed):
    draw = random.Random(seed)
    kind, number = draw.choice(sorted(RUNS)), draw.choice(SIGNALS)
    before = shared_memory()
    with served(tmp_path) if kind == "peer" else contextlib.nullcontext() as server:
        victim = start(shell, kind, server)
        if kind.startswith("joined"):
            victim.await_file()
        else:
            victim.await_handler()
        time.sleep(draw.uniform(0, LATEST_SECONDS))
        processes = victims(victim, server, kind == "local")
        chosen_one = choose(draw, processes, number)
        # It may have ended by itself meanwhile, as the mpiexec that says its version.
        is_gone = not chosen_one.is_running() or (kind == "local" and has_forked(chosen_one))
        pid = processes[0].pid if is_gone else chosen_one.pid
        is_command = pid == processes[0].pid
        seconds = DRAGON_SECONDS if "dragon" in kind else END_SECONDS
        if kind.startswith("vary") and not is_command:
            check_others_go_on(victim, pid, number)
        else:
            try:
                ended = victim.kill(pid, number, seconds)
            except ProcessLookupError:
                # The rank of one of several launches, meanwhile.
                is_command = True
                ended = victim.kill(processes[0].pid, number, seconds)
            check_end(kind, ended, number, is_command)
        if server is not None:
            until(lambda: not server.ranks(), "ranks of the server are left", END_SECONDS)
    if is_command and number == signal.SIGKILL:
        # Where nobody is left who could do it, the next start does.
        for path in (*unused(shared_memory() - before), *shell.temporary.glob("halftrip-job-*")):
            with contextlib.suppress(FileNotFoundError):
                os.utime(path, (0, 0))
        remove_left_behind(parents=[SHARED_MEMORY, shell.temporary])

    def left():
        return sorted(map(str, unused(shared_memory() - before)))

    until(lambda: not left(), lambda: f"shared memory is left: {left()}", END_SECONDS)


def check_others_go_on(victim, pid, number):
    """Of several launches the one that has lost a process is named at once, and the next begins."""
    launches = victim.count(b'"record":"launch"')
    os.kill(pid, number)
    until(
        lambda: victim.process.poll() is not None or victim.count(b'"record":"launch"') > launches,
        "no other launch",
        END_SECONDS,
    )
    ended = victim.wait()
    assert ended.run.interrupted is None
    (said,) = [each for each in ended.warnings if "launch" in each]
    assert re.match(r"halftrip: warning: launch \d of MINE=\w: .* (died|was killed by \w+)", said)
    assert (ended.status, ended.err) == (1, "")
    assert "failed: MINE" in ended.out
    assert victim.shell.marked.await_end(END_SECONDS) == []
