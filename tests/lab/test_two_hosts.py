"""Ranks on two hosts: TCP, UDP and MPI between them, and nothing that needs a common memory."""

import os
import signal
import subprocess
import time

import pytest

from halftrip.results.run_file import load

WORK = ("-t", "mpi,shm,pipe,unix,tcp,udp", "-s", "8,32K", "--time", "30ms")


def check_measured(result, lab):
    assert result.status == 0, result.err
    run = result.run
    assert run.interrupted is None
    assert [e.host for e in run.environments] == [host.name for host in lab.hosts]
    assert {m.case.transport for m in run.measurements} == {"mpi", "tcp", "udp"}
    assert {skip.transport for skip in run.skips} == {"shm", "pipe", "unix"}
    assert {skip.reason for skip in run.skips} == {"the ranks are on different hosts"}
    assert all(m.cache_line_rtts == [] for m in run.measurements)
    # Over the cable, not over loopback: a wake-up on the other side at least.
    assert all(min(m.samples) / m.exchanges > 2000 for m in run.measurements)


@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
def test_a_job_on_two_hosts_is_joined(lab, shell, name):
    prefix = (*lab.hosts[0].prefix(), *lab.across(name), "-n", "2")
    check_measured(shell.run(*WORK, prefix=prefix), lab)


@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
def test_ranks_are_started_on_two_hosts(lab, shell, name):
    command = " ".join(lab.across(name))
    check_measured(shell.run(*WORK, "--mpiexec", command, prefix=lab.hosts[0].prefix()), lab)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_rank_on_the_other_host_is_killed(lab, shell, name):
    path = shell.directory / "run.jsonl"
    command = shell.command(
        *("run", "-o", path, "-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s"),
        *("--mpiexec", " ".join(lab.across(name))),
        prefix=lab.hosts[0].prefix(),
    )
    process = subprocess.Popen(
        command,
        cwd=shell.directory,
        env=shell.environment | shell.as_root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_bytes().count(b'"environment"') == 2):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.5)
    pid = load(path).environments[1].pid
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert err == f"halftrip: rank 1 (process {pid}) died\n"
    while shell.left_behind() and time.monotonic() - began < 5:
        time.sleep(0.05)
