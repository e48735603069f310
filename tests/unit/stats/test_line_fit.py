"""Lines of time over size: against numpy's and scipy's, and with known truths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from halftrip.stats.curve_times import CurveTimes, draws
from halftrip.stats.line_fit import fit_line, relative_weights, robust_weights
from harness.curves import curve

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
    ("options", "least"),
    [({"noise": 0.03}, 0.92), ({"noise": 0.01, "launch": 0.02, "repeats": 6}, 0.92)],
)
def test_intervals_hold_what_they_promise(options, least):
    hits = []
    for seed in range(60):
        times = curve(seed=seed, **options)
        line = fit_line(times, relative_weights(times), draws(times))
        hits += [
            not line.start_estimate().is_apart_from(1000.0),
            not line.per_byte_estimate().is_apart_from(0.1),
        ]
    assert np.mean(hits) >= least


def test_a_line_that_does_not_fit_is_not_called_exact():
    times = curve([(4096, 3000.0, 0.05)], noise=0.001)
    line = fit_line(times, relative_weights(times), draws(times))
    assert line.start_estimate().half_width > 0.02 * line.start


def test_two_points_without_repeats_have_no_interval():
    found = fit_line(once([1.0, 2.0]), np.ones(2), None)
    assert np.isnan(found.start_estimate().low)
    assert np.isnan(found.n_half().low)
