"""Ranks whose memory is on a device get cores near it, as far as there are any."""

import pytest

from halftrip.measure.placing import places
from halftrip.plan.layers import make_plan, options_layer
from halftrip.telemetry.topology import Core, CoreView, place

# Two processors of four cores, each with a cache.
CORES = tuple(Core(number, f"{number // 4}:{number}", f"cache{number // 4}") for number in range(8))
FIRST, SECOND = (0, 1, 2, 3), (4, 5, 6, 7)


def see(*near, allowed=CORES, host="h"):
    return CoreView(host, tuple(allowed), tuple(core.number for core in CORES), near)


def cores_of(found):
    return [each.core for each in found]


@pytest.mark.parametrize(
    ("views", "roles", "cores"),
    [
        # Two ranks of one device share a cache.
        ([see(SECOND, SECOND)] * 2, [0, 1], [4, 5]),
        # Each end is near its own device.
        ([see(FIRST, SECOND)] * 2, [0, 1], [1, 4]),
        ([see(FIRST, SECOND)] * 2, [1, 0], [4, 1]),
        # An end whose memory is of the host goes where the other is.
        ([see((), SECOND)] * 2, [0, 1], [4, 5]),
        ([see(SECOND, ())] * 2, [0, 1], [4, 5]),
        # Without a role, a rank is an initiator.
        ([see(SECOND, FIRST)] * 2, None, [4, 5]),
        ([see(SECOND, (), host="a"), see((), FIRST[2:], host="b")], [0, 1], [4, 2]),
    ],
)
def test_ranks_are_near_their_devices(views, roles, cores):
    assert cores_of(place(views, roles=roles) if roles else place(views)) == cores


def test_only_allowed_cores_count():
    view = see((1, 5), (1, 5), allowed=CORES[4:])
    assert cores_of(place([view] * 2, roles=[0, 1])) == cores_of(
        place([see(allowed=CORES[4:])] * 2)
    )
    assert cores_of(place([see((6,), (7,), allowed=CORES[4:])] * 2, roles=[0, 1])) == [6, 7]


@pytest.mark.parametrize("near", [(), ((), ()), ((90,), (91,)), ((7,), (7,))])
def test_where_too_few_allowed_cores_are_near_placement_is_as_before(near):
    assert cores_of(place([see(*near)] * 2, roles=[0, 1])) == cores_of(place([see()] * 2)) == [1, 2]


@pytest.mark.parametrize("requested", [(2, 6), "none"])
def test_cores_that_were_asked_for_are_kept(requested):
    wanted = [None, None] if requested == "none" else [2, 6]
    assert cores_of(place([see(SECOND, SECOND)] * 2, requested, roles=[0, 1])) == wanted


def test_the_role_of_a_rank_is_that_of_the_first_round():
    plan = make_plan(options_layer({"transport": "tcp", "sizes": "8", "ranks": "4"}))
    # Rank 3 initiates with 0, rank 2 with 1.
    found = places(plan, [see(FIRST, SECOND)] * 4, [(3, 0), (2, 1)])
    assert [of_rank[0].core in SECOND for of_rank in found] == [True, True, False, False]


@pytest.mark.parametrize("first", [[(0, 2), (1, 3)], [(0, 1), (2, 3)], [(0, 3), (1, 2)]])
def test_the_ends_of_a_pair_have_different_cores_even_where_these_are_few(first):
    plan = make_plan(options_layer({"transport": "tcp", "sizes": "8", "ranks": "4"}))
    found = places(plan, [see(allowed=CORES[:2])] * 4, first)
    for pair in first:
        assert sorted(found[rank][0].core for rank in pair) == [0, 1]
