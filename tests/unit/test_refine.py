"""Bends are found where they are, no others, with few measurements, and it ends."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.breakpoints import Bend, Point, bends, next_sizes

DOUBLES = tuple(2**power for power in range(23))


def line(size):
    return 500 + size / 10


def jump(at, share, base=line):
    """From `at` bytes on slower by this share of the time there."""
    return lambda size: base(size) + (share * base(at) if size >= at else 0)


def slope(at, share):
    """From `at` bytes on each byte takes by this share longer."""
    return lambda size: line(size) + max(0, size - at) * share / 10


def measure(curve, sizes, noise, spread, generator):
    return [
        Point(size, curve(size) * (1 + noise * generator.standard_normal()), spread)
        for size in sizes
    ]


def refine(curve, schedule=DOUBLES, noise=0.0, spread=0.0, seed=1, budget=200):
    """The bends, and how many sizes were added to find them."""
    generator = np.random.default_rng(seed)
    points = measure(curve, schedule, noise, spread, generator)
    for _ in range(100):
        sizes = next_sizes(points, schedule, budget)
        assert len(set(sizes)) == len(sizes)
        assert not set(sizes) & {point.size for point in points}
        if not sizes:
            return bends(points), len(points) - len(schedule)
        points += measure(curve, sizes, noise, spread, generator)
    pytest.fail("it does not end")


def located(found, *truths):
    """Whether each truth, and nothing else, was found, as closely as promised."""
    return len(found) == len(truths) and all(
        bend.low < truth <= bend.high and bend.high - bend.low <= max(8, 0.01 * truth)
        for bend, truth in zip(found, truths, strict=True)
    )


def test_a_straight_curve_costs_one_middle_of_each_interval():
    assert refine(line) == ((), 18)  # from 16..32 on: narrower intervals are within 8 bytes


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_bend(seed):
    assert refine(line, noise=0.005, spread=0.01, seed=seed) == ((), 18)


@pytest.mark.parametrize("share", [0.1, 0.15, 3.0])
@pytest.mark.parametrize("at", [64, 65, 1000, 8193, 65536, 65537, 3_000_000, 3145729, 4194304])
def test_a_jump_is_located(at, share):
    found, added = refine(jump(at, share))
    assert located(found, at)
    assert added <= 30


@settings(max_examples=40, deadline=None)
@given(st.floats(6, 22), st.floats(0.15, 3.0), st.floats(0, 20_000), st.floats(0.001, 1))
def test_every_jump_is_located(power, share, latency, byte_time):
    at = round(2**power)
    found, added = refine(jump(at, share, lambda size: 1 + latency + size * byte_time))
    assert located(found, at)
    assert added <= 40


@pytest.mark.parametrize("seed", range(10))
def test_a_jump_is_located_in_noise(seed):
    at = round(2 ** np.random.default_rng(seed).uniform(6, 21.9))
    found, added = refine(jump(at, 0.2), noise=0.005, spread=0.01, seed=seed)
    assert located(found, at)
    assert added <= 40


def test_a_jump_down_is_located():
    assert located(refine(jump(70_000, -0.3))[0], 70_000)


@pytest.mark.parametrize("truths", [(1000, 65537), (70_000, 90_000), (70_000, 72_000), (100, 130)])
@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_two_jumps_are_located(truths, noise):
    first, second = truths
    found, added = refine(jump(second, 0.3, jump(first, 0.3)), noise=noise, spread=2 * noise)
    assert located(found, *truths)
    assert added <= 40


@pytest.mark.parametrize("share", [0.5, 1.0, -0.5])
@pytest.mark.parametrize("at", [5000, 65536, 100_000, 1_000_000, 3_000_000])
def test_a_change_of_slope_is_located_even_on_a_scheduled_size(at, share):
    found, added = refine(slope(at, share))
    assert located(found, at)
    assert added <= 40


def test_a_change_of_slope_in_noise_is_known_as_well_as_noise_allows():
    at = 90_000
    results = [refine(slope(at, 1.0), noise=0.005, spread=0.01, seed=s) for s in range(20)]
    assert all(len(found) == 1 for found, _ in results)
    assert sum(found[0].low <= at <= found[0].high for found, _ in results) >= 18
    assert all(found[0].high - found[0].low < 0.1 * at for found, _ in results)
    assert all(added <= 60 for _, added in results)


def test_a_jump_with_a_change_of_slope_is_one_bend():
    found, _ = refine(lambda size: 500 + size / 10 if size < 65536 else 1500 + size / 13)
    assert located(found, 65536)


def test_a_bad_size_stands_between_two_bends():
    found, _ = refine(lambda size: line(size) * (3 if size == 4096 else 1))
    assert located(found, 4096, 4097)


def test_scatter_beyond_the_intervals_is_no_bend():
    assert refine(line, noise=0.1, spread=0.02) == ((), 18)


@pytest.mark.parametrize("spread", [math.inf, math.nan])
def test_without_intervals_only_great_jumps_are_seen(spread):
    assert refine(jump(70_000, 0.1), spread=spread) == ((), 18)
    assert located(refine(jump(70_000, 3.0), spread=spread)[0], 70_000)


@pytest.mark.parametrize("budget", [0, 1, 17, 18, 20, 50])
def test_the_budget_is_kept(budget):
    def stairs(size):
        return 500 + 1000 * (size // 1460) + size / 10

    _, added = refine(stairs, budget=budget)
    assert added == budget


def test_the_clearest_bend_comes_first():
    curve = jump(1_000_000, 2.0, jump(1000, 0.2))
    points = [Point(size, curve(size), 0.0) for size in DOUBLES]
    points += [Point(size, curve(size), 0.0) for size in next_sizes(points, DOUBLES)]
    first, second = next_sizes(points, DOUBLES)
    assert 524288 < first < 1048576
    assert 512 < second < 1024


@given(st.permutations(range(len(DOUBLES))))
@settings(max_examples=10, deadline=None)
def test_the_order_of_points_does_not_matter(order):
    curve = jump(3000, 0.5)
    points = [Point(DOUBLES[index], curve(DOUBLES[index]), 0.01) for index in order]
    assert next_sizes(points, DOUBLES) == next_sizes(sorted(points), DOUBLES)
    assert bends(points) == bends(sorted(points)) == (Bend(2048, 4096),)


@pytest.mark.parametrize("count", range(4))
def test_few_points_tell_nothing(count):
    points = [Point(2**k, random.Random(k).uniform(1, 1000), 0.01) for k in range(count)]
    assert bends(points) == ()


def test_what_was_not_measured_or_took_no_time_is_left_out():
    points = [Point(64, 0.0, math.inf), Point(128, 100.0, 0.01), Point(512, 150.0, 0.01)]
    assert next_sizes(points, (64, 128, 256, 512, 1024)) == ()
    assert next_sizes(points, (64, 128, 512)) == (320,)


@pytest.mark.parametrize("time", [0.0, math.nan])
def test_what_could_not_be_measured_is_not_asked_for_again(time):
    points = [Point(128, 100.0, 0.01), Point(512, 150.0, 0.01), Point(320, time, math.nan)]
    assert next_sizes(points, (128, 512)) == ()


def test_nothing_measured_is_nothing_to_do():
    assert next_sizes([], DOUBLES) == ()
    assert bends([]) == ()
