"""Adaptive sizes locate every breakpoint of a curve, and no others, with few measurements."""

import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from halftrip.analysis.breakpoints import breakpoints
from halftrip.measure.adaptive_sizes import Refinement, next_sizes
from halftrip.results.records import Failure
from halftrip.stats.piecewise import CurvePoint
from harness import runs

DOUBLES = tuple(2**power for power in range(23))


def line(size):
    return 500 + size / 10


def jump(at, share, base=line):
    """From `at` bytes on, the time is longer by this share of the time there, a constant."""
    return lambda size: base(size) + (share * base(at) if size >= at else 0)


def slope(at, share):
    """From `at` bytes on, each byte takes longer by this share."""
    return lambda size: line(size) + max(0, size - at) * share / 10


def measure(curve, sizes, noise, spread, generator):
    return [
        CurvePoint(size, curve(size) * (1 + noise * generator.standard_normal()), spread)
        for size in sizes
    ]


def refine(curve, schedule=DOUBLES, noise=0.0, spread=0.0, seed=1, budget=200):
    """The breakpoints, and how many sizes were added to find them."""
    generator = np.random.default_rng(seed)
    points = measure(curve, schedule, noise, spread, generator)
    for _ in range(100):
        sizes = next_sizes(points, schedule, budget)
        assert len(set(sizes)) == len(sizes)
        assert not set(sizes) & {point.size for point in points}
        if not sizes:
            return breakpoints(points), len(points) - len(schedule)
        points += measure(curve, sizes, noise, spread, generator)
    pytest.fail("it does not end")


def located(found, *places):
    """Whether each of these places, and no other, was found within the resolution."""
    return len(found) == len(places) and all(
        one.low < place <= one.high and one.high - one.low <= max(8, 0.01 * place)
        for one, place in zip(found, places, strict=True)
    )


@pytest.mark.parametrize(
    ("noise", "spread", "seed"),
    [(0.0, 0.0, 1), *((0.005, 0.01, seed) for seed in range(5)), (0.1, 0.02, 1)],
)
def test_a_straight_curve_needs_one_middle_of_each_interval(noise, spread, seed):
    """Also in noise, and in scatter that is wider than the intervals say."""
    # From 16..32 on: narrower intervals are within 8 bytes.
    assert refine(line, noise=noise, spread=spread, seed=seed) == ((), 18)


@settings(max_examples=25)
@given(st.floats(6, 22), st.floats(0.15, 3.0), st.floats(0, 20_000), st.floats(0.001, 1))
@example(16, 0.15, 499, 0.1)  # a scheduled size, and the next one
@example(math.log2(65537), 3.0, 499, 0.1)
@example(math.log2(70_000), -0.3, 499, 0.1)
def test_any_jump_is_located(power, share, latency, byte_time):
    at = round(2**power)
    curve = jump(at, share, lambda size: 1 + latency + size * byte_time)
    found, added = refine(curve)
    assert located(found, at)
    assert added <= 40
    # Never more than the budget.
    assert refine(curve, budget=5)[1] == 5


@pytest.mark.parametrize("seed", range(5))
def test_a_jump_is_located_in_noise(seed):
    at = round(2 ** np.random.default_rng(seed).uniform(6, 21.9))
    found, added = refine(jump(at, 0.2), noise=0.005, spread=0.01, seed=seed)
    assert (located(found, at), added <= 40) == (True, True)


@pytest.mark.parametrize("places", [(1000, 65537), (70_000, 90_000), (70_000, 72_000), (100, 130)])
@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_two_jumps_are_located(places, noise):
    first, second = places
    found, added = refine(jump(second, 0.3, jump(first, 0.3)), noise=noise, spread=2 * noise)
    assert located(found, *places)
    assert added <= 40


@pytest.mark.parametrize("share", [0.5, -0.5])
@pytest.mark.parametrize("at", [5000, 65536, 3_000_000])
def test_a_change_of_slope_is_located_even_on_a_scheduled_size(at, share):
    found, added = refine(slope(at, share))
    assert located(found, at)
    assert added <= 40


def test_a_change_of_slope_in_noise_is_in_its_interval():
    """In nine of ten runs at least; and the interval is below a tenth of the size."""
    at = 90_000
    results = [refine(slope(at, 1.0), noise=0.005, spread=0.01, seed=s) for s in range(10)]
    assert all(len(found) == 1 for found, _ in results)
    assert sum(found[0].low <= at <= found[0].high for found, _ in results) >= 9
    assert all(found[0].high - found[0].low < 0.1 * at for found, _ in results)
    assert all(added <= 60 for _, added in results)


@pytest.mark.parametrize(
    ("curve", "places"),
    [
        (lambda size: 500 + size / 10 if size < 65536 else 1500 + size / 13, (65536,)),
        (lambda size: line(size) * (3 if size == 4096 else 1), (4096, 4097)),
    ],
)
def test_a_jump_with_a_change_of_slope_is_one_breakpoint_and_a_slow_size_two(curve, places):
    assert located(refine(curve)[0], *places)


@pytest.mark.parametrize("spread", [math.inf, math.nan])
def test_without_intervals_only_large_jumps_are_found(spread):
    assert refine(jump(70_000, 0.1), spread=spread) == ((), 18)
    assert located(refine(jump(70_000, 3.0), spread=spread)[0], 70_000)


@pytest.mark.parametrize("count", range(4))
def test_fewer_than_four_points_have_no_breakpoints(count):
    points = [CurvePoint(2**k, random.Random(k).uniform(1, 1000), 0.01) for k in range(count)]
    assert breakpoints(points) == ()
    assert count > 0 or next_sizes(points, DOUBLES) == ()


def test_sizes_without_a_time_are_left_out_and_not_requested_again():
    first, *points = (
        CurvePoint(64, 0.0, math.inf),
        CurvePoint(128, 100.0, 0.01),
        CurvePoint(512, 150.0, 0.01),
    )
    assert next_sizes([first, *points], (64, 128, 256, 512, 1024)) == ()
    assert next_sizes([first, *points], (64, 128, 512)) == (320,)
    for time in (0.0, math.nan):
        assert next_sizes([*points, CurvePoint(320, time, math.nan)], (128, 512)) == ()


# Curves of configurations.


def taken(refinement, transport, size, round_=0, half_ns=None, pairs=((0, 1),)):
    """Gives a refinement a turn: one slice of each of the pairs."""
    measured = [
        runs.measurement(transport, size, pair=pair, half_ns=half_ns or line(size))
        for pair in pairs
    ]
    refinement.take(round_, measured)


def wanted(*sizes):
    """The settings of two curves with these sizes."""
    return [runs.configuration(name, size) for name in ("shm", "tcp") for size in sizes]


def test_the_next_configurations_of_each_curve_are_like_its_others():
    refinement = Refinement(wanted(1024, 4096))
    for round_, transport in ((0, "shm"), (0, "tcp"), (1, "shm")):
        for size in (1024, 4096):
            for _ in range(3):
                taken(refinement, transport, size, round_, pairs=((0, 2), (1, 3)))
    more = refinement.more()
    # Each round has its own curves.
    assert [(round_, each.transport, each.size) for round_, each in more] == [
        (0, "shm", 2560), (0, "tcp", 2560), (1, "shm", 2560),
    ]  # fmt: skip
    # Settings: whoever talks in the round measures them.
    assert all(configuration.setting == configuration for _, configuration in more)


def test_a_curve_is_refined_between_its_own_sizes_and_nothing_is_requested_twice():
    """Parts of a plan have sizes of their own."""
    refinement = Refinement(
        [runs.configuration(name, size) for name, size in (("shm", 1024), ("tcp", 4096))]
    )
    for transport, size in (("shm", 1024), ("tcp", 4096)):
        taken(refinement, transport, size)
    assert refinement.more() == []
    # Nothing is requested twice, nor where nothing was measured.
    refinement = Refinement(wanted(1024, 4096))
    assert refinement.more() == []
    refinement.take(0, [])
    refinement.take(
        0, [Failure(configuration=runs.configuration(size=1024), slice=0, reason="lost")]
    )
    assert refinement.more() == []
    for size in (1024, 4096):
        taken(refinement, "shm", size)
    assert len(refinement.more()) == 1
    # It was refused, or failed.
    assert refinement.more() == []
