"""Dragon's real runtime: ranks that it starts, ranks that attach to it, a command that it starts;
what fails, and what is left of it."""

import os
import signal
import sys
import time
from collections import Counter

import pytest

from harness.choice import FULL, drawn
from harness.limits import DRAGON_SECONDS
from harness.shell import HALFTRIP
from harness.victim import Victim

BRIEFLY = ("--time", "10ms", "-r", "1")
# Starts a runtime on this node, as `dragon -s` does.
RUNTIME = (sys.executable, "-m", "dragon", "-s")
# Much to measure: what happens to it happens in its midst.
_WORK = ("-s", "8,64K", "--ci", "none", "--time", "20s", "-r", "1000")
LAUNCHERS = {"dragon": (), "attached": ("--launcher", "local")}


@pytest.mark.extended
def test_every_byte_arrives_over_channels_pipes_and_queues(shell):
    ways = ("-p", "pingpong,stream,exchange,bidirectional", "--window", "4")
    result = shell.measure(
        *("-t", "dragon,dragon-pipe,dragon-queue", "--object", "buffer,bytes,array,dict"),
        *("-s", "1000,70000", "--verify", *ways, *BRIEFLY),
    )
    found = Counter()
    patterns = {}
    for row in result.rows():
        found[row["transport"], row["pattern"], row["object"]] += int(row["verified"])
        of_path = patterns.setdefault((row["transport"], row["object"]), set())
        of_path.add(row["pattern"])
    assert all(found.values())
    one_way = {"pingpong", "stream"}
    assert patterns == {
        ("dragon", "buffer"): one_way | {"exchange", "bidirectional"},
        **{("dragon-pipe", sent): one_way for sent in ("buffer", "bytes", "array", "dict")},
        **{
            ("dragon-queue", sent): one_way | {"exchange", "bidirectional"}
            for sent in ("bytes", "array", "dict")
        },
    }
    skipped = {skip.transport: skip.reason for skip in result.run.skips}
    assert skipped["dragon-queue"] == "--object buffer: dragon-queue has bytes, array, dict"


@pytest.mark.extended
@pytest.mark.parametrize(("wait", "ownership"), [("spin:block", "keep"), ("adaptive", "transfer")])
def test_ranks_of_another_launcher_attach_to_a_runtime_beside_them(shell, wait, ownership):
    settings = ("--wait", wait, "--ownership", ownership, "-p", "pingpong,stream", "--window", "4")
    result = shell.measure(
        *("--launcher", "local", "-t", "shm,dragon", "-s", "8,1M", "--verify"), *settings, *BRIEFLY
    )
    rows = [row for row in result.rows() if row["transport"] == "dragon"]
    assert [(row["pattern"], row["size_bytes"]) for row in rows] == [
        ("pingpong", "8"), ("pingpong", str(1 << 20)), ("stream", "8"), ("stream", str(1 << 20)),
    ]  # fmt: skip
    assert {(row["wait"], row["ownership"]) for row in rows} == {(wait, ownership)}
    assert all(int(row["verified"]) for row in rows)


def test_a_command_that_dragon_has_started_measures_in_its_runtime(shell):
    result = shell.execute(
        *RUNTIME, HALFTRIP, "run", "-o", "run.jsonl", "-t", "shm,dragon", "-s", "8", *BRIEFLY
    )
    assert result.status == 0, result.err
    assert [row["transport"] for row in result.rows()] == ["shm", "dragon"]
    assert "verdict" in result.out


# What fails.

_SAYS_WHY = """#!/bin/sh
echo 'Traceback (most recent call last):'
echo 'RuntimeError: there is no place for a dragon here' >&2
exit 3
"""


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        ((), "ended with status 3: there is no place for a dragon here"),
        (LAUNCHERS["attached"], "the Dragon runtime: there is no place for a dragon here"),
    ],
)
def test_a_runtime_that_does_not_start_is_quoted_and_the_rest_measured(shell, launcher, said):
    dragon = shell.script("dragon", _SAYS_WHY)
    result = shell.measure("-t", "shm,dragon", "-s", "8", "--dragon", dragon, *launcher, *BRIEFLY)
    assert [row["transport"] for row in result.rows()] == ["shm"]
    (skip,) = result.run.skips
    assert skip.transport == "dragon"
    assert skip.reason.endswith(said)


# What is killed. Each case starts a runtime: of some there is one, with FULL=1 all.


def measuring(shell, *options):
    victim = Victim(shell, *_WORK, *options)
    victim.await_measurements(2)
    return victim


def killed(victim, pid, number=signal.SIGKILL):
    """How a run over Dragon ends after a signal to one of its processes."""
    ended = victim.kill(pid, number, DRAGON_SECONDS)
    assert ended.status == (130 if number == signal.SIGINT else 1)
    return ended.err


@pytest.mark.extended
@pytest.mark.parametrize(
    ("transport", "launcher"),
    [
        ("dragon", "dragon"),
        *drawn(
            [("dragon-queue", "dragon"), ("dragon", "attached"), ("dragon-queue", "attached")], 1
        ),
    ],
)
def test_a_killed_rank_ends_the_run_and_the_runtime(shell, transport, launcher):
    victim = measuring(shell, "-t", transport, *LAUNCHERS[launcher])
    pid = victim.rank(1)
    assert f"rank 1 (process {pid})" in killed(victim, pid)


@pytest.mark.extended
@pytest.mark.parametrize("launcher", LAUNCHERS if FULL else ["attached"])
def test_a_killed_runtime_is_named(shell, launcher):
    victim = measuring(shell, "-t", "dragon", *LAUNCHERS[launcher])
    pid = victim.runtime()
    assert killed(victim, pid) == f"halftrip: dragon (process {pid}) was killed by SIGKILL\n"


@pytest.mark.extended
@pytest.mark.parametrize("launcher", LAUNCHERS if FULL else ["dragon"])
def test_a_runtime_that_hangs_does_not_hold_up_the_end(shell, launcher):
    victim = measuring(shell, "-t", "dragon", *LAUNCHERS[launcher])
    os.kill(victim.runtime(), signal.SIGSTOP)
    killed(victim, victim.process.pid, signal.SIGINT)


@pytest.mark.extended
@pytest.mark.parametrize("seconds", [None, 0.5, 1.5] if FULL else [None, 0.5])
@pytest.mark.parametrize("launcher", LAUNCHERS if FULL else ["attached"])
def test_the_runtime_of_a_killed_command_ends(shell, launcher, seconds):
    """While it measures, and so long after its runtime has begun to start."""
    victim = Victim(shell, *_WORK, "-t", "dragon", *LAUNCHERS[launcher])
    if seconds is None:
        victim.await_measurements(2)
    else:
        victim.await_runtime()
        time.sleep(seconds)
    ended = victim.kill(victim.process.pid, seconds=DRAGON_SECONDS)
    assert ended.status == -signal.SIGKILL
    assert seconds is not None or "the launcher" in ended.err
