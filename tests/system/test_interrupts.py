"""A user who stops a run, and processes that die, at any moment from its start on."""

import itertools
import os
import re
import signal
import time

import pytest

import halftrip
from harness.choice import drawn, extended
from harness.limits import END_SECONDS
from harness.mpi import ONE_HOST
from harness.victim import LOCAL, WITH_MPI, Victim

PACKAGE = re.escape(os.path.dirname(halftrip.__file__))

LAUNCHERS = {"local": LOCAL, "mpiexec": WITH_MPI}
# What can be seen from outside of how far a run is, in this order.
STATES = {
    "handler": Victim.await_handler,
    "file": Victim.await_file,
    "process": Victim.await_process,
    "rank": Victim.await_rank,
    "connection": Victim.await_connection,
    "ranks": Victim.await_ranks,
    "measurement": Victim.await_measurements,
}
NAMED = r"halftrip: .*(died|was killed by SIGKILL)\n"


def stopped(ended, number=signal.SIGINT):
    said = f"stopped by {number.name}"
    return (ended.status, ended.err) == (128 + number, f"halftrip: {said}\n")


@pytest.mark.parametrize(
    ("launcher", "number"),
    [
        ("local", signal.SIGINT),
        ("mpiexec", signal.SIGTERM),
        *extended(("local", signal.SIGTERM), ("local", signal.SIGHUP), ("mpiexec", signal.SIGINT)),
    ],
)
def test_a_stopped_run_says_by_what_and_keeps_what_it_has(shell, launcher, number):
    victim = Victim(shell, *LAUNCHERS[launcher], **ONE_HOST)
    victim.await_measurements(2)
    ended = victim.kill(victim.process.pid, number)
    assert stopped(ended, number)
    assert ended.run.interrupted == f"stopped by {number.name}"
    assert len(ended.run.measurements) >= 2


@pytest.mark.parametrize(
    ("launcher", "state"),
    [
        ("local", "file"),
        *extended(
            ("mpiexec", "rank"),
            *drawn(
                [
                    *(("local", state) for state in STATES if state != "file"),
                    *(("mpiexec", state) for state in STATES if state != "rank"),
                ],
                6,
            ),
        ),
    ],
)
def test_a_run_is_stopped_in_every_state(shell, launcher, state):
    victim = Victim(shell, *LAUNCHERS[launcher], **ONE_HOST)
    STATES[state](victim)
    assert stopped(victim.interrupt())


@pytest.mark.extended
def test_an_interrupt_of_a_terminal_reaches_ranks_as_well(shell):
    """It is sent to all processes of the group, and ends none of them but by the command."""
    victim = Victim(shell, *WITH_MPI, **ONE_HOST)
    victim.await_measurements(2)
    os.killpg(victim.process.pid, signal.SIGINT)
    ended = victim.wait(END_SECONDS)
    assert stopped(ended)
    assert "latency" in ended.out
    assert shell.marked.await_end(END_SECONDS) == []


@pytest.mark.parametrize(
    "state", ["rank", *extended(*drawn(["process", "connection", "ranks", "measurement"], 2))]
)
def test_whoever_dies_while_ranks_start_is_named(shell, state):
    """The youngest process of the run: its mpiexec, or one of its daemons or ranks."""
    victim = Victim(shell, *WITH_MPI, **ONE_HOST)
    STATES[state](victim)
    ended = victim.kill(victim.youngest())
    assert ended.status == 1
    assert re.search(NAMED, ended.err)


@pytest.mark.parametrize(("step", "enough"), extended((10, 8)))
def test_an_interrupt_while_python_starts_prints_nothing_of_ours(shell, step, enough):
    """Held still while it is looked at, the process has one of three states. While Python itself
    starts it catches interrupts and runs nothing of ours yet: there it prints what it likes, or
    prints that it ignores one, in a callback of its import system, and goes on; nobody but Python
    could change that."""
    states = {"nothing caught": 0, "Python's own": 0, "ours": 0}
    for milliseconds in itertools.count(0, step):
        if states["ours"] == enough:
            break
        assert milliseconds < 20_000
        victim = Victim(shell, "-t", "shm", "-s", "8", "--ci", "none", "--time", "60s")
        # Whoever runs the tests in the background ignores interrupts, and so do children at first.
        victim.await_reset()
        time.sleep(milliseconds / 1000)
        pid = victim.process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        ours, caught = victim.catches(signal.SIGTERM), victim.catches(signal.SIGINT)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGCONT)
        ended = victim.wait()
        if ours:
            states["ours"] += 1
            assert stopped(ended)
        elif caught:
            states["Python's own"] += 1
            assert ended.status != 0 or "Exception ignored in" in ended.err
            assert not re.search(rf'File "{PACKAGE}/(?!__init__|__main__)', ended.err)
        else:
            states["nothing caught"] += 1
            assert (ended.status, ended.out, ended.err) == (-signal.SIGINT, "", "")
        assert shell.marked.await_end(END_SECONDS) == []
        victim.path.unlink(missing_ok=True)


@pytest.mark.parametrize("number", [signal.SIGHUP, *extended(signal.SIGINT)])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(shell, number):
    """As for a job in the background of a script, and under nohup; SIGTERM ends it all the same."""
    victim = Victim(shell, *LOCAL, ignored=(number,))
    victim.await_handler()
    assert victim.ignores(number)
    victim.process.send_signal(number)
    victim.await_measurements(1)
    assert victim.ignores(number)
    victim.process.send_signal(number)
    victim.await_measurements(3)
    assert stopped(victim.kill(victim.process.pid, signal.SIGTERM), signal.SIGTERM)


_STOPS_ITSELF = """
import os, pathlib, signal, threading, time, halftrip
def stop():
    path = pathlib.Path("run.jsonl")
    while not (path.exists() and "environment" in path.read_text()):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=stop, daemon=True).start()
try:
    halftrip.run(transport="shm", sizes="8", ci="none", time="60s", output="run.jsonl")
except halftrip.errors.Interrupted as error:
    print(error, halftrip.load("run.jsonl").interrupted, sep="; ")
"""


@pytest.mark.extended
def test_a_stopped_run_is_an_exception_in_python(shell):
    result = shell.program(_STOPS_ITSELF)
    assert (result.status, result.err) == (0, "")
    assert result.out == "stopped by SIGTERM; stopped by SIGTERM\n"
