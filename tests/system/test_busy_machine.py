"""Runs on a machine whose cores another program has, which is named before they begin."""

import json
import os

import pytest

from harness.mpi import ONE_HOST, job
from harness.neighbour import neighbour
from harness.shell import HALFTRIP

SHORT = ("-t", "shm", "-s", "8", "--ci", "none", "--time", "0.5s")


@pytest.fixture
def core():
    return max(os.sched_getaffinity(0))


def named(result, pid):
    return [line for line in result.warnings if f"(process {pid})" in line]


def test_whoever_has_a_core_is_named(shell, core):
    with neighbour(core) as pid:
        result = shell.run(*SHORT, "--cores", f"{core},{core}")
    assert result.status == 0
    (line,) = named(result, pid)
    assert line.startswith(f"halftrip: warning: core {core} is busy: ")
    # Nothing else is said of it, and what says what to do is the last line.
    assert "warning" not in result.out
    assert "end these programs" in result.warnings[-1]


# A thread of the process that looks is busy meanwhile.
BUSY = """
import threading
from halftrip.telemetry import load
inner = load.look
def look(**options):
    done = threading.Event()
    def work():
        while not done.is_set():
            pass
    threading.Thread(target=work).start()
    try:
        return inner(**options)
    finally:
        done.set()
load.look = look
"""


@pytest.mark.extended
def test_a_run_is_not_its_own_neighbour(shell):
    process = shell.start(HALFTRIP, "run", *SHORT, environment=shell.patched(BUSY))
    _, err = process.communicate()
    assert process.returncode == 0
    assert f"(process {process.pid})" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--quiet", *SHORT),
        ("-t", "simulated", "-s", "8"),
        # It would be over before anybody has looked.
        ("-t", "shm", "-s", "8", "--time", "20ms"),
    ],
)
def test_nothing_is_said_of_it_where_nobody_asks(shell, core, arguments):
    with neighbour(core):
        assert shell.run(*arguments).warnings == []


@pytest.mark.extended
def test_in_a_job_one_rank_says_it(shell, core):
    with neighbour(core) as pid:
        result = shell.run(*SHORT, prefix=job("wheel"), **ONE_HOST)
    assert result.status == 0
    assert len(named(result, pid)) == 1
    # The other rank is none of the others.
    pids = [environment.pid for environment in result.run.environments]
    assert not any(named(result, pid) for pid in pids)


@pytest.mark.extended
def test_the_doctor_names_whoever_has_a_core(shell, core):
    with neighbour(core) as pid:
        result = shell.halftrip("doctor", "--load", "0.5s", "--json")
    assert result.status == 1
    (check,) = [check for check in json.loads(result.out) if check["name"] == "load"]
    assert check["state"] == "warning"
    (seen,) = [each for each in check["load"]["cores"] if each["core"] == core]
    (share,) = [each["share"] for each in seen["programs"] if each["pid"] == pid]
    # Others may be on it, too.
    assert 0.05 < share <= 1.0
    assert check["load"]["seconds"] >= 0.5


def test_the_doctor_wants_a_time(shell):
    result = shell.call("doctor", "--load", "long")
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "halftrip: --load: 'long' is not a time; write 0.3s, 300ms, 2min or seconds\n"
    )
