"""--max-duration: how the time of a walk is dealt, on a clock that only turns advance."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.measure.walk import Allowed, Budget, Walk
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.slices import LEAST_SLICE_SECONDS
from harness import runs

PLAN = Plan(time=0.3, slices=10)
PLANNED = 0.03


class Walked:
    """A walk over `items` whose turns take `beyond(item)` seconds more than they sample."""

    def __init__(self, seconds, items=20, beyond=lambda item: 0.005, plan=PLAN, **options):
        self.now = 100.0
        most, of_head = options.get("most"), options.get("of_head", 0)
        settings = [(0, runs.configuration(size=size)) for size in range(1, items + 1)]
        planned = plan.time / plan.slices
        allowed = Allowed(seconds, most or seconds)
        budget = Budget(
            allowed,
            items,
            plan.slices,
            planned,
            lambda: self.now,
            may_be_last="last" in options,
            all_needed=plan.iterations is not None,
        )
        self.walk = Walk(
            PartPlans(plan, {}), settings, random.Random(1), budget, head=settings[:of_head]
        )
        self.sampled = {setting: [] for setting in settings}
        self.left = []
        for turn in self.walk.turns():
            self.left.append(self.walk.left)
            self.sampled[turn.round, turn.setting].append(turn.seconds)
            self.now += turn.seconds + beyond(turn.setting.size)
        self.took = self.now - 100.0

    @property
    def counts(self):
        return [len(slices) for slices in self.sampled.values()]

    @property
    def seconds(self):
        return [each for slices in self.sampled.values() for each in slices]


def test_slices_get_shorter_where_time_is_short():
    """Where there is enough, nothing changes."""
    walked = Walked(60.0)
    assert walked.counts == [10] * 20
    assert set(walked.seconds) == {PLANNED}
    assert walked.left == list(range(199, -1, -1))
    walked = Walked(3.0)
    assert walked.counts == [10] * 20
    # 3 s of 200 turns with 5 ms each that are not sampled.
    assert sum(walked.seconds) == pytest.approx(2.0, rel=0.05)
    # At first it is not known that later ones take as long: first slices usually take longer.
    assert min(walked.seconds) > 0.005
    assert max(walked.seconds) < 0.016
    assert walked.took <= 3.0
    # Every row has one before a later launch has its part.
    walked = Walked(0.01, most=10.0)
    assert walked.counts == [1] * 20
    assert walked.walk.missing == 0


@pytest.mark.parametrize("seconds", [0.05, -1.0])
def test_where_not_even_one_of_each_fits_some_are_missing(seconds):
    walked = Walked(seconds)
    assert walked.took <= max(0, seconds)
    assert (walked.walk.missing == 20) == (seconds < 0)
    assert walked.walk.missing == walked.counts.count(0) > 0


def test_where_there_is_no_time_for_an_interval_of_all_the_head_has_all_its_slices():
    """A pass takes 0.12 s at least: six of all would take longer, and so many of four do not."""
    walked = Walked(0.3, of_head=4)
    assert all(count >= 6 for count in walked.counts[:4])
    assert set(walked.counts[4:]) <= {1, 2}
    assert walked.walk.missing == 0
    assert walked.took <= 0.3
    # Where there is, nobody waits.
    assert Walked(60.0, of_head=4).counts == [10] * 20
    walked = Walked(1.2, of_head=4)
    assert max(walked.counts) - min(walked.counts) <= 1
    plan = Plan(time=0.09, slices=3)
    walked = Walked(0.6, of_head=4, plan=plan)
    assert walked.counts[:4] == [3] * 4
    assert max(walked.counts[4:]) > 1


def test_a_last_launch_has_all_of_the_time_and_a_fixed_count_is_not_cut_unnoticed():
    # A pass takes more than 0.1 s.
    for most, is_last in ((0.19, True), (10.0, False)):
        walked = Walked(0.01, most=most, last=True)
        assert walked.walk.missing == 0
        assert (min(walked.counts) >= 1, walked.took > 0.15) == (True, is_last)
        assert walked.took <= most
    assert Walked(0.01, most=0.19).counts == [1] * 20
    plan = Plan(iterations=1000)
    assert Walked(60.0, plan=plan).walk.missing == 0
    assert Walked(1.0, plan=plan).walk.missing == 20


@given(st.floats(0.01, 20.0), st.integers(1, 30), st.floats(0.0, 0.05), st.integers(0, 2**20))
def test_a_walk_ends_in_time(seconds, items, beyond, seed):
    """As far as turns take what they took so far, twice that at most."""
    generator = random.Random(seed)
    walked = Walked(seconds, items, lambda _: beyond * generator.uniform(0.5, 1.0))
    assert walked.took <= seconds + beyond + PLANNED
    assert max(walked.counts) - min(walked.counts) <= 1
    assert all(LEAST_SLICE_SECONDS <= each <= PLANNED for each in walked.seconds)


@pytest.mark.parametrize("seed", range(20))
def test_a_turn_begins_where_one_as_long_as_the_longest_yet_fits(seed):
    """On a busy machine a few turns take far longer than the mean, and the last one may."""
    turns = random.Random(seed)
    plan = Plan(time=3.0, slices=100)
    walked = Walked(12.0, 4, lambda _: 0.9 if turns.random() < 0.1 else 0.1, plan)
    assert walked.took <= 12.0
    assert walked.took > 10.0


def test_with_a_fixed_count_turns_begin_where_one_of_the_mean_fits():
    """All of them are needed: the eleventh of 31 is long, and after it only mean ones fit."""
    numbers = iter(range(40))
    plan = Plan(iterations=1000, slices=31)
    walked = Walked(5.5, 1, lambda _: 2.0 if next(numbers) == 10 else 0.1, plan)
    assert walked.counts == [31]
    assert walked.walk.missing == 0


@given(st.floats(0.05, 20.0), st.integers(1, 30))
def test_the_number_of_turns_that_are_left_comes_true(seconds, items):
    walked = Walked(seconds, items)
    total = sum(walked.counts)
    # Once it is known how long later slices take, by one turn for each item at most.
    for number, left in enumerate(walked.left):
        if number > 2 * items:
            assert abs(number + 1 + left - total) <= items + 1
