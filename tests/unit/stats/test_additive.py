"""A slow node or link is named, alone, whatever the noise; and nothing where nothing is wrong.

Pairs differ by 10 %, and a tenth of the repeats is 1.3 times as fast or slow as the others, which
have the tails of Student's t with three degrees of freedom.
"""

import itertools
import math

import numpy as np
import pytest

from halftrip.stats.additive import fit, suspects
from harness.choice import FULL, extended


def network(generator, n, nodes=(), links=(), pairs=None, repeats=None):
    """The times of all pairs of n hosts, or of `pairs`, in which these have these factors."""
    nodes, links = dict(nodes), dict(links)
    count = repeats or int(generator.integers(5, 11))
    times = {}
    for i, j in pairs or itertools.combinations(range(n), 2):
        factor = nodes.get(i, 1.0) * nodes.get(j, 1.0) * links.get((i, j), 1.0)
        logs = generator.uniform(-0.048, 0.048) + 0.015 * generator.standard_t(3, count)
        logs += math.log(1.3) * generator.choice([-1, 0, 1], count, p=[0.05, 0.9, 0.05])
        times[i, j] = 20_000 * factor * np.exp(logs)
    return times


def flawed(nodes, links):
    """Draws so many slow nodes, and so many slow links between others: their factors."""

    def draw(generator, n):
        hosts = generator.choice(n, nodes + 2 * links, replace=False).tolist()
        pairs = [tuple(sorted(hosts[at : at + 2])) for at in range(nodes, len(hosts), 2)]
        slow = {pair: float(generator.uniform(1.5, 3)) for pair in pairs}
        return dict.fromkeys(hosts[:nodes], 1 / 0.7), slow

    return draw


def named(found):
    return {suspect.hosts for suspect in suspects(found)}


def some_pairs(generator, n, links):
    """A ring, the next but one, and half of the others."""
    return sorted(
        (i, j)
        for i, j in itertools.combinations(range(n), 2)
        if min(j - i, n - j + i) <= 2 or generator.random() < 0.5 or (i, j) in links
    )


SIZES, LARGER = range(4, 17), range(8, 17)
# Enough to tell how often an interval holds what is true.
MANY = 100 if FULL else 40


@pytest.mark.parametrize("networks", [8, *extended(MANY)])
@pytest.mark.parametrize(
    ("kind", "sizes", "pairs_of", "most_missed"),
    [
        (flawed(0, 0), range(3, 17), None, 0),
        (flawed(1, 0), SIZES, None, 0),
        (flawed(1, 0), [3], None, 0.02),
        (flawed(0, 1), SIZES, None, 0.01),
        (flawed(1, 1), LARGER, None, 0.01),
        (flawed(1, 1), LARGER, some_pairs, 0.01),
        (flawed(2, 0), LARGER, None, 0),
    ],
)
def test_what_is_slow_is_named_alone(kind, sizes, pairs_of, most_missed, networks):
    """A link of a factor near 1.5, most of whose few repeats are disturbed, may be missed, and one
    of three hosts."""
    missed = false = 0
    covered = []
    for seed, n in zip(range(networks), itertools.cycle(sizes)):
        generator = np.random.default_rng([seed, n])
        nodes, links = kind(generator, n)
        pairs = pairs_of(generator, n, links) if pairs_of else None
        found = fit(network(generator, n, nodes, links, pairs))
        true = {(i,) for i in nodes} | set(links)
        false += not named(found) <= true
        missed += not true <= named(found)
        factors = {**nodes, **links}
        effects = {**found.nodes, **found.links}
        covered += [effects[at].low <= factors[at] <= effects[at].high for at in factors]
    assert false == 0
    assert missed <= most_missed * networks
    # Of three hosts there are few to judge by.
    assert not covered or networks < MANY or len(sizes) == 1 or np.mean(covered) >= 0.9


def test_two_hosts_tell_nothing():
    found = fit({(0, 1): np.array([100.0, 101.0, 102.0])})
    assert found.typical == pytest.approx(101, rel=0.01)
    for effect in [*found.nodes.values(), *found.links.values()]:
        assert effect == (1.0, 0.0, math.inf, 0.0)
    assert suspects(found) == []


@pytest.mark.parametrize("factor", [3.0, 5.0, 20.0, 80.0])
def test_of_three_hosts_one_is_named_however_slow_it_is(factor):
    """Of its three pairs one is typical: the two others are not the usual ones."""
    times = network(np.random.default_rng(3), 3)
    for pair in ((0, 1), (1, 2)):
        times[pair] = times[pair] * factor
    (found,) = suspects(fit(times))
    assert found.hosts == (1,)
    assert found.effect.low < factor < found.effect.high


def test_neither_a_node_with_one_link_nor_a_single_repeat_tells_much():
    times = network(np.random.default_rng(1), 6)
    times[2, 7] = times[0, 1] * 2
    found = fit(times)
    assert found.nodes[7] == (1.0, 0.0, math.inf, 0.0)
    assert named(found) == {(2, 7)}
    once = network(np.random.default_rng(2), 8, links={(0, 1): 1.5}, repeats=1)
    assert suspects(fit(once)) == []


def test_what_is_slow_by_less_than_the_threshold_is_not_named():
    times = network(np.random.default_rng(4), 10, {3: 1.3}, {(5, 6): 2.0})
    assert [suspect.hosts for suspect in suspects(fit(times))] == [(5, 6), (3,)]
    assert named(fit(times, threshold=1.5)) == {(5, 6)}
    assert named(fit(times, threshold=3.0)) == set()


def test_racks_are_no_fault():
    """Where pairs are of two kinds, healthy links vary so much."""
    for n, factor in itertools.product((8, 16), (1.15, 1.3, 2.0)):
        halves = {(i, j): factor for i in range(n // 2) for j in range(n // 2, n)}
        found = fit(network(np.random.default_rng(n), n, links=halves))
        assert suspects(found) == []
        assert found.spread > 0.05


@pytest.mark.parametrize(
    "pairs",
    [
        {},
        {(1, 0): np.ones(3)},
        {(1, 1): np.ones(3)},
        {(0, 1): np.ones(0)},
        *({(0, 1): np.array([1.0, each])} for each in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_impossible_times_and_pairs_are_refused(pairs):
    with pytest.raises(ValueError, match=r"pairs|times"):
        fit(pairs)
