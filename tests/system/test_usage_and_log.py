"""What real runs have cost, by every counter: with real sockets, neighbours and the system log."""

import itertools
import os
import re

import pytest

from halftrip.results.usage import add_usages
from harness.choice import extended
from harness.flags import flags_of
from harness.need import can_unshare, need
from harness.neighbour import cpu_seconds, neighbour
from harness.shell import opened_shell

# A loopback interface that nobody else uses.
ALONE = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
# 20 bytes of IP, 20 of TCP and 12 of its timestamps; the loopback interface counts no Ethernet.
TCP_HEADERS = 52
# After so long without data an end of a TCP path asks whether the other host is still there.
KEEPALIVE_SECONDS = 2
STREAM = ("-p", "stream", "-s", "64K", "--window", "4")
PINGPONG = ("-s", "1000")
# For so long it is looked at who runs most on a core.
WATCH_SECONDS = 0.02
# Exchanges that no measurement counts: the untimed ones before each block of two slices.
UNCOUNTED = 200


def iterations(measurements):
    """How many iterations the kept samples of measurements and their warm-up have."""
    return sum(m.warm_up.iterations + m.usage[0].iterations for m in measurements)


def sent(measurements):
    """The payload of those iterations that went each way, bytes."""
    (each,) = {m.configuration.window * m.configuration.size for m in measurements}
    return iterations(measurements) * each


@pytest.fixture(scope="module", params=[STREAM, *extended((PINGPONG,))], ids=["s", "p"])
def logged(request, tmp_path_factory):
    """A run through memory and through TCP, with a system log, on a loopback interface of its own
    where that is possible."""
    with opened_shell(tmp_path_factory.mktemp("logged")) as shell:
        alone = ALONE if can_unshare("-n") else ()
        arguments = ("-t", "shm,tcp", *request.param, "--time", "0.5s", "-r", "2")
        result = shell.measure(*arguments, "--ci", "none", "--system-log", prefix=alone)
        yield result


def of(run, transport):
    return [m for m in run.measurements if m.configuration.transport == transport]


def logs(run, phase):
    return [counters for counters in run.host_counters if counters.phase == phase]


def test_tcp_sleeps_and_shared_memory_is_a_busy_poll(logged):
    # Ticks tell which of the time was the kernel's, so that of little there may be none.
    for usage in itertools.chain(*(m.usage for m in of(logged.run, "tcp"))):
        assert usage.busy > 0
        assert not usage.hardly_sleeps
        assert not usage.is_busy_poll
        # Of what takes little time there are few ticks to tell by.
        assert usage.kernel_share > 0.3 or usage.busy < 0.3
    for usage in itertools.chain(*(m.usage for m in of(logged.run, "shm"))):
        assert usage.hardly_sleeps
        # While it waits for its core, the kernel's work for others counts as its own.
        assert usage.kernel_share < 0.03 or usage.waited_share > 0.03
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
    assert payload <= carried <= payload + uncounted
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


@pytest.mark.extended
def test_a_busy_neighbour_is_flagged_with_its_share(shell):
    """Somebody else may want the same core as the neighbour that this test has put there, and have
    it in the moment in which it is looked at: then that is named, and must have run so long."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    with neighbour(cores[1]) as pid:
        before = cpu_seconds()
        result = shell.run(
            # Each launch would warm up anew, beside somebody who has the core.
            *("-t", "shm,tcp", "-s", "8", "--time", "0.5s", "--ci", "none", "--launches", "1"),
            *("--cores", ",".join(map(str, cores))),
        )
        took = {task: total - before.get(task, 0.0) for task, total in cpu_seconds().items()}
    assert result.status == 0, result.err
    assert "CPU contention" in result.out
    found = flags_of(result.run)
    assert len(found) == 2
    for configuration, flags in found.items():
        (seen,) = (flag.seen for flag in flags if flag.name == "disturbed")
        # Somebody else may have had the other core.
        said = re.search(
            rf"other programs had (?:.* and )?([\d.]+) % of core {cores[1]} "
            r"\(just after, .+ \(process (\d+)\) had ([\d.]+) %\)",
            seen,
        )
        assert said is not None, seen
        named = int(said[2])
        ran = float(said[3]) / 100 * WATCH_SECONDS
        assert named == pid or took.get(named, ran) >= 0.9 * ran, (configuration, seen)
        # What the rank itself had of its core was not others'; the kernel tells in steps.
        own = add_usages([m.usage[1] for m in result.run.by_configuration[configuration]])
        assert 25 < float(said[1]) <= 100 * (1 - own.load) + 10
        assert 25 < float(said[3]) <= 100
