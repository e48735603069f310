"""What real runs have cost, by every counter: with real sockets, neighbours and the system log."""

import itertools
import os
import re

import numpy as np
import pytest

from halftrip.analysis.flags import flags_by_configuration
from halftrip.registry import DEFAULT_TRANSPORTS
from halftrip.results.usage import add_both_ends, add_usages
from harness.mpi import ONE_HOST
from harness.need import can_unshare, need
from harness.neighbour import cpu_seconds, neighbour
from harness.shell import opened_shell

# A loopback interface that nobody else uses.
ALONE = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
# 20 bytes of IP, 20 of TCP and 12 of its timestamps; the loopback interface counts no Ethernet.
TCP_HEADERS = 52
# After so long without data an end of a TCP path asks whether the other host is still there.
KEEPALIVE_SECONDS = 2
LOG = ("--ci", "none", "--system-log")
PATTERNS = [
    pytest.param(("-p", "stream", "-s", "64K", "--window", "4"), id="stream"),
    pytest.param(("-s", "1000"), id="pingpong", marks=pytest.mark.extended),
]


# Exchanges that no measurement counts: the untimed ones before each block of two slices.
UNCOUNTED = 200


def iterations(measurements):
    """How many iterations the kept samples of measurements and their warm-up have."""
    return sum(m.warm_up.iterations + m.usage[0].iterations for m in measurements)


def sent(measurements):
    """The payload of those iterations that went each way, bytes."""
    (each,) = {m.configuration.window * m.configuration.size for m in measurements}
    return iterations(measurements) * each


@pytest.fixture(scope="module", params=PATTERNS)
def logged(request, tmp_path_factory):
    """A run through memory and through TCP, with a system log, on a loopback interface of its own
    where that is possible."""
    with opened_shell(tmp_path_factory.mktemp("logged")) as shell:
        alone = ALONE if can_unshare("-n") else ()
        arguments = ("-t", "shm,tcp", *request.param, "--time", "1.4s", "-r", "2")
        result = shell.run(*arguments, *LOG, prefix=alone)
        assert result.status == 0, result.err
        yield result


def of(run, transport):
    return [m for m in run.measurements if m.configuration.transport == transport]


def logs(run, phase):
    return [counters for counters in run.host_counters if counters.phase == phase]


def test_tcp_costs_system_time(logged):
    for usage in itertools.chain(*(m.usage for m in of(logged.run, "tcp"))):
        assert usage.system > 0
        assert not usage.is_busy_poll
        # Of what takes little time there are few ticks to tell by.
        assert usage.kernel_share > 0.3 or usage.busy < 0.3


def test_shared_memory_costs_no_system_time_and_is_a_busy_poll(logged):
    found = list(itertools.chain(*(m.usage for m in of(logged.run, "shm"))))
    for usage in found:
        assert usage.kernel_share < 0.03
        assert usage.hardly_sleeps
        # It has its core, or waits for it. What is stolen is told in steps.
        assert usage.is_busy_poll or (usage.steal_share or 0.0) >= 0.03
    shown = logged.show("--cost")
    assert shown.status == 0, shown.err
    # Once in the legend, and once for every such end of a row, which is of all slices.
    ends = zip(*(m.usage for m in of(logged.run, "shm")), strict=True)
    polls = sum(add_usages(usages).is_busy_poll for usages in ends)
    assert shown.out.count("busy-poll") == 1 + polls


def test_the_log_counts_what_went_through_the_interface(logged):
    need(can_unshare("-n"), "a loopback interface of its own needs root, and unshare")
    run = logged.run
    counted = [counters.interfaces["lo"] for counters in logs(run, "during")]
    total = {name: sum(each[name] for each in counted) for name in counted[0]}
    # Whatever is sent there comes in again.
    assert total["bytes_in"] == total["bytes_out"]
    assert total["packets_in"] == total["packets_out"]
    (pattern,) = {m.configuration.pattern for m in run.measurements}
    payload = sent(of(run, "tcp")) * (2 if pattern == "pingpong" else 1)
    carried = total["bytes_out"] - TCP_HEADERS * total["packets_out"]
    uncounted = UNCOUNTED * payload / iterations(of(run, "tcp"))
    assert payload <= carried <= payload + min(uncounted, 0.01 * payload)
    # Nothing of shared memory's.
    assert sent(of(run, "shm")) > uncounted
    if pattern == "pingpong":
        # A packet for each message, there and back.
        packets = 2 * iterations(of(run, "tcp"))
        assert packets <= total["packets_out"] <= 1.02 * packets + 2 * UNCOUNTED
    (before,), (after,) = logs(run, "before"), logs(run, "after")
    used = max(m.at + m.usage[0].elapsed for m in of(run, "tcp"))
    # The last acknowledgement of each end; or a probe of each end and its answer.
    most = 2 if after.at + after.seconds - used < KEEPALIVE_SECONDS else 4
    for idle, packets in ((before, 2), (after, most)):
        lo = idle.interfaces["lo"]
        assert lo["packets_out"] <= packets
        assert lo["bytes_out"] <= TCP_HEADERS * lo["packets_out"]
    shown = logged.show("--system-log")
    assert shown.status == 0, shown.err
    for each in counted:
        assert f" {each['packets_out']:,} " in shown.out
        assert f" {each['bytes_out']:,} " in shown.out


def test_the_log_is_whole_between_a_second_of_rest_before_and_after(logged):
    run = logged.run
    before, *between, after = run.host_counters
    assert (before.phase, after.phase) == ("before", "after")
    for idle in (before, after):
        assert 1.0 <= idle.seconds < 1.5
        assert idle.configurations == []
    # Each configuration of each slice is in one record, and each record ends where the next begins.
    in_log = [
        pair
        for system in between
        for pair in zip(system.slices, system.configurations, strict=True)
    ]
    assert in_log == [(m.slice, m.configuration) for m in run.measurements]
    for one, other in itertools.pairwise(between):
        assert other.at >= one.at + one.seconds - 1e-3
    for system in between:
        configurations = set(zip(system.slices, system.configurations, strict=True))
        times = [m.at for m in run.measurements if (m.slice, m.configuration) in configurations]
        assert all(system.at <= at <= system.at + system.seconds for at in times)
    assert run.notices == ()


@pytest.mark.extended
def test_the_rest_before_is_idler_than_the_configurations(shell):
    """Somebody else may have all cores in that second: then it is tried again."""
    arguments = ("-t", "tcp,shm,pipe", "-s", "8,1K,64K", "--time", "60ms", "-r", "2")
    for _ in range(5):
        result = shell.run(*arguments, *LOG)
        assert result.status == 0, result.err
        before, *between, _ = (counters.cpus["all"] for counters in result.run.host_counters)
        idle = [cpus["idle"] / sum(cpus.values()) for cpus in (before, *between)]
        if idle[0] > np.median(idle[1:]):
            return
        result.path.unlink()
    need(idle[0] > 0.1, "others have all cores of this machine")
    pytest.fail(f"the rest is not idler: {idle}")


@pytest.mark.extended
def test_a_busy_neighbour_is_flagged_with_its_share(shell):
    """Somebody else may want the same core as the neighbour that this test has put there: then it
    is the busier of the two that is named."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    with neighbour(cores[1]) as pid:
        before = cpu_seconds()
        result = shell.run(
            *("-t", "shm,tcp", "-s", "8", "--time", "0.5s", "--ci", "none"),
            *("--cores", ",".join(map(str, cores))),
        )
        took = {task: total - before.get(task, 0.0) for task, total in cpu_seconds().items()}
    assert result.status == 0, result.err
    run = result.run
    assert len(run.by_configuration) == 2
    shown = result.show("--flags").out
    for configuration, flags in flags_by_configuration(run).items():
        (seen,) = (flag.seen for flag in flags if flag.name == "disturbed")
        # Somebody else may have had the other core.
        said = re.search(
            rf"others had core {cores[1]} \(rank 1\) for ([\d.]+) % of the time; "
            r"just after, .+ \(process (\d+)\) had ([\d.]+) %",
            seen,
        )
        assert said is not None, seen
        named = int(said[2])
        assert named == pid or took.get(named, took[pid]) > 0.5 * took[pid], (configuration, seen)
        assert f"(process {named})" in shown
        assert 25 < float(said[1]) < 97
        assert 25 < float(said[3]) <= 100
    for measurements in run.by_configuration.values():
        core = add_both_ends(m.usage for m in measurements)[1].core
        assert core.others > 0.25 * core.watched
        assert all(block.usage is not None for m in measurements for block in m.blocks)
    assert "CPU contention" in result.out


@pytest.mark.extended
@pytest.mark.parametrize(
    "arguments",
    [("--preset", "quick"), ("-t", "shm", "-s", "8", "--time", "1s", "-r", "100", "--ci", "none")],
)
def test_the_log_costs_less_than_a_hundredth_of_the_time(shell, arguments):
    """Of that in which anything was done, also where configurations are as short as they get.
    Reading takes longer while others have the cores: one of several runs has to show it."""
    for _ in range(4):
        shell.path.unlink(missing_ok=True)
        result = shell.run(*arguments, "--system-log", **ONE_HOST)
        run = result.run
        rest = sum(system.seconds for system in run.host_counters if system.phase != "during")
        is_cheap = run.end.logged < 0.01 * (run.end.seconds - rest)
        if result.status == 0 and is_cheap:
            break
    assert result.status == 0, result.err
    assert is_cheap, (run.end, rest)
    assert run.end.logged > 0
    if "--preset" in arguments:
        assert {m.configuration.transport for m in run.measurements} == set(DEFAULT_TRANSPORTS)
    # The bounds that are measured after the last configuration are of none.
    *_, last, after = run.host_counters
    assert (last.phase, after.phase) == ("during", "after")
    copied = sum(copy.ns for copy in run.copy_times) * 1e-9
    assert after.at - (last.at + last.seconds) > copied > 0
    assert f"of the run's {run.end.seconds:.1f} s" in result.show("--system-log").out


@pytest.mark.extended
def test_a_preset_s_log_can_be_left_out(shell):
    arguments = ("--preset", "paper", "-t", "shm", "-s", "8", "--launches", "1", "-r", "1")
    for without in ((), ("--no-system-log",)):
        result = shell.run(*arguments, "--time", "50ms", *without)
        assert result.status == 0, result.err
        assert bool(result.run.host_counters) == (not without)
        result.path.unlink()
