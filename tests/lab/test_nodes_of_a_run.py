"""A host whose rate is lower falls short in the line that a prolog reads, and its peers do not."""

import json

import pytest

from lab import hosts

pytestmark = pytest.mark.extended


@pytest.fixture
def four(tmp_path):
    """Four hosts on a switch, each with the same rate."""
    hosts.need_hosts()
    with hosts.cabled(tmp_path, count=4) as made:
        for host in made.hosts:
            host.limit(200_000_000, burst=16384)
        yield made


def measure(lab, shell, *arguments):
    names = ",".join(host.name for host in lab.hosts)
    return shell.run(
        *(
            "-t",
            "tcp",
            "-s",
            "64K",
            "--time",
            "600ms",
            "-r",
            "6",
            "--ci",
            "none",
            "--concurrent-pairs",
            "1",
        ),
        *("--hosts", names, "--ssh", str(lab.agent), *arguments),
        prefix=lab.hosts[0].prefix(),
    )


def test_a_host_with_less_rate_than_in_the_baseline_is_short(four, shell):
    names = [host.name for host in four.hosts]
    first = measure(four, shell)
    assert first.status == 0, first.err
    base = first.path.rename(shell.directory / "base.jsonl")
    four.hosts[2].limit(25_000_000, burst=16384)
    options = ("--baseline", base.name, "--tolerance", "30%", "--format", "nodes")
    result = measure(four, shell, *options)
    assert result.status == 1
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [each["host"] for each in found] == names
    assert [each["verdict"] for each in found] == ["ok", "ok", "short", "ok"]
    short = found[2]
    assert (short["links"], short["short_links"] + short["unsure_links"]) == (3, 3)
    assert "on 3 of its 3 links" in short["reason"]
    (slow,) = short["slow"]
    # A message goes one way at an eighth of the rate.
    assert 1.5 < slow["low"] <= slow["factor"] <= slow["high"]
    assert short["losses"]["segments"] > 0
    assert result.show(*options).out == result.out
