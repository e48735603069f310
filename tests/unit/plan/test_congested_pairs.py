"""Pairs that get in each other's way."""

import pytest

from halftrip.plan.congestion import congested
from halftrip.plan.layers import make_plan, options_layer
from halftrip.plan.pairing import Schedule
from halftrip.plan.plan import plan_keys
from harness.plans import mistake


@pytest.mark.parametrize("count", range(3, 12))
@pytest.mark.parametrize("seed", range(5))
def test_all_send_to_the_first_host_and_then_each_to_another(count, seed):
    hosts, pairs = congested([f"n{number}" for number in range(count)], seed)
    schedule = Schedule(len(hosts), pairs)
    incast, drawn = (schedule.pairs_of(number) for number in range(schedule.rounds))
    assert sorted(hosts[one] for one, _ in incast) == sorted(set(hosts) - {"n0"})
    assert {hosts[other] for _, other in incast} == {"n0"}
    assert len({rank for pair in drawn for rank in pair}) == 2 * count
    for end in (0, 1):
        assert {hosts[pair[end]] for pair in drawn} == set(hosts)
    assert all(hosts[one] != hosts[other] for one, other in pairs)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 2 * count - 1


def plan_of(**options):
    return make_plan(options_layer({"pairs": "congestion", **options}))


def test_what_is_drawn_is_recorded_and_can_be_drawn_again():
    first = plan_of(hosts="a,b,c,d,e", pairs_seed=7)
    assert first == plan_of(hosts="a,b,c,d,e", pairs_seed=7)
    drawn = plan_of(hosts="a,b,c,d,e")
    again = plan_of(hosts="a,b,c,d,e", pairs_seed=drawn.pairs_seed)
    assert (again.pairs, again.hosts) == (drawn.pairs, drawn.hosts)
    # As a run file has it.
    assert make_plan(options_layer(plan_keys(drawn))) == drawn


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "congestion is between three hosts or more; name them with --hosts"),
        ({"hosts": "a,b,a"}, "--hosts: congestion is between 3 hosts or more; there are 2"),
        ({"hosts": "a,b,c", "ranks": 6}, "congestion has ranks of its own on each host"),
    ],
)
def test_what_is_no_congestion_is_refused(options, said):
    assert said in mistake(lambda: plan_of(**options))
