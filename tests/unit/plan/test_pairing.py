"""Which pairs talk when: every pair once, and no rank twice in a round."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.plan.pairing import Schedule, Schedules
from harness.plans import mistake

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
    rule = draw(st.sampled_from([*ONE_PARTNER, "all", "across", "listed"]))
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


LISTED = ((0, 1), (1, 2), (2, 3), (4, 5), (0, 5))


@pytest.mark.parametrize(
    ("ranks", "pairs", "at_once", "expected"),
    [
        (6, "halves", "all", [[(0, 3), (1, 4), (2, 5)]]),
        (4, "halves", 1, [[(0, 2)], [(1, 3)]]),
        (6, "neighbours", "all", [[(0, 1), (2, 3), (4, 5)]]),
        (6, "neighbours", 2, [[(0, 1), (2, 3)], [(4, 5)]]),
        # Neighbours initiate in turn.
        (4, "reciprocal", "all", [[(0, 1), (2, 3)], [(1, 0), (3, 2)]]),
        (4, "reciprocal", 1, [[(0, 1)], [(2, 3)], [(1, 0)], [(3, 2)]]),
        # Listed pairs talk as soon as both ranks are free; the first rank initiates.
        (6, LISTED, "all", [[(0, 1), (2, 3), (4, 5)], [(1, 2), (0, 5)]]),
        (6, LISTED, 2, [[(0, 1), (2, 3)], [(1, 2), (4, 5)], [(0, 5)]]),
        (4, ((3, 0), (1, 2)), "all", [[(3, 0), (1, 2)]]),
        *((2, pairs, "all", [[(0, 1)]]) for pairs in ("halves", "neighbours", "all", "across")),
    ],
)
def test_each_rule_has_its_rounds(ranks, pairs, at_once, expected):
    assert rounds(Schedule(ranks, pairs, at_once, hosts=["a", "b"])) == expected


@pytest.mark.parametrize(
    ("ranks", "pairs", "at_once", "said"),
    [
        (3, "halves", "all", "3 ranks cannot form halves; an even number is needed"),
        (7, "neighbours", 2, "7 ranks cannot form neighbours; an even number is needed"),
        (5, "reciprocal", 1, "5 ranks cannot form reciprocal pairs; an even number is needed"),
        (2, ((0, 1), (1, 7)), "all", "there is no rank 7: 2 ranks are 0 to 1"),
        (7, ((0, 1), (1, 7)), "all", "there is no rank 7: 7 ranks are 0 to 6"),
        (1, "all", "all", "at least"),
        (4, "all", 0, "at least"),
    ],
)
def test_impossible_pairs_are_an_error_of_one_line(ranks, pairs, at_once, said):
    assert said in mistake(lambda: Schedule(ranks, pairs, at_once))


@given(many, at_onces)
def test_all_pairs_meet_once_in_the_fewest_possible_rounds(ranks, at_once):
    assert sorted(flat(Schedule(ranks, "all", at_once))) == list(combinations(range(ranks), 2))
    assert Schedule(ranks, "all").rounds == ranks - 1 + ranks % 2


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=30), at_onces)
def test_across_pairs_all_ranks_of_different_hosts_once(hosts, at_once):
    wanted = [
        (one, other)
        for one, other in combinations(range(len(hosts)), 2)
        if hosts[one] != hosts[other]
    ]
    assert sorted(flat(Schedule(len(hosts), "across", at_once, hosts))) == wanted


@given(
    st.lists(st.sampled_from("abcd"), min_size=2, max_size=24),
    st.sampled_from(["all", "neighbours", "halves"]),
)
def test_pairs_that_talk_at_once_share_no_cache_where_that_is_asked(letters, pairs):
    letters = letters[: len(letters) // 2 * 2]
    caches = [{letter} for letter in letters]
    schedule = Schedule(len(letters), pairs, "caches", caches=caches)
    assert sorted(flat(schedule)) == sorted(flat(Schedule(len(letters), pairs)))
    for round_ in rounds(schedule):
        used = Counter(each for pair in round_ for each in {letters[rank] for rank in pair})
        assert max(used.values()) == 1
    # Without their names, all share one: one pair at a time.
    assert Schedule(len(letters), pairs, "caches").most_at_once == 1


def test_a_large_map_takes_one_round_fewer_than_cores():
    assert Schedule(256, "all").rounds == 255
    # Of sixteen caches at most eight pairs talk; the busiest cache is in so many pairs.
    caches = [{core // 16} for core in range(256)]
    least = 16 * 240 + 16 * 15 // 2
    both = Schedules(256, "all", ("all", "caches"), caches=caches)
    assert least + 255 <= both.rounds <= 1.1 * least + 255
    assert len(both.rounds_of(("caches",))) == both.rounds - 255


@given(schedules())
def test_no_rank_is_twice_in_a_round_and_each_finds_its_own_pair(made):
    """Without making the whole round; and no more talk at once than it says."""
    schedule, ranks = made
    sizes = []
    for number, pairs in enumerate(rounds(schedule)):
        own = {rank: pair for pair in pairs for rank in pair}
        assert len(own) == 2 * len(pairs)
        assert set(own) <= set(range(ranks))
        found = [schedule.pair_of(rank, number) for rank in range(ranks)]
        assert found == [own.get(rank) for rank in range(ranks)]
        assert schedule.count(number) == len(pairs)
        sizes.append(len(pairs))
    assert max(sizes) <= schedule.most_at_once <= ranks // 2
    met = flat(schedule)
    assert len(set(met)) == len(met) <= schedule.pairs_in_all
    partners = Counter(rank for pair in met for rank in pair)
    assert max(partners.values(), default=0) <= schedule.partners()


@given(many, st.sampled_from([*ONE_PARTNER, "all"]), at_onces)
def test_its_numbers_are_exact_where_no_pair_is_left_out(ranks, pairs, at_once):
    ranks += ranks % 2
    schedule = Schedule(ranks, pairs, at_once)
    sizes = [len(found) for found in rounds(schedule)]
    assert min(sizes) > 0
    most = min(ranks if at_once == "all" else at_once, ranks // 2)
    assert max(sizes) == schedule.most_at_once == most
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


def of_limit(schedules, *limits):
    return [schedules.pairs_of(number) for number in schedules.rounds_of(limits)]


def test_each_limit_has_rounds_of_its_own_and_what_two_have_is_measured_once():
    both = Schedules(6, "neighbours", (1, "all"))
    assert of_limit(both, 1) == [[(0, 1)], [(2, 3)], [(4, 5)]]
    assert of_limit(both, "all", 1) == [*of_limit(both, 1), [(0, 1), (2, 3), (4, 5)]]
    assert of_limit(Schedules(4, "halves", (2, 3, "all")), 2, 3, "all") == [[(0, 2), (1, 3)]]
    both = Schedules(6, "neighbours", (1, 2))
    assert of_limit(both, 2) == [[(0, 1), (2, 3)], [(4, 5)]]
    assert of_limit(both, 1, 2) == [[(0, 1)], [(2, 3)], [(4, 5)], [(0, 1), (2, 3)]]
    with pytest.raises(IndexError):
        Schedules(4, "halves", (1,)).pairs_of(2)


@given(
    st.lists(st.sampled_from("abcd"), min_size=2, max_size=12),
    st.lists(at_onces, min_size=1, max_size=4, unique=True),
)
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


@given(schedules(), st.sets(st.integers(0, 39)))
def test_ranks_of_lost_hosts_rest_and_all_others_talk_as_before(made, absent):
    whole, ranks = made
    rest = Schedule(ranks, whole._pairs, whole._at_once, whole._hosts, absent)
    assert rest.rounds == whole.rounds
    for number in range(whole.rounds):
        pairs = [pair for pair in whole.pairs_of(number) if absent.isdisjoint(pair)]
        assert rest.pairs_of(number) == pairs
        assert rest.is_empty(number) == (not pairs)
        # The rows are the same.
        assert rest.count(number) == whole.count(number)
        own = {rank: pair for pair in pairs for rank in pair}
        found = [rest.pair_of(rank, number) for rank in range(ranks)]
        assert found == [own.get(rank) for rank in range(ranks)]
    assert of_limit(Schedules(4, "halves", (1,), (), {0, 1}), 1) == []
    assert of_limit(Schedules(4, "halves", (1,), (), {0}), 1) == [[(1, 3)]]
