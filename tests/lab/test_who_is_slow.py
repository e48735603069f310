"""Hosts on a switch, of which a host, a link or none is slow: what is slow is named, alone.

TRIALS is how many seeds there are, from 0 on, with eight hosts; a seed draws which host or link it
is."""

import json
import os
import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from lab import hosts
from lab.relay import SENT, TCP, Rule

pytestmark = pytest.mark.extended

TRIALS = int(os.environ.get("TRIALS", "0"))
COUNT = 8 if TRIALS else 4
RATE, BURST = 200_000_000, 16384
DELAY_NS = 1_000_000
NO_ANSWER = "which host or link is slow cannot be told"
# Windows of few messages: of 128 KiB, sixteen take 80 ms.
CHECK = ("network-check", "--window", "4", "--time", "40ms")
WORK = ("-t", "tcp", "-s", "64K", "--time", "50ms", "-r", "5", "--concurrent-pairs", "1")


@pytest.fixture
def many(tmp_path):
    """Hosts on a switch, each with the same rate."""
    hosts.need_relay()
    with hosts.cabled(tmp_path, count=COUNT) as made:
        for host in made.hosts:
            host.limit(RATE, BURST)
        yield made


def named(lab, shell, *work):
    """What is said to be slow, a line each, and the result. Where others have the cores, that it
    cannot be told is the right answer, too: None."""
    prefix = (*hosts.FIRST, *lab.hosts[0].prefix())
    shell.path.unlink(missing_ok=True)
    result = shell.run(*work, *lab.by_ssh, prefix=prefix)
    assert (result.status, result.err) == (0, "")
    said = [line for line in result.out.splitlines() if line.startswith("slow ")]
    # It may be so of latencies, while bandwidths tell.
    return (None if NO_ANSWER in result.out and not said else said), result


@pytest.mark.parametrize("seed", range(max(TRIALS, 1)))
def test_a_link_with_more_delay_is_named_alone(many, shell, tmp_path, seed):
    ends = random.Random(seed).choice(list(combinations(many.hosts, 2)))
    with hosts.detour(*ends, tmp_path) as relay:
        for host in ends:
            replace(host, device=f"t{host.device}").limit(RATE, BURST)
        relay.rule(Rule(delay=DELAY_NS))
        said, result = named(many, shell, *WORK)
        packets = relay.journal().packets
    sent = packets[(packets["protocol"] == TCP) & (packets["fate"] == SENT)]
    assert len(sent) > 0
    assert np.all(sent["written"] - sent["read"] >= DELAY_NS)
    if said is not None:
        assert len(said) == 1, result.out
        assert said[0].startswith(f"slow link: {ends[0].name} to {ends[1].name} alone: 1.")


@pytest.mark.parametrize("seed", range(max(TRIALS, 1)))
def test_a_host_with_less_rate_is_named_alone_and_short_of_the_baseline(many, shell, seed):
    """By the recipe; before, nothing is slow. And the lines that a prolog reads say the same."""
    said, result = named(many, shell, *CHECK)
    assert not said, result.out
    pairs = list(combinations(range(COUNT), 2))
    assert {(c.pattern, c.pair, c.concurrency) for c in result.run.by_configuration} == {
        *(("pingpong", pair, 1) for pair in pairs),
        *(("bidirectional", pair, number) for pair in pairs for number in (1, COUNT // 2)),
    }
    # The switch carries all at the same time.
    assert f"{COUNT // 2} pairs at once: tcp bidirectional 128K: " in result.out
    shell.path.rename(shell.directory / "base.jsonl")
    slow = random.Random(seed).choice(many.hosts)
    slow.limit(RATE // 2, BURST)
    said, result = named(many, shell, *CHECK)
    if said is not None:
        bandwidths = [line for line in said if f"{slow.name}: " in line]
        assert bandwidths == said, result.out
        assert said[-1].startswith(f"slow host: {slow.name}: ")
        assert f"on all its {COUNT - 1} links" in said[-1]
    options = ("--baseline", "base.jsonl", "--tolerance", "30%", "--format", "nodes")
    found = [json.loads(line) for line in result.show(*options).out.splitlines()]
    assert [each["host"] for each in found] == [host.name for host in many.hosts]
    (short,) = (each for each in found if each["verdict"] == "short")
    assert short["host"] == slow.name
    assert f"on {COUNT - 1} of its {COUNT - 1} links" in short["reason"]
    factor = short["slow"][0]
    assert 1.3 < factor["low"] <= factor["factor"] <= factor["high"]
