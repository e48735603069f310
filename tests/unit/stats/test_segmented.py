"""Pieces, jumps, changes of slope and outliers of curves whose truth is known."""

import random
from itertools import pairwise

import pytest

from halftrip.stats import segmented as module
from halftrip.stats.curve_times import draws
from harness.curves import GRID, bent, curve

RUNS = 100


def segmented(times):
    return module.segmented(times, draws(times))


def planted(seed, bends):
    """So many jumps of 10 % to a factor of 3, up or down, each piece with three sizes at least."""
    drawn = random.Random(seed)
    while True:
        places = sorted(drawn.sample(range(3, len(GRID) - 2), bends))
        if all(after - before >= 3 for before, after in pairwise(places)):
            break
    segments = []
    per_byte = 0.1
    for place in places:
        size = GRID[place]
        jump = drawn.uniform(1.1, 3.0) ** drawn.choice((-1, 1))
        time = jump * bent(size, segments)
        # Flatter or steeper.
        per_byte *= drawn.uniform(0.5, 3.0) * min(jump, 1.0)
        segments.append((size, time - size * per_byte, per_byte))
    return segments


def jumps(found):
    return [
        (GRID.index(int(each.low)), GRID.index(int(each.high)))
        for each in found.changes
        if each.is_jump
    ]


def test_planted_jumps_are_found_and_none_is_invented():
    hits = wanted = invented = 0
    for seed in range(RUNS):
        segments = planted(seed, seed % 5)
        places = [GRID.index(first) for first, *_ in segments]
        found = jumps(segmented(curve(segments, seed=seed)))
        wanted += len(places)
        hits += sum(
            any(place - 2 <= low < place <= high <= place + 1 for low, high in found)
            for place in places
        )
        invented += any(not any(low < place <= high for place in places) for low, high in found)
    assert hits >= 0.95 * wanted
    assert invented <= 0.05 * RUNS


def test_a_change_of_slope_is_no_jump():
    meets = 1000.0 + (0.1 - 0.02) * 8192
    found = segmented(curve([(8192, meets, 0.02)], noise=0.003))
    (change,) = found.changes
    assert not change.is_jump
    assert change.low <= 8192 <= change.high
    assert not change.step.is_apart_from(0.2)


@pytest.mark.parametrize("place", [0, 11, 22])
def test_a_single_point_is_an_outlier_and_no_piece(place):
    times = curve(noise=0.005)
    times.times[place] *= 3
    found = segmented(times)
    assert found.outliers == [GRID[place]]
    assert not found.changes


def test_of_a_coarse_clock_a_step_is_no_jump():
    """Sizes one by one, as of a clock of 1 us: the time rises by 1 us every 250 bytes."""
    times = curve(
        sizes=range(4, 1004, 4), start=3000.0, per_byte=4.0, noise=0.0, repeats=1, step=1000.0
    )
    assert times.step == 1000.0
    assert not segmented(times).changes
    # Twice the step is one.
    high = curve([(500, 9000.0, 4.0)], sizes=range(4, 1004, 4), start=3000.0, per_byte=4.0,
                 noise=0.0, repeats=1, step=1000.0)  # fmt: skip
    (change,) = segmented(high).changes
    assert change.is_jump
    assert change.low <= 500 <= change.high + 4
