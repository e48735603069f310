"""What real runs have cost, by every counter: with real sockets, MPIs, neighbours and the log."""

import itertools
import json
import os
import re

import numpy as np
import pytest

import halftrip
from halftrip.analysis.flags import verdicts
from harness.neighbour import neighbour
from harness.shell import mpiexec
from lab.hosts import need

# A loopback interface that nobody else uses.
ALONE = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
# 20 bytes of IP, 20 of TCP and 12 of its timestamps; the loopback interface counts no Ethernet.
TCP_HEADERS = 52
LOG = ("--ci", "none", "--system-log")


def sent(measurement):
    """Payload that went each way in the kept samples of a measurement and the warm-up, bytes; what
    leads in to blocks of the latter is not counted."""
    case = measurement.case
    exchanges = measurement.warm_up.exchanges + measurement.usage[0].exchanges
    return exchanges * case.window * case.size


@pytest.mark.parametrize(
    "arguments", [("-p", "stream", "-s", "64K", "--window", "4"), ("-s", "1000")]
)
def test_tcp_costs_system_time_and_goes_through_lo(shell, arguments):
    need(os.geteuid() == 0, "an own loopback interface needs root")
    result = shell.run("-t", "tcp", *arguments, "--time", "1s", *LOG, prefix=ALONE)
    assert result.status == 0, result.err
    (m,) = result.run.measurements
    for usage in m.usage:
        assert usage.system > 0
        assert not usage.is_busy_poll
        # Of what takes little time there are few ticks to tell by.
        assert usage.kernel_share > 0.3 or usage.busy < 0.3
    (log,) = (system for system in result.run.host_counters if system.phase == "case")
    lo = log.interfaces["lo"]
    # Whatever is sent there comes in again.
    assert lo["bytes_in"] == lo["bytes_out"]
    assert lo["packets_in"] == lo["packets_out"]
    payload = sent(m) * (2 if m.case.pattern == "pingpong" else 1)
    carried = lo["bytes_out"] - TCP_HEADERS * lo["packets_out"]
    assert payload <= carried <= 1.01 * payload
    if m.case.pattern == "pingpong":
        # One each way.
        assert lo["packets_out"] == pytest.approx(2 * sent(m) / m.case.size, rel=0.02)
    shown = shell.halftrip("show", "run.jsonl", "--system-log")
    assert shown.status == 0, shown.err
    assert f" {lo['packets_out']:,} " in shown.out
    assert f" {lo['bytes_out']:,} " in shown.out


def test_shm_costs_no_system_time_and_is_a_busy_poll(shell):
    result = shell.run("-t", "shm", "-s", "8", "--time", "2s", *LOG)
    assert result.status == 0, result.err
    (m,) = result.run.measurements
    for usage in m.usage:
        assert usage.kernel_share < 0.03
        assert usage.hardly_sleeps
    (log,) = (system for system in result.run.host_counters if system.phase == "case")
    assert log.interfaces["lo"]["bytes_out"] < 0.01 * sent(m)
    shown = shell.halftrip("show", "run.jsonl", "--usage")
    assert shown.status == 0, shown.err
    # Each end that is, and the legend.
    assert shown.out.count("busy-poll") == 1 + sum(usage.is_busy_poll for usage in m.usage)
    # It has its core, or waits for it. What is stolen is told in steps.
    assert all(usage.is_busy_poll for usage in m.usage if (usage.stolen_share or 0.0) < 0.03)


@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_a_busy_neighbour_is_flagged_with_its_share(shell, transport):
    cores = sorted(os.sched_getaffinity(0))[:2]
    pinned = ("--cores", ",".join(map(str, cores)))
    with neighbour(cores[1]) as pid:
        result = shell.run(
            "-t", transport, "-s", "8", "--time", "0.5s", "--ci", "none", *pinned
        )  # fmt: skip
    assert result.status == 0, result.err
    run = result.run
    (flags,) = verdicts(run).values()
    (seen,) = (flag.seen for flag in flags if flag.name == "disturbed")
    # Somebody else may have had the other core.
    said = re.search(
        rf"others had core {cores[1]} \(rank 1\) for ([\d.]+) % of the time; "
        rf"just after, .+ \(process {pid}\) had ([\d.]+) %",
        seen,
    )
    assert said is not None, seen
    assert 25 < float(said[1]) < 97
    assert 25 < float(said[2]) <= 100
    (m,) = run.measurements
    assert m.usage[1].core.others > 0.25 * m.usage[1].core.watched
    assert all(block.usage is not None for block in m.blocks)
    assert "disturbed" in result.out
    assert f"(process {pid})" in shell.halftrip("show", "run.jsonl", "--flags").out


@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
def test_a_job_that_was_joined_says_what_it_cost(shell, name):
    result = shell.run(
        "-t", "mpi,tcp", "-s", "8,64K", "--time", "50ms", *LOG, prefix=(mpiexec(name), "-n", "2")
    )
    assert result.status == 0, result.err
    run = result.run
    assert len(run.measurements) == 4
    for m in run.measurements:
        assert [usage.core.number for usage in m.usage] == [e.core for e in run.environments]
        assert all(usage.busy > 0 for usage in m.usage)
        assert all(block.usage is not None for block in m.blocks)
    # One record a host, although there are two ranks.
    assert [s.phase for s in run.host_counters if s.phase != "case"] == ["before", "after"]
    assert {case for s in run.host_counters for case in s.cases} == set(run.by_case)


def test_the_log_is_quiet_before_and_after_and_whole_in_between(shell):
    result = shell.run("-t", "tcp,shm,pipe", "-s", "8,1K,64K", "--time", "60ms", "-r", "2", *LOG)
    assert result.status == 0, result.err
    run = result.run
    before, *between, after = run.host_counters
    assert (before.phase, after.phase) == ("before", "after")
    for idle in (before, after):
        assert 1.0 <= idle.seconds < 1.5
        assert idle.cases == []
    # Each case of each repetition is in one record, and each record ends where the next begins.
    logged = [
        pair for system in between for pair in zip(system.repetitions, system.cases, strict=True)
    ]
    measured = [(m.repetition, m.case) for m in run.measurements]
    assert logged == measured
    for one, other in itertools.pairwise(between):
        assert other.at >= one.at + one.seconds - 1e-3
    for system in between:
        those = set(zip(system.repetitions, system.cases, strict=True))
        times = [m.at for m in run.measurements if (m.repetition, m.case) in those]
        assert all(system.at <= at <= system.at + system.seconds for at in times)
    idle = [
        system.cpus["all"]["idle"] / sum(system.cpus["all"].values())
        for system in run.host_counters
    ]
    assert idle[0] > np.median(idle[1:-1])
    assert run.notices == ()


@pytest.mark.parametrize(
    "arguments", [("--preset", "quick"), ("-t", "shm", "-s", "8", "--time", "10ms", "-r", "100")]
)
def test_the_log_costs_less_than_a_hundredth_of_the_time(shell, arguments):
    """Of that in which anything was done, also where cases are as short as they get."""
    result = shell.run(*arguments, "--system-log", timeout=120)
    assert result.status == 0, result.err
    run = result.run
    rest = sum(system.seconds for system in run.host_counters if system.phase != "case")
    assert 0 < run.end.logged < 0.01 * (run.end.seconds - rest)
    # The bounds that are measured after the last case are of none.
    *_, last, after = run.host_counters
    assert (last.phase, after.phase) == ("case", "after")
    copied = sum(copy.ns for copy in run.copy_times) * 1e-9
    assert after.at - (last.at + last.seconds) > copied > 0
    out = shell.halftrip("show", "run.jsonl", "--system-log").out
    assert f"of the run's {run.end.seconds:.1f} s" in out


def test_a_preset_s_log_can_be_left_out(shell):
    arguments = ("--preset", "paper", "-t", "shm", "-s", "8", "--launches", "1", "-r", "1")
    for without in ((), ("--no-system-log",)):
        result = shell.run(*arguments, "--time", "50ms", *without)
        assert result.status == 0, result.err
        assert bool(result.run.host_counters) == (not without)
        result.path.unlink()


def test_programs_get_what_it_cost_and_python_too(shell):
    result = shell.run("-t", "tcp", "-s", "64K", "--time", "50ms")
    assert result.status == 0, result.err
    (row,) = json.loads(shell.halftrip("show", "run.jsonl", "--style", "json").out)["rows"]
    (usage, _) = result.run.measurements[0].usage
    assert row["initiator_load"] == pytest.approx(usage.load)
    assert row["responder_system_s"] > 0
    assert row["initiator_busy_poll"] is False
    frame = halftrip.load(result.path).frame()
    assert frame["initiator_cpu_s_per_gb"].tolist() == [row["initiator_cpu_s_per_gb"]]
    assert result.run.host_counters == ()


def test_views_that_have_no_such_style_say_so(shell):
    assert shell.run("-t", "shm", "-s", "8", "--time", "20ms").status == 0
    for view, said in (("usage", "in every row"), ("system-log", "the run file is JSON itself")):
        result = shell.halftrip("show", "run.jsonl", f"--{view}", "--style", "csv")
        assert result.status == 2
        assert said in result.err
        assert result.err.count("\n") == 1
    result = shell.halftrip("show", "run.jsonl", "--usage", "--rtt")
    assert (result.status, result.out) == (2, "")
    assert result.err == "halftrip: --rtt: --usage shows no latency; leave it out\n"
    both = shell.halftrip("show", "run.jsonl", "--usage", "--system-log")
    assert both.status == 0
    assert "busy-poll:" in both.out
    assert "no system log: " in both.out


def test_what_is_only_thought_of_costs_nothing_and_has_no_log(shell):
    result = shell.run("-t", "simulated", "-s", "8", "--system-log", timeout=10)
    assert result.status == 0, result.err
    assert result.run.host_counters == ()
    assert result.run.measurements[0].usage is None
    assert shell.halftrip("show", "run.jsonl", "--usage").out.startswith("no usage: ")
    shown = shell.halftrip("show", "run.jsonl", "--system-log").out
    assert shown == "no system log: what is simulated is on no host\n"
