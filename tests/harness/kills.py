"""Who is killed, by which signal and when, as a seed draws; and what becomes of the run."""

import contextlib
import os
import signal

import psutil

# How many seeds there are, from which on; of jobs of srun, and of hosts of the lab, a fifth.
KILLS = int(os.environ.get("KILLS", "12"))
FIRST = int(os.environ.get("FIRST_KILL", "0"))
LATEST_SECONDS = 1.5
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# One launch: nothing is left to be measured after the first ranks have ended.
BETWEEN_HOSTS = ("-s", "8,64K", "--ci", "none", "--time", "20s", "-t", "tcp")


def victims(victim, server, has_one_launch):
    """The processes of the run at this moment: the command itself, and what it and the server have
    started, without MPICH's proxies. These pass on what is printed; a run whose ranks have started
    ends well without them."""
    command = psutil.Process(victim.process.pid)
    children = [each for each in command.children(recursive=True) if "proxy" not in _name(each)]
    forks = any(_name(each).startswith("halftrip:") for each in children)
    if forks and has_one_launch:
        # What has forked its ranks is not needed any more.
        children = [each for each in children if not _forks_ranks(each)]
    return [command, *children, *(server.ranks() if server is not None else ())]


def choose(draw, processes, number):
    """The one of these that gets a signal: the first, the command, as often as all others
    together."""
    # An mpiexec, and a runtime, may catch other signals as they end, and nothing has happened.
    others = [each for each in processes[1:] if number == signal.SIGKILL or is_rank(each)]
    return processes[0] if not others or draw.random() < 0.5 else draw.choice(others)


def _forks_ranks(process):
    with contextlib.suppress(psutil.Error):
        return "halftrip.job.fork_server" in process.cmdline() and "python" in process.name()
    return False


def has_forked(process):
    """Whether this is what forks ranks, and has done so since it was looked at: then it has nothing
    more to do. Else it does no more, until it is killed."""
    if not _forks_ranks(process):
        return False
    process.suspend()
    forked = [each for each in process.parent().children() if each != process]
    forked += process.children()
    if any("halftrip.job.fork_server" in each.cmdline() for each in forked):
        process.resume()
        return True
    return False


def _name(process):
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def is_rank(process):
    """Whether it is one, by now or soon."""
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        return words[-1:] == ["halftrip.job.worker"] and "python" in words[0]
    return False


def check_end(kind, ended, number, is_command):
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
