"""The ranks of a run on this host are forks of one process, and what fresh ones are."""

import contextlib
import os
import re
import signal
from pathlib import Path

import psutil
import pytest

from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.victim import LOCAL, Victim

SERVER = "halftrip.job.fork_server"
# What is varied is in the environment of a rank from its beginning.
FRESH = ("--vary", "env.HALFTRIP_VARIED=1")


def facts(pid):
    """What is the same of ranks that do the same."""
    process, directory = psutil.Process(pid), Path(f"/proc/{pid}")
    status = (directory / "status").read_text()
    links = [os.readlink(link) for link in (directory / "fd").iterdir()]
    return {
        # Others of its own session share their cores with it as with any program of theirs.
        "leads a group": os.getpgid(pid) == pid,
        "is in the session of the command": os.getsid(pid) == os.getsid(process.ppid()),
        "signals": re.findall(r"Sig(?:Ign|Cgt|Blk):\s*(\w+)", status),
        "input": os.readlink(directory / "fd/0"),
        # Sockets, pipes and the directories of threads have numbers.
        "files": sorted(re.sub(r"\d+", "N", link) for link in links),
        "threads": process.num_threads(),
        "name": process.name(),
        "directory": process.cwd(),
        "nice": process.nice(),
    }


def test_a_forked_rank_is_what_a_fresh_one_is(shell):
    found = []
    for options, module in (((), SERVER), (FRESH, "halftrip.job.worker")):
        victim = Victim(shell, "-t", "shm", "-s", "8", "--ci", "none", "--time", "60s", *options)
        victim.await_work(0)
        ranks = [victim.rank(number) for number in (0, 1)]
        assert all(module in psutil.Process(pid).cmdline() for pid in ranks)
        assert {psutil.Process(pid).ppid() for pid in ranks} == {victim.process.pid}
        found.append([facts(pid) for pid in ranks])
        victim.interrupt()
        shell.path.unlink()
    forked, fresh = found
    assert forked == fresh
    assert all(each["leads a group"] for each in forked)
    assert all(each["is in the session of the command"] for each in forked)


def await_server(victim):
    """The process that forks ranks, stopped before it does."""
    found = []

    def is_there():
        found.extend(victim._started(lambda words: SERVER in words))
        return found

    victim._await(is_there, "no server")
    os.kill(found[0].pid, signal.SIGSTOP)
    return found[0].pid


def test_whoever_kills_the_process_that_forks_is_named(shell):
    victim = Victim(shell, *LOCAL)
    pid = await_server(victim)
    # Its end is noticed when its forks are asked for.
    victim.await_file()
    ended = victim.kill(pid, seconds=AMPLE_SECONDS)
    said = f"the process that forks ranks (process {pid}) was killed by SIGKILL"
    assert (ended.status, ended.err) == (1, f"halftrip: {said}\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_ends_while_it_starts_leaves_no_process(shell, number):
    victim = Victim(shell, *LOCAL)
    pid = await_server(victim)
    victim.await_file()
    os.kill(victim.process.pid, number)
    # The command may have ended it by now.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    victim.wait(END_SECONDS)
    assert shell.marked.await_end(END_SECONDS) == []
