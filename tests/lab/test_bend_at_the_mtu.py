"""The MTU of a path between two hosts: a datagram that is longer goes in fragments, the curve bends
there, and the bend moves with the MTU."""

import json

import pytest

pytestmark = pytest.mark.extended

SMALL, LARGE = 1500, 9000
HEADERS = 28
# Around both.
SIZES = (
    "1000,1200,1300,1400,1440,1464,1480,1520,1600,1800,2000,"
    "6000,7000,8000,8500,8800,8960,8980,9100,9600,10500,12000"
)


def measure(lab, shell, mtu, name):
    """A run over paths with this MTU, as `halftrip explain` sees it: the causes near it."""
    for host in lab.hosts:
        host.ip("link", "set", host.device, "mtu", str(mtu))
    names = ",".join(host.name for host in lab.hosts)
    how = ("--hosts", names, "--ssh", str(lab.agent), "--time", "150ms", "--ci", "none")
    result = shell.halftrip(
        *("run", "-o", name, "-t", "udp", "-s", SIZES, "--wait", "spin", *how),
        prefix=lab.hosts[0].prefix(),
    )
    assert result.status == 0, result.err
    found = shell.call("explain", name, "--at", str(mtu - HEADERS), "--format", "json")
    return json.loads(found.out)["curves"][0]["bends"]


def test_a_datagram_in_fragments_takes_longer(lab, shell):
    for mtu in (SMALL, LARGE):
        (bend,) = measure(lab, shell, mtu, f"{mtu}.jsonl")
        assert bend["low_bytes"] <= mtu - HEADERS < bend["high_bytes"]
        assert bend["step"] > 1
        first = bend["causes"][0]
        assert first["name"] in {f"the MTU of {host.device}" for host in lab.hosts}
        assert (first["value_bytes"], first["multiple"]) == (mtu, 1)
        assert "MTU" in first["setting"]
    asked = ("explain", f"{SMALL}.jsonl", "--at", str(SMALL - HEADERS))
    proof = shell.call(*asked, "--moved", f"{LARGE}.jsonl")
    assert "proved" in proof.out, proof.out
    assert proof.status == 0
    refused = shell.call(*asked, "--prove")
    assert refused.status == 2
    assert "halftrip cannot move the MTU" in refused.err
    assert "--moved" in refused.err
