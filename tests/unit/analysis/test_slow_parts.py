"""Which host or link is slow, by the pairs of a run, and what is measured again before it is
named."""

import random
from itertools import combinations

import pytest

from halftrip.analysis.network import judged, slow_parts, suspect_rows
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.results.records import Again
from harness.runs import environment, measurement, run, save

HOSTS = ("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9")
ENVIRONMENTS = tuple(environment(rank=rank, host=host) for rank, host in enumerate(HOSTS))
FEW, ALL = list(combinations(range(6), 2)), list(combinations(range(9), 2))


def slices(slow=(), by=1.0, pairs=ALL, differ=0.0, **fields):
    """Eight slices of each of these pairs of hosts; those with all of `slow` take `by` times as
    long, and each has a factor of its own, up to `1 + differ`."""
    own = random.Random(1)
    return [
        measurement(
            "tcp",
            size=8,
            wait="block",
            half_ns=20_000.0 * factor * (by if slow and {HOSTS[a], HOSTS[b]} >= set(slow) else 1.0),
            pair=(a, b),
            slice=number,
            seed=100 * a + 10 * b + number,
            **fields,
        )
        for a, b in pairs
        for factor in [1 + differ * own.random()]
        for number in range(8)
    ]


def measured(*arguments, environments=ENVIRONMENTS, **fields):
    return run(*slices(*arguments, **fields), environments=environments)


def named(of):
    found = slow_parts(of, of.by_configuration)
    return None if found is None else [(each.hosts, each.links) for each in found]


def test_what_too_few_or_too_different_links_do_not_tell():
    assert named(measured(pairs=FEW, differ=0.1)) == []
    assert named(measured(pairs=FEW, differ=0.9)) is None
    assert named(measured(("n2",), 4.0, FEW, differ=0.9)) == [(("n2",), 5)]
    assert named(measured(pairs=[(0, 1)])) is None
    one = tuple(environment(rank=rank, host="n1") for rank in range(6))
    assert named(measured(pairs=FEW, environments=one)) is None


@pytest.mark.parametrize(
    ("slow", "by", "differ", "said"),
    [
        (("n2",), 1.5, 0.0, "slow host: n2: 1.5"),
        (("n2", "n4"), 2.0, 0.0, "slow link: n2 to n4 alone: "),
        ((), 1.0, 0.0, "no host and no link is slow"),
        ((), 1.0, 0.9, "which host or link is slow cannot be told: times differ or vary too much"),
    ],
)
def test_it_is_said(slow, by, differ, said, tmp_path, capsys):
    save(measured(slow, by, FEW, differ=differ), tmp_path / "run.jsonl")
    show_runs([str(tmp_path / "run.jsonl")], ShowRequest())
    shown = capsys.readouterr().out
    assert said in shown
    assert ("slowest:" in shown) == (differ > 0)
    assert differ or "host     n2" in shown


# What is measured again.


def links(configurations):
    return {tuple(HOSTS[rank] for rank in each.pair) for each in configurations}


def test_what_is_measured_again():
    """Nothing where nothing is suspected."""
    assert suspect_rows(measured()) == []
    # Of a host all links: those that stayed as they were would be left as slow links.
    found = links(suspect_rows(measured(("n3",), 1.5)))
    assert found == {link for link in combinations(HOSTS, 2) if "n3" in link}
    # Of few links all: then, too, all may be slower than before, or faster.
    few = [pair for pair in ALL if max(pair) < 8]
    found = links(suspect_rows(measured(("n3",), 1.5, few)))
    assert found == {tuple(HOSTS[i] for i in pair) for pair in few}
    # A link, and some of both its hosts.
    found = links(suspect_rows(measured(("n2", "n7"), 2.0)))
    assert ("n2", "n7") in found
    of_each = [{link for link in found if host in link} - {("n2", "n7")} for host in ("n2", "n7")]
    assert [len(each) for each in of_each] == [4, 4]
    assert found == {("n2", "n7")} | of_each[0] | of_each[1]


def test_who_was_not_suspected_before_is_not_said_to_be_found_again():
    before, after = slices(), slices(("n3",), 1.5, launch=1)
    whole = run(*before, *after, environments=ENVIRONMENTS, again=(Again(launch=1),))
    (found,) = slow_parts(whole, whole.by_configuration)
    assert (found.hosts, found.again) == (("n3",), False)


def test_partners_are_not_suspected_themselves():
    link = slices(("n2", "n7"), 2.0)
    slow = [m for m in slices(("n1",), 1.6) if 0 in m.configuration.pair]
    kept = [m for m in link if 0 not in m.configuration.pair]
    both = run(*kept, *slow, environments=ENVIRONMENTS)
    named = {each.hosts for each in slow_parts(both, both.by_configuration)}
    assert named == {("n1",), ("n2", "n7")}
    found = links(suspect_rows(both))
    assert {link for link in combinations(HOSTS, 2) if "n1" in link} <= found
    others = {link for link in found if "n1" not in link}
    assert len(others) == 1 + 4 + 4


@pytest.mark.parametrize(("by", "named"), [(1.0, []), (1.5, [(("n3",), True)])])
def test_the_newer_times_decide(by, named):
    """A host was slow for a while, or is."""
    before = slices(("n3",), 1.5)
    pairs = [each.pair for each in suspect_rows(measured(("n3",), 1.5))]
    after = slices(("n3",), by, pairs, launch=1)
    whole = run(*before, *after, environments=ENVIRONMENTS, again=(Again(launch=1),))
    found = slow_parts(whole, whole.by_configuration)
    assert [(each.hosts, each.again) for each in found] == named


def test_pairs_count_as_they_were_with_the_fewest_others():
    alone, crowded = slices(("n3",), 1.5), slices(HOSTS[:0], 3.0, concurrency=4)
    (group,) = judged(run(*crowded, *alone, environments=ENVIRONMENTS).by_configuration)
    assert {each.concurrency for each in group} == {1}
    assert len(group) == len(ALL)
