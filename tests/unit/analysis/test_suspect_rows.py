"""What is measured again before slow hosts and links are named."""

from itertools import combinations

import pytest

from halftrip.analysis.network import judged, slow_parts, suspect_rows
from halftrip.results.records import Again
from harness.runs import environment, measurement, run

HOSTS = ("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9")


def slices(slow, by, pairs, launch=0, concurrency=1):
    """Eight slices of each of these pairs of hosts; those with all of `slow` take `by` times as
    long."""
    return [
        measurement(
            "tcp",
            size=8,
            wait="block",
            half_ns=20_000.0 * (by if {HOSTS[a], HOSTS[b]} >= set(slow) else 1.0),
            pair=(a, b),
            slice=number,
            seed=100 * a + 10 * b + number,
            launch=launch,
            concurrency=concurrency,
        )
        for a, b in pairs
        for number in range(8)
    ]


ALL = list(combinations(range(9), 2))
ENVIRONMENTS = tuple(environment(rank=rank, host=host) for rank, host in enumerate(HOSTS))


def measured(slow, by, **changes):
    return run(*slices(slow, by, ALL), environments=ENVIRONMENTS, **changes)


def links(configurations):
    return {tuple(HOSTS[rank] for rank in each.pair) for each in configurations}


def test_nothing_is_measured_again_where_nothing_is_suspected():
    assert suspect_rows(measured(("n3",), 1.0)) == []


def test_of_a_suspected_host_all_links():
    """Those that stayed as they were would be left as slow links."""
    found = links(suspect_rows(measured(("n3",), 1.5)))
    assert found == {link for link in combinations(HOSTS, 2) if "n3" in link}


def test_of_few_links_all():
    """Then, too, all may be slower than before, or faster."""
    few = [pair for pair in ALL if max(pair) < 8]
    measured_few = run(*slices(("n3",), 1.5, few), environments=ENVIRONMENTS)
    assert links(suspect_rows(measured_few)) == {tuple(HOSTS[i] for i in pair) for pair in few}


def test_who_was_not_suspected_before_is_not_said_to_be_found_again():
    before, after = slices((), 1.0, ALL), slices(("n3",), 1.5, ALL, launch=1)
    whole = run(*before, *after, environments=ENVIRONMENTS, again=(Again(launch=1),))
    (found,) = slow_parts(whole, whole.by_configuration)
    assert (found.hosts, found.again) == (("n3",), False)


def test_a_suspected_link_and_some_of_both_its_hosts():
    found = links(suspect_rows(measured(("n2", "n7"), 2.0)))
    assert ("n2", "n7") in found
    of_each = [{link for link in found if host in link} - {("n2", "n7")} for host in ("n2", "n7")]
    assert [len(each) for each in of_each] == [4, 4]
    assert found == {("n2", "n7")} | of_each[0] | of_each[1]


def test_partners_are_not_suspected_themselves():
    link = slices(("n2", "n7"), 2.0, ALL)
    slow = [m for m in slices(("n1",), 1.6, ALL) if 0 in m.configuration.pair]
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
    before = slices(("n3",), 1.5, ALL)
    pairs = [each.pair for each in suspect_rows(measured(("n3",), 1.5))]
    after = slices(("n3",), by, pairs, launch=1)
    whole = run(*before, *after, environments=ENVIRONMENTS, again=(Again(launch=1),))
    found = slow_parts(whole, whole.by_configuration)
    assert [(each.hosts, each.again) for each in found] == named


def test_pairs_count_as_they_were_with_the_fewest_others():
    alone, crowded = slices(("n3",), 1.5, ALL), slices((), 3.0, ALL, concurrency=4)
    (group,) = judged(run(*crowded, *alone, environments=ENVIRONMENTS).by_configuration)
    assert {each.concurrency for each in group} == {1}
    assert len(group) == len(ALL)
