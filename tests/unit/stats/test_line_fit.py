"""Lines and pieces of time over size: against numpy's and scipy's, and with known truths."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from halftrip.stats import segmented as module
from halftrip.stats.curve_times import CurveTimes, draws
from halftrip.stats.line_fit import fit_line, relative_weights, robust_weights
from harness.curves import GRID, bent, curve

TIMES = st.lists(st.floats(1.0, 1e6), min_size=3, max_size=12)


def once(times):
    """A curve of figures without repeats."""
    sizes = np.array([float(1 << n) for n in range(len(times))])
    unknown = np.full(sizes.size, np.nan)
    return CurveTimes(sizes, np.array(times), unknown, [], "residuals")


@given(TIMES)
def test_without_limits_the_line_is_that_of_least_squares(times):
    found = fit_line(once(times), np.ones(len(times)), None, "none")
    per_byte, start = np.polyfit(once(times).sizes, times, 1)
    scale = max(times)
    assert found.start == pytest.approx(start, abs=1e-6 * scale)
    assert found.per_byte == pytest.approx(per_byte, abs=1e-6 * scale)


@given(TIMES)
def test_with_limits_it_is_that_of_non_negative_least_squares(times):
    line = once(times)
    weights = relative_weights(line)
    found = fit_line(line, weights, None)
    roots = np.sqrt(weights)
    matrix = np.array([roots, roots * line.sizes]).T
    (start, per_byte), _ = optimize.nnls(matrix, roots * line.times)
    error = np.sum(weights * (line.times - found.start - found.per_byte * line.sizes) ** 2)
    least = np.sum(weights * (line.times - start - per_byte * line.sizes) ** 2)
    assert found.start >= 0
    assert found.per_byte >= 0
    assert error == pytest.approx(least, rel=1e-6, abs=1e-9)


def test_a_robust_line_leaves_an_outlier_where_it_is():
    times = [1000.0 + 0.1 * (1 << n) for n in range(20)]
    times[11] *= 10
    weights = robust_weights(once(times))
    found = fit_line(once(times), weights, None)
    assert found.start == pytest.approx(1000, rel=0.01)
    assert found.per_byte == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(
    "options", [{"noise": 0.03}, {"noise": 0.01, "launch": 0.02, "repeats": 6}]
)
def test_intervals_hold_what_they_promise(options):
    hits = []
    for seed in range(60):
        times = curve(seed=seed, **options)
        line = fit_line(times, relative_weights(times), draws(times))
        hits += [
            not line.start_estimate().is_apart_from(1000.0),
            not line.per_byte_estimate().is_apart_from(0.1),
        ]
    assert np.mean(hits) >= 0.92


def test_neither_a_line_that_does_not_fit_nor_one_of_two_points_is_called_exact():
    times = curve([(4096, 3000.0, 0.05)], noise=0.001)
    line = fit_line(times, relative_weights(times), draws(times))
    assert line.start_estimate().half_width > 0.02 * line.start
    found = fit_line(once([1.0, 2.0]), np.ones(2), None)
    assert np.isnan(found.start_estimate().low)
    assert np.isnan(found.n_half().low)


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


def test_the_only_size_that_was_repeated_may_be_an_outlier():
    sizes = 64.0 * np.arange(1, 41)
    times = 100 + 0.1 * sizes
    times[20] *= 3
    repeats = [np.array([time]) for time in times]
    repeats[20] = times[20] * np.array([0.99, 1.01])
    once_or_twice = CurveTimes(sizes, times, np.full(40, np.inf), repeats, "slices")
    found = module.segmented(once_or_twice, draws(once_or_twice))
    assert found.outliers == [sizes[20]]
    assert found.changes == []
