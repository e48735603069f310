"""Which host or link is slow, by the pairs of a run."""

import random
from itertools import combinations

import pytest

from halftrip.analysis.network import slow_parts
from halftrip.cli.show import Shown, show_runs
from harness.runs import environment, measurement, run, save

HOSTS = ("n1", "n2", "n3", "n4", "n5", "n6")


def measured(slow=(), by=1.0, ranks=6, hosts=HOSTS, differ=0.0):
    """A run of all pairs of hosts, of which those with all of `slow` take `by` times as long; each
    pair has ten slices, and a factor of its own, up to `1 + differ`."""
    own = random.Random(1)
    factors = {pair: 1 + differ * own.random() for pair in combinations(range(ranks), 2)}
    found = [
        measurement(
            "tcp",
            size=8,
            wait="block",
            half_ns=20_000.0
            * factors[a, b]
            * (by if {hosts[a], hosts[b]} >= set(slow) and slow else 1.0),
            pair=(a, b),
            slice=slice_,
            seed=100 * a + 10 * b + slice_,
        )
        for a, b in combinations(range(ranks), 2)
        for slice_ in range(10)
    ]
    where = tuple(environment(rank=rank, host=hosts[rank]) for rank in range(ranks))
    return run(*found, environments=where)


def named(of):
    found = slow_parts(of, of.by_configuration)
    return None if found is None else [(each.hosts, each.links) for each in found]


def test_nothing_is_named_where_nothing_is_wrong():
    assert named(measured()) == []


@pytest.mark.parametrize("host", HOSTS)
def test_a_slow_host_is_named_alone(host):
    assert named(measured((host,), 1.43)) == [((host,), 5)]


@pytest.mark.parametrize("link", [("n1", "n2"), ("n3", "n6")])
def test_a_slow_link_is_named_alone(link):
    assert named(measured(link, 2.0)) == [(link, 1)]


def test_where_all_links_differ_much_nobody_is_said_to_be_well():
    assert named(measured(differ=0.1)) == []
    assert named(measured(differ=0.9)) is None
    assert named(measured(("n2",), 4.0, differ=0.9)) == [(("n2",), 5)]


def test_two_hosts_or_one_are_too_few_to_tell():
    assert named(measured(ranks=2)) is None
    assert named(measured(hosts=("n1",) * 6)) is None


def test_that_it_cannot_be_told_is_said(tmp_path, capsys):
    save(measured(differ=0.9), tmp_path / "run.jsonl")
    show_runs([str(tmp_path / "run.jsonl")], Shown())
    shown = capsys.readouterr().out
    assert "slowest: " in shown
    assert "which host or link is slow cannot be told: times differ or vary too much" in shown


def test_both_are_said(tmp_path, capsys):
    for slow, by, said in (
        (("n2",), 1.5, "slow host: n2: 1.5"),
        (("n2", "n4"), 2.0, "slow link: n2 to n4 alone: "),
        ((), 1.0, "no host and no link is slow"),
    ):
        path = tmp_path / f"{len(said)}.jsonl"
        save(measured(slow, by), path)
        show_runs([str(path)], Shown())
        shown = capsys.readouterr().out
        assert said in shown
        assert "slowest:" not in shown
        assert "host     n2" in shown
