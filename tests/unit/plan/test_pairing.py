"""Which pairs talk when: every pair once, and no rank twice in a round."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.pairing import rounds

many = st.integers(2, 40)
at_onces = st.none() | st.integers(1, 25)


def flat(schedule):
    return [pair for round_ in schedule for pair in round_]


def test_halves_pair_the_lower_with_the_upper():
    assert rounds(6, "halves", None) == [((0, 3), (1, 4), (2, 5))]


def test_neighbours_pair_even_with_odd():
    assert rounds(6, "neighbours", None) == [((0, 1), (2, 3), (4, 5))]


def test_rounds_are_split_at_pairs_at_once():
    assert rounds(6, "neighbours", 2) == [((0, 1), (2, 3)), ((4, 5),)]
    assert rounds(4, "halves", 1) == [((0, 2),), ((1, 3),)]


@pytest.mark.parametrize("pairs", ["halves", "neighbours", "all"])
def test_two_ranks_are_one_pair(pairs):
    assert rounds(2, pairs, None) == [((0, 1),)]


@pytest.mark.parametrize("pairs", ["halves", "neighbours"])
def test_an_odd_number_of_ranks_is_refused(pairs):
    with pytest.raises(UsageError) as caught:
        rounds(3, pairs, None)
    assert str(caught.value) == f"3 ranks cannot form {pairs}; an even number is needed"


@pytest.mark.parametrize(
    ("ranks", "pairs", "at_once"), [(1, "all", None), (0, "halves", None), (4, "all", 0)]
)
def test_impossible_pairs_are_an_error_of_one_line(ranks, pairs, at_once):
    with pytest.raises(UsageError, match=r"^[^\n]*at least[^\n]*$"):
        rounds(ranks, pairs, at_once)


@given(many, at_onces)
def test_all_pairs_meet_once(ranks, at_once):
    met = flat(rounds(ranks, "all", at_once))
    assert sorted(met) == list(combinations(range(ranks), 2))


@given(many)
def test_all_pairs_need_the_fewest_possible_rounds(ranks):
    assert len(rounds(ranks, "all", None)) == ranks - 1 + ranks % 2


@given(st.integers(1, 20), st.sampled_from(["halves", "neighbours"]), at_onces)
def test_halves_and_neighbours_give_each_rank_one_partner(half, pairs, at_once):
    met = flat(rounds(2 * half, pairs, at_once))
    assert sorted(rank for pair in met for rank in pair) == list(range(2 * half))
    apart = half if pairs == "halves" else 1
    assert all(higher - lower == apart for lower, higher in met)


@given(st.integers(1, 20), st.sampled_from(["halves", "neighbours", "all"]), at_onces)
def test_no_rank_is_twice_in_a_round(half, pairs, at_once):
    for round_ in rounds(2 * half, pairs, at_once):
        busy = [rank for pair in round_ for rank in pair]
        assert 0 < len(round_) <= (at_once or half)
        assert len(set(busy)) == len(busy)
        assert all(lower < higher for lower, higher in round_)
