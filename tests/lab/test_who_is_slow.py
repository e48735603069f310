"""Eight hosts on a switch, of which a host, a link or none is slow: what is slow is named, alone.

TRIALS is how many seeds there are, from 0 on; a seed draws which host or link it is."""

import itertools
import os
import random
from dataclasses import replace

import numpy as np
import pytest

from lab import hosts
from lab.relay import SENT, TCP, Rule

pytestmark = pytest.mark.extended

TRIALS = int(os.environ.get("TRIALS", "1"))
RATE, BURST = 200_000_000, 16384
DELAY_NS = 1_000_000
RUNS = 5
NO_ANSWER = "which host or link is slow cannot be told"
WORK = ("-t", "tcp", "-s", "64K", "--time", "50ms", "-r", "5", "--concurrent-pairs", "1")


@pytest.fixture
def eight(tmp_path):
    """Eight hosts on a switch, each with the same rate."""
    hosts.need_relay()
    with hosts.cabled(tmp_path, count=8) as made:
        for host in made.hosts:
            host.limit(RATE, BURST)
        yield made


def named(lab, shell):
    """What is said to be slow, a line each, and all else that was printed. Where others have the
    cores, no answer is the right answer: it is asked again."""
    names = ",".join(host.name for host in lab.hosts)
    options = ("--hosts", names, "--ssh", str(lab.agent))
    for _ in range(RUNS):
        shell.path.unlink(missing_ok=True)
        result = shell.run(*WORK, *options, prefix=(*hosts.FIRST, *lab.hosts[0].prefix()))
        assert (result.status, result.err) == (0, "")
        assert len(result.run.by_configuration) == 28
        if NO_ANSWER not in result.out:
            break
    return [line for line in result.out.splitlines() if line.startswith("slow ")], result.out


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_host_with_less_rate_is_named_alone(eight, shell, seed):
    slow = random.Random(seed).choice(eight.hosts)
    slow.limit(7 * RATE // 10, BURST)
    said, out = named(eight, shell)
    assert len(said) == 1, out
    assert said[0].startswith(f"slow host: {slow.name}: 1.")
    assert "on all its 7 links" in said[0]


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_link_with_more_delay_is_named_alone(eight, shell, tmp_path, seed):
    ends = random.Random(seed).choice(list(itertools.combinations(eight.hosts, 2)))
    with hosts.detour(*ends, tmp_path) as relay:
        for host in ends:
            replace(host, device=f"t{host.device}").limit(RATE, BURST)
        relay.rule(Rule(delay=DELAY_NS))
        said, out = named(eight, shell)
        packets = relay.journal().packets
    sent = packets[(packets["protocol"] == TCP) & (packets["fate"] == SENT)]
    assert len(sent) > 0
    assert np.all(sent["written"] - sent["read"] >= DELAY_NS)
    assert len(said) == 1, out
    assert said[0].startswith(f"slow link: {ends[0].name} to {ends[1].name} alone: 1.")


@pytest.mark.parametrize("seed", range(TRIALS))
def test_nothing_is_named_where_nothing_is_slow(eight, shell, seed):
    said, out = named(eight, shell)
    assert said == [], out
