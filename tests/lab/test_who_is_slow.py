"""Hosts on a switch, of which a host, a link or none is slow: what is slow is named, alone.

TRIALS is how many seeds there are, from 0 on; a seed draws which host or link it is."""

import contextlib
import json
import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from harness.choice import TRIALS
from lab import hosts
from lab.relay import SENT, TCP, Rule

pytestmark = pytest.mark.extended

RATE, BURST = 200_000_000, 16384
DELAY_NS = 1_000_000
NO_ANSWER = "which host or link is slow cannot be told"
# Windows of few messages: of 128 KiB, sixteen take 80 ms.
CHECK = ("network-check", "--window", "4", "--time", "40ms")
WORK = ("-t", "tcp", "-s", "64K", "--time", "50ms", "-r", "5", "--concurrent-pairs", "1")


@contextlib.contextmanager
def switched(tmp_path, count):
    """Hosts on a switch, each with the same rate."""
    hosts.need_relay()
    with hosts.cabled(tmp_path, count=count) as made:
        for host in made.hosts:
            host.limit(RATE, BURST)
        yield made


@pytest.fixture
def eight(tmp_path):
    with switched(tmp_path, 8) as made:
        yield made


@pytest.fixture
def four(tmp_path):
    with switched(tmp_path, 4) as made:
        yield made


def named(lab, shell, *work):
    """What is said to be slow, a line each, and the result. Where others have the cores, that it
    cannot be told is the right answer, too: None, if nothing else is named."""
    prefix = (*hosts.FIRST, *lab.hosts[0].prefix())
    shell.path.unlink(missing_ok=True)
    result = shell.measure(*work, *lab.by_ssh, prefix=prefix, silent=True)
    said = [line for line in result.out.splitlines() if line.startswith("slow ")]
    # By the recipe, latencies may not tell, while bandwidths do.
    assert NO_ANSWER not in result.out or not said or work == CHECK
    return (None if NO_ANSWER in result.out and not said else said), result


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_link_with_more_delay_is_named_alone(eight, shell, tmp_path, seed):
    ends = random.Random(seed).choice(list(combinations(eight.hosts, 2)))
    with hosts.detour(*ends, tmp_path) as relay:
        for host in ends:
            replace(host, device=f"t{host.device}").limit(RATE, BURST)
        relay.rule(Rule(delay=DELAY_NS))
        said, result = named(eight, shell, *WORK)
        packets = relay.journal().packets
    sent = packets[(packets["protocol"] == TCP) & (packets["fate"] == SENT)]
    assert len(sent) > 0
    assert np.all(sent["written"] - sent["read"] >= DELAY_NS)
    if said is not None:
        assert len(said) == 1, result.out
        assert said[0].startswith(f"slow link: {ends[0].name} to {ends[1].name} alone: 1.")


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_host_with_30_percent_less_rate_is_named_alone_and_before_it_nothing_is(
    eight, shell, seed
):
    said, result = named(eight, shell, *WORK)
    assert not said, result.out
    slow = random.Random(seed).choice(eight.hosts)
    slow.limit(7 * RATE // 10, BURST)
    said, result = named(eight, shell, *WORK)
    if said is not None:
        assert len(said) == 1, result.out
        assert said[0].startswith(f"slow host: {slow.name}: 1.")
        assert "on all its 7 links" in said[0]


@pytest.mark.parametrize("seed", range(TRIALS))
def test_a_host_with_less_rate_is_named_alone_and_short_of_the_baseline(four, shell, seed):
    """By the recipe; before, nothing is slow. And the lines that a prolog reads say the same."""
    said, result = named(four, shell, *CHECK)
    assert not said, result.out
    pairs = list(combinations(range(4), 2))
    assert {(c.pattern, c.pair, c.concurrency) for c in result.run.by_configuration} == {
        *(("pingpong", pair, 1) for pair in pairs),
        *(("bidirectional", pair, number) for pair in pairs for number in (1, 2)),
    }
    # The switch carries all at the same time.
    assert "2 pairs at once: tcp bidirectional 128K: " in result.out
    shell.path.rename(shell.directory / "base.jsonl")
    slow = random.Random(seed).choice(four.hosts)
    slow.limit(RATE // 2, BURST)
    said, result = named(four, shell, *CHECK)
    if said is not None:
        bandwidths = [line for line in said if f"{slow.name}: " in line]
        assert bandwidths == said, result.out
        assert said[-1].startswith(f"slow host: {slow.name}: ")
        assert "on all its 3 links" in said[-1]
    options = ("--baseline", "base.jsonl", "--tolerance", "30%", "--format", "nodes")
    found = [json.loads(line) for line in result.show(*options).out.splitlines()]
    assert [each["host"] for each in found] == [host.name for host in four.hosts]
    (short,) = (each for each in found if each["verdict"] == "short")
    assert short["host"] == slow.name
    assert "on 3 of its 3 links" in short["reason"]
    factor = short["slow"][0]
    assert 1.3 < factor["low"] <= factor["factor"] <= factor["high"]
