"""The walk: which slice of which configuration is next, until all have what was planned for
them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.measure.walk import SEGMENTS, Walk
from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.slices import LEAST_SLICE_SECONDS, iterations_of, planned_slices
from harness import runs

CHOICES = {"shm": {"wait": ("spin",)}}
ITEMS = [(round_, runs.configuration(size=size)) for round_ in (0, 3) for size in (1, 2, 4, 8)]


def turns_of(plan, items=ITEMS, closes=lambda item, number: None, seed=1, shown=()):
    """The items of all turns, with the numbers of their slices. `closes(item, number)` says after a
    turn whether its item needs no more: None: it does; True or False: not, and others may have what
    it leaves, or not."""
    walk = Walk(PartPlans(plan, CHOICES), items, random.Random(seed), shown=shown)
    found = []
    for turn in walk.turns():
        item = (turn.round, turn.setting)
        found.append((item, turn.number))
        spares = closes(item, turn.number)
        if spares is not None:
            walk.close(spares)
    return found


def numbers_of(found):
    """The numbers of the slices of each item, in order."""
    return {item: [number for other, number in found if other == item] for item, _ in found}


# Planned slices.


@pytest.mark.parametrize(
    ("plan", "slices"),
    [
        (Plan(), 20),
        (Plan(slices=3), 3),
        # A slice is not too short.
        (Plan(time=4.5 * LEAST_SLICE_SECONDS), 4),
        (Plan(time=0.1 * LEAST_SLICE_SECONDS), 1),
        (Plan(iterations=1000), 20),
        (Plan(iterations=7), 7),
        (Plan(iterations=1, time=1e-9), 1),
    ],
)
def test_the_time_of_a_configuration_is_dealt_in_slices(plan, slices):
    assert planned_slices(plan) == slices


@given(st.integers(1, 10_000), st.integers(1, 50))
def test_iterations_are_dealt_exactly(iterations, slices):
    plan = Plan(iterations=iterations, slices=slices)
    dealt = [iterations_of(plan, number) for number in range(planned_slices(plan))]
    assert sum(dealt) == iterations
    assert max(dealt) - min(dealt) <= 1
    assert min(dealt) >= 1
    # Without a count a slice has its time.
    assert iterations_of(Plan(), 3) is None


@pytest.mark.parametrize(
    ("plan", "shown", "times"),
    [
        (Plan(slices=2), 0, 1),
        (Plan(slices=2), 1, 4),
        (Plan(slices=2), 2, 3),
        (Plan(slices=2), 5, 1),
        # Others would not take part in these.
        (Plan(slices=2), 8, 1),
        (Plan(slices=2, iterations=100), 1, 1),
    ],
)
def test_what_is_shown_has_more_slices_as_long_as_they_are_no_more_than_half(plan, shown, times):
    found = numbers_of(turns_of(plan, shown=ITEMS[:shown]))
    wanted = [2 * times] * shown + [2] * (len(ITEMS) - shown)
    assert [len(found[item]) for item in ITEMS] == wanted
    assert sum(wanted) <= 1.5 * 2 * len(ITEMS)


# The order.


@given(st.integers(1, 12), st.integers(0, 8), st.integers(0, 10))
def test_each_item_has_all_its_slices_pass_after_pass(slices, count, seed):
    items = ITEMS[:count]
    found = turns_of(Plan(slices=slices), items, seed=seed)
    assert numbers_of(found) == {item: list(range(slices)) for item in items}
    # All have one before any has its next.
    assert [number for _, number in found] == sorted(number for _, number in found)


def test_each_pass_has_an_order_of_its_own():
    found = turns_of(Plan(slices=10))
    orders = [[item for item, number in found if number == own] for own in range(10)]
    assert len({tuple(order) for order in orders}) == 10
    # No item is always first.
    firsts = Counter(order[0] for order in orders)
    assert max(firsts.values()) < 6


@given(st.sets(st.sampled_from(range(len(ITEMS)))), st.integers(0, 20))
def test_the_first_pass_begins_with_the_head_and_later_ones_do_not(chosen, seed):
    head = {ITEMS[index] for index in chosen}
    walk = Walk(PartPlans(Plan(), CHOICES), ITEMS, random.Random(seed), head=head)
    found = [((turn.round, turn.setting), turn.number) for turn in walk.turns()]
    orders = [[item for item, number in found if number == own] for own in range(10)]
    assert set(orders[0][: len(head)]) == head
    assert all(set(order) == set(ITEMS) for order in orders)


def test_either_part_of_the_first_pass_is_in_random_order():
    head = set(ITEMS[:3])
    orders = [
        [turn.setting.size for turn in Walk(
            PartPlans(Plan(slices=1), CHOICES), ITEMS, random.Random(seed), head=head
        ).turns()]
        for seed in range(40)
    ]  # fmt: skip
    assert {order[0] for order in orders} == {1, 2, 4}
    assert len({tuple(order[3:]) for order in orders}) > 30
    later = Walk(PartPlans(Plan(slices=40), CHOICES), ITEMS, random.Random(1), head=head)
    firsts = Counter()
    seen = set()
    for turn in later.turns():
        if turn.number and turn.number not in seen:
            seen.add(turn.number)
            firsts[(turn.round, turn.setting) in head] += 1
    # Three of eight are of the head: as often it has the first turn, about.
    assert 5 <= firsts[True] <= 25


def mixed(**keys):
    """A plan whose sizes 1 and 2 have 25 iterations, 4 has 3, and 8 has its time."""
    counts = {1: 25, 2: 25, 4: 3, 8: None}
    parts = tuple({"sizes": (size,), "iterations": count} for size, count in counts.items())
    return Plan(transport=("shm",), part=parts, **keys)


@given(st.integers(0, 10), st.booleans())
def test_parts_with_a_count_have_exactly_that(seed, spares):
    """Whatever others leave."""
    walk = Walk(PartPlans(mixed(), CHOICES), ITEMS, random.Random(seed))
    iterations = Counter()
    slices = Counter()
    for turn in walk.turns():
        item = (turn.round, turn.setting.size)
        slices[item] += 1
        iterations[item] += turn.iterations or 0
        # One of those with their time is over early, and so is one with a count, as if it failed.
        if item in ((0, 8), (0, 1)) and turn.number == 2:
            walk.close(spares)
    by_size = {size: [slices[round_, size] for round_ in (0, 3)] for size in (1, 2, 4, 8)}
    left = (17 + 17) if spares else 0
    assert by_size == {1: [3, 20], 2: [20, 20], 4: [3, 3], 8: [3, 20 + left]}
    assert [iterations[3, size] for size in (1, 2, 4, 8)] == [25, 25, 3, 0]
    assert walk.missing == 0


def test_counts_that_take_more_slices_than_a_short_time_have_all_of_them():
    walk = Walk(PartPlans(mixed(time=4.5 * LEAST_SLICE_SECONDS), CHOICES), ITEMS)
    assert walk.left == 2 * (20 + 20 + 3 + 4)
    slices = Counter(turn.setting.size for turn in walk.turns())
    assert slices == {1: 40, 2: 40, 4: 6, 8: 8}
    assert walk.left == 0


# Items that need no more.


def test_what_closed_items_leave_goes_to_the_others():
    """As far as three times what was planned for each."""
    # Half of the items are closed after six of ten slices.
    closed = set(ITEMS[::2])
    found = turns_of(
        Plan(slices=10),
        closes=lambda item, number: True if item in closed and number == 5 else None,
    )
    assert len(found) == 10 * len(ITEMS)
    numbers = numbers_of(found)
    for item in ITEMS:
        count = len(numbers[item])
        assert count == 6 if item in closed else 13 <= count <= 15
    assert sum(len(numbers[item]) for item in ITEMS if item not in closed) == 4 * 10 + 4 * 4


def test_one_item_has_three_times_its_slices_at_most():
    closed = set(ITEMS[1:])
    found = turns_of(
        Plan(slices=10),
        closes=lambda item, number: True if item in closed and number == 0 else None,
    )
    assert numbers_of(found)[ITEMS[0]] == list(range(30))


@given(st.data())
def test_never_more_turns_than_were_planned(data):
    slices = data.draw(st.integers(1, 10))
    last = {item: data.draw(st.none() | st.integers(0, 30)) for item in ITEMS}
    spares = {item: data.draw(st.booleans()) for item in ITEMS}
    found = turns_of(
        Plan(slices=slices),
        closes=lambda item, number: spares[item] if last[item] == number else None,
        seed=data.draw(st.integers(0, 100)),
    )
    assert len(found) <= slices * len(ITEMS)
    for item, numbers in numbers_of(found).items():
        assert numbers == list(range(len(numbers)))
        assert len(numbers) <= 3 * slices
        # What was planned, unless it was closed.
        needed = slices if last[item] is None else last[item] + 1
        assert len(numbers) >= min(slices, needed)
        assert last[item] is None or len(numbers) <= needed


# Segments of memory.


def test_an_item_has_every_segment_once_before_it_has_any_again():
    segments = {}
    for turn in Walk(PartPlans(Plan(slices=2 * SEGMENTS), CHOICES), ITEMS).turns():
        segments.setdefault((turn.round, turn.setting), []).append(turn.segment)
    every = list(range(SEGMENTS))
    for found in segments.values():
        assert sorted(found[:SEGMENTS]) == sorted(found[SEGMENTS:]) == every
    # In orders of their own: what rows have in common is not where they are.
    assert len({tuple(found) for found in segments.values()}) == len(ITEMS)
