"""Which pairs talk when: every pair once, and no rank twice in a round."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.pairing import Schedule, Schedules

many = st.integers(2, 40)
at_onces = st.just("all") | st.integers(1, 25)
ONE_PARTNER = ("halves", "neighbours", "reciprocal")


def rounds(schedule):
    return [schedule.pairs_of(number) for number in range(schedule.rounds)]


def flat(schedule):
    return [pair for round_ in rounds(schedule) for pair in round_]


@st.composite
def schedules(draw):
    """Schedules of any rule, for any number of ranks that they can have."""
    rule = draw(st.sampled_from(["halves", "neighbours", "reciprocal", "all", "across", "listed"]))
    ranks = draw(many)
    if rule in ONE_PARTNER:
        ranks += ranks % 2
    hosts = draw(st.lists(st.sampled_from("abc"), min_size=ranks, max_size=ranks))
    if rule == "listed":
        possible = list(combinations(range(min(ranks, 8)), 2))
        pairs = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=20, unique=True))
        turned = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
        rule = tuple(pair[::-1] if turn else pair for pair, turn in zip(pairs, turned, strict=True))
    return Schedule(ranks, rule, draw(at_onces), hosts), ranks


# Each rule.


def test_halves_pair_the_lower_with_the_upper():
    assert rounds(Schedule(6, "halves")) == [[(0, 3), (1, 4), (2, 5)]]


def test_neighbours_pair_even_with_odd():
    assert rounds(Schedule(6, "neighbours")) == [[(0, 1), (2, 3), (4, 5)]]


def test_reciprocal_neighbours_initiate_in_turn():
    assert rounds(Schedule(4, "reciprocal")) == [[(0, 1), (2, 3)], [(1, 0), (3, 2)]]
    assert rounds(Schedule(2, "reciprocal")) == [[(0, 1)], [(1, 0)]]


def test_rounds_are_split_at_concurrent_pairs():
    assert rounds(Schedule(6, "neighbours", 2)) == [[(0, 1), (2, 3)], [(4, 5)]]
    assert rounds(Schedule(4, "halves", 1)) == [[(0, 2)], [(1, 3)]]
    one_by_one = [[(0, 1)], [(2, 3)], [(1, 0)], [(3, 2)]]
    assert rounds(Schedule(4, "reciprocal", 1)) == one_by_one


@pytest.mark.parametrize("pairs", ["halves", "neighbours", "all", "across", ((0, 1),)])
def test_two_ranks_are_one_pair(pairs):
    assert rounds(Schedule(2, pairs, hosts=["a", "b"])) == [[(0, 1)]]


@given(st.integers(1, 1000), st.sampled_from(ONE_PARTNER), at_onces)
def test_an_odd_number_of_ranks_is_refused(half, pairs, at_once):
    ranks = 2 * half + 1
    with pytest.raises(UsageError) as caught:
        Schedule(ranks, pairs, at_once)
    what = "reciprocal pairs" if pairs == "reciprocal" else pairs
    assert str(caught.value) == f"{ranks} ranks cannot form {what}; an even number is needed"


@pytest.mark.parametrize(
    ("ranks", "pairs", "at_once"), [(1, "all", "all"), (0, "halves", "all"), (4, "all", 0)]
)
def test_impossible_pairs_are_an_error_of_one_line(ranks, pairs, at_once):
    with pytest.raises(UsageError, match=r"^[^\n]*at least[^\n]*$"):
        Schedule(ranks, pairs, at_once)


@given(many, at_onces)
def test_all_pairs_meet_once(ranks, at_once):
    met = flat(Schedule(ranks, "all", at_once))
    assert sorted(met) == list(combinations(range(ranks), 2))


@given(many)
def test_all_pairs_need_the_fewest_possible_rounds(ranks):
    assert Schedule(ranks, "all").rounds == ranks - 1 + ranks % 2


@given(st.integers(1, 20), st.sampled_from(["halves", "neighbours"]), at_onces)
def test_halves_and_neighbours_give_each_rank_one_partner(half, pairs, at_once):
    met = flat(Schedule(2 * half, pairs, at_once))
    assert sorted(rank for pair in met for rank in pair) == list(range(2 * half))
    apart = half if pairs == "halves" else 1
    assert all(higher - lower == apart for lower, higher in met)


@given(st.integers(1, 20), at_onces)
def test_reciprocal_are_the_rounds_of_neighbours_and_then_the_same_turned(half, at_once):
    there = rounds(Schedule(2 * half, "neighbours", at_once))
    back = [[(responder, initiator) for initiator, responder in pairs] for pairs in there]
    assert rounds(Schedule(2 * half, "reciprocal", at_once)) == there + back


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=30), at_onces)
def test_across_pairs_all_ranks_of_different_hosts_once(hosts, at_once):
    schedule = Schedule(len(hosts), "across", at_once, hosts)
    wanted = [
        (one, other)
        for one, other in combinations(range(len(hosts)), 2)
        if hosts[one] != hosts[other]
    ]
    assert sorted(flat(schedule)) == wanted


# Listed pairs.


def test_listed_pairs_talk_as_soon_as_both_ranks_are_free():
    listed = ((0, 1), (1, 2), (2, 3), (4, 5), (0, 5))
    assert rounds(Schedule(6, listed)) == [[(0, 1), (2, 3), (4, 5)], [(1, 2), (0, 5)]]
    assert rounds(Schedule(6, listed, 2)) == [[(0, 1), (2, 3)], [(1, 2), (4, 5)], [(0, 5)]]


def test_the_first_rank_of_a_listed_pair_initiates():
    assert rounds(Schedule(4, ((3, 0), (1, 2)))) == [[(3, 0), (1, 2)]]


@pytest.mark.parametrize("ranks", [2, 7])
def test_a_listed_rank_that_does_not_exist_is_refused(ranks):
    with pytest.raises(UsageError) as caught:
        Schedule(ranks, ((0, 1), (1, 7)))
    assert str(caught.value) == f"there is no rank 7: {ranks} ranks are 0 to {ranks - 1}"


@given(st.data())
def test_listed_pairs_all_talk_once(data):
    possible = list(combinations(range(7), 2))
    listed = data.draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))
    met = flat(Schedule(7, tuple(listed), data.draw(at_onces)))
    assert sorted(met) == sorted(listed)


# What holds for all.


@given(schedules())
def test_no_rank_is_twice_in_a_round(made):
    schedule, ranks = made
    for number, pairs in enumerate(rounds(schedule)):
        busy = [rank for pair in pairs for rank in pair]
        assert len(set(busy)) == len(busy)
        assert set(busy) <= set(range(ranks))
        assert schedule.count(number) == len(pairs)


@given(schedules())
def test_no_pair_talks_twice(made):
    met = flat(made[0])
    assert len(set(met)) == len(met)
    # With another initiator it is another pair, which only one rule makes, of every pair.
    apart = {frozenset(pair) for pair in met}
    assert len(met) == len(apart) or {pair[::-1] for pair in met} == set(met)


@given(schedules())
def test_each_rank_finds_its_own_pair_as_the_round_has_it(made):
    """Without making the whole round; and both ranks find the same."""
    schedule, ranks = made
    for number, pairs in enumerate(rounds(schedule)):
        own = {rank: pair for pair in pairs for rank in pair}
        assert [schedule.pair_of(rank, number) for rank in range(ranks)] == [
            own.get(rank) for rank in range(ranks)
        ]
        assert schedule.count(number) == len(pairs)


@given(schedules())
def test_no_more_talk_at_once_than_it_says(made):
    schedule, ranks = made
    sizes = [len(pairs) for pairs in rounds(schedule)]
    assert max(sizes) <= schedule.most_at_once <= ranks // 2
    met = flat(schedule)
    partners = Counter(rank for pair in met for rank in pair)
    assert max(partners.values(), default=0) <= schedule.partners()
    assert len(met) <= schedule.pairs_in_all


@given(many, st.sampled_from([*ONE_PARTNER, "all"]), at_onces)
def test_its_numbers_are_exact_where_no_pair_is_left_out(ranks, pairs, at_once):
    ranks += ranks % 2
    schedule = Schedule(ranks, pairs, at_once)
    sizes = [len(found) for found in rounds(schedule)]
    assert min(sizes) > 0
    assert (
        max(sizes)
        == schedule.most_at_once
        == min(ranks if at_once == "all" else at_once, ranks // 2)
    )
    assert sum(sizes) == schedule.pairs_in_all
    partners = Counter(rank for pair in flat(schedule) for rank in pair)
    assert set(partners.values()) == {schedule.partners()}


def test_a_rank_of_many_finds_its_concurrent_pairs():
    """Nothing grows with the number of pairs: here there would be five billion."""
    ranks = 100_000
    schedule = Schedule(ranks, "all", 3)
    assert schedule.pairs_in_all == ranks * (ranks - 1) // 2
    for number in (0, 12_345_678, schedule.rounds - 1):
        for pair in schedule.pairs_of(number):
            assert [schedule.pair_of(rank, number) for rank in pair] == [pair, pair]
    turned = Schedule(ranks, "reciprocal", 3)
    assert turned.rounds == 2 * -(-ranks // 2 // 3)
    assert turned.pair_of(ranks - 1, turned.rounds - 1) == (ranks - 1, ranks - 2)


# Several limits on the pairs that talk at the same time.

limits = st.lists(at_onces, min_size=1, max_size=4, unique=True)


def of_limit(schedules, *limits):
    return [schedules.pairs_of(number) for number in schedules.rounds_of(limits)]


def test_each_limit_has_rounds_of_its_own():
    both = Schedules(6, "neighbours", (1, "all"))
    assert of_limit(both, 1) == [[(0, 1)], [(2, 3)], [(4, 5)]]
    assert of_limit(both, "all") == [[(0, 1), (2, 3), (4, 5)]]
    assert of_limit(both, "all", 1) == of_limit(both, 1) + of_limit(both, "all")


def test_limits_that_make_no_difference_are_one():
    assert of_limit(Schedules(2, "halves", (1, "all")), 1, "all") == [[(0, 1)]]
    assert of_limit(Schedules(4, "halves", (2, 3, "all")), 2, 3, "all") == [[(0, 2), (1, 3)]]


def test_a_round_that_two_limits_have_is_measured_once():
    both = Schedules(6, "neighbours", (1, 2))
    assert of_limit(both, 2) == [[(0, 1), (2, 3)], [(4, 5)]]
    assert of_limit(both, 1, 2) == [[(0, 1)], [(2, 3)], [(4, 5)], [(0, 1), (2, 3)]]


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=12), limits)
def test_the_rounds_of_a_limit_are_those_of_its_schedule(hosts, chosen):
    size = len(hosts)
    all_of_them = Schedules(size, "across", chosen, hosts)
    for limit in chosen:
        alone = [pairs for pairs in rounds(Schedule(size, "across", limit, hosts)) if pairs]
        assert of_limit(all_of_them, limit) == alone
    for number in all_of_them.rounds_of(chosen):
        pairs = all_of_them.pairs_of(number)
        assert all_of_them.count(number) == len(pairs) > 0
        for pair in pairs:
            assert [all_of_them.pair_of(rank, number) for rank in pair] == [pair, pair]


def test_there_are_no_other_rounds():
    with pytest.raises(IndexError):
        Schedules(4, "halves", (1,)).pairs_of(2)


# Ranks whose hosts were lost.


@given(schedules(), st.sets(st.integers(0, 39)))
def test_absent_ranks_rest_and_all_others_talk_as_before(made, absent):
    whole, ranks = made
    rest = Schedule(ranks, whole._pairs, whole._at_once, whole._hosts, absent)
    assert rest.rounds == whole.rounds
    for number in range(whole.rounds):
        pairs = [pair for pair in whole.pairs_of(number) if absent.isdisjoint(pair)]
        assert rest.pairs_of(number) == pairs
        assert rest.is_empty(number) == (not pairs)
        # The rows are the same.
        assert rest.count(number) == whole.count(number)
        for rank in range(ranks):
            pair = whole.pair_of(rank, number)
            there = pair if pair is not None and absent.isdisjoint(pair) else None
            assert rest.pair_of(rank, number) == there


def test_where_all_are_absent_no_round_is_left():
    assert of_limit(Schedules(4, "halves", (1,), (), {0, 1}), 1) == []
    assert of_limit(Schedules(4, "halves", (1,), (), {0}), 1) == [[(1, 3)]]
