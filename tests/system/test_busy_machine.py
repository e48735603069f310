"""Runs on a machine whose cores another program has, which is named before they begin."""

import json
import os

import pytest

from harness.mpi import ONE_HOST, job
from harness.neighbour import neighbour

# Ends that sleep: two that poll on a core that another one has take seconds to see a message.
SHORT = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "0.5s", "-r", "3")


@pytest.fixture
def core():
    return max(os.sched_getaffinity(0))


def named(result, pid):
    return [line for line in result.warnings if f"(process {pid})" in line]


@pytest.mark.extended
def test_whoever_has_a_core_is_named_where_somebody_asks(shell, core):
    with neighbour(core) as pid:
        result = shell.run(*SHORT, "--cores", f"{core},{core}")
        shell.path.unlink()
        quiet = shell.run("--quiet", *SHORT)
        shell.path.unlink()
        # It would be over before anybody has looked.
        brief = shell.run("-t", "shm", "-s", "8", "--time", "20ms")
    assert result.status == 0
    (line,) = named(result, pid)
    assert line.startswith(f"halftrip: warning: core {core} is busy: ")
    # Nothing else is said of it, and what says what to do is the last line.
    assert "warning" not in result.out
    assert "end these programs" in result.warnings[-1]
    assert quiet.warnings == brief.warnings == []


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
