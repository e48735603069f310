"""What has changed between two runs whose network is known: a delay, and what a packet may hold."""

import json

import pytest

from lab import hosts
from lab.hosts import run
from lab.relay import Rule

pytestmark = pytest.mark.extended

ADDED_NS = 1_000_000
# How often it is measured anew where others have the cores, and nothing can be told.
RUNS = 4


def halftrip(lab, shell, *arguments):
    """``halftrip ARGUMENTS`` on the first host, before all else that this machine does."""
    return shell.halftrip(*arguments, prefix=(*hosts.FIRST, *lab.hosts[0].prefix()))


def measure(lab, shell, name, *arguments):
    """``halftrip run ARGUMENTS`` on both hosts, into the file of that name."""
    names = ",".join(host.name for host in lab.hosts)
    where = ("--hosts", names, "--ssh", str(lab.agent), "--retest", "0")
    (shell.directory / name).unlink(missing_ok=True)
    result = halftrip(lab, shell, "run", *arguments, *where, "-q", "-o", name)
    assert result.status == 0, result.err


def compared(lab, shell, *arguments):
    """The rows of a comparison, and its status."""
    result = halftrip(lab, shell, "compare", *arguments, "--format", "json")
    ((found,), status) = json.loads(result.out), result.status
    return found["rows"], status


def test_a_millisecond_more_is_found_with_its_size(relayed, shell):
    work = ("-t", "tcp", "-s", "200", "--wait", "spin", "--launches", "3", "--time", "0.2s")
    for name, delay in (("base.jsonl", 2 * ADDED_NS), ("new.jsonl", 3 * ADDED_NS)):
        relayed.relay.rule(Rule(delay=delay))
        measure(relayed, shell, name, *work, "-r", "2")
    (row,), status = compared(relayed, shell, "base.jsonl", "new.jsonl")
    assert (row["verdict"], status) == ("slower", 1)
    added = row["new_latency_ns"] - row["base_latency_ns"]
    assert added == pytest.approx(ADDED_NS, rel=0.1)
    low, high = row["time_ratio_low"], row["time_ratio_high"]
    assert low < row["new_latency_ns"] / row["base_latency_ns"] < high


@pytest.fixture
def two_cables(lab):
    """Two hosts with a second cable between them, whose packets may hold 9000 bytes."""
    first, second = lab.hosts
    devices = [f"w{host.device[1:]}" for host in lab.hosts]
    run("ip", "link", "add", devices[0], "netns", first.name, "mtu", "9000", "type", "veth",
        "peer", "name", devices[1], "netns", second.name, "mtu", "9000")  # fmt: skip
    for number, (host, device) in enumerate(zip(lab.hosts, devices, strict=True), 1):
        host.ip("addr", "add", f"10.78.0.{number}/24", "dev", device)
        host.ip("link", "set", device, "up")
    return lab


def test_larger_packets_matter_for_messages_that_no_longer_need_several(two_cables, shell):
    for _ in range(RUNS):
        measure(
            two_cables, shell, "mtu.jsonl", "-t", "udp", "-s", "64,1K,8000", "--wait", "spin",
            "--launches", "5", "--time", "0.1s", "-r", "2", "--ci", "none",
            "--vary", "interface=10.77.0.0/24,10.78.0.0/24",
        )  # fmt: skip
        rows, _ = compared(two_cables, shell, "mtu.jsonl", "--by", "interface")
        found = {row["size_bytes"]: row for row in rows}
        assert found.keys() == {64, 1024, 8000}
        ratios = {size: row["time_ratio"] for size, row in found.items()}
        # One packet takes the same way over both cables.
        if found[8000]["verdict"] == "faster" and ratios[8000] < min(ratios[64], ratios[1024]):
            return
    pytest.fail(f"six packets in place of one are not found: {rows}")
