"""Figures with intervals: differences, ratios, sums and least squares."""

import math
from functools import cache

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats.estimate import Estimate, combined, difference, linear_fit, ratio
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median
from harness.noise import KINDS

figures = st.floats(1.0, 1e6)
sides = st.floats(0.0, 0.9)


@st.composite
def estimates(draw):
    """A figure above 0, and an interval above 0 around it."""
    value, down, up = draw(figures), draw(sides), draw(sides)
    return Estimate(value, value * (1 - down), value * (1 + up))


@given(estimates(), estimates())
def test_the_intervals_hold_the_figures_and_the_other_way_round_are_the_opposite(one, other):
    there, back = difference(one, other), difference(other, one)
    upside, inverse = ratio(one, other), ratio(other, one)
    for found in (there, upside):
        slack = 1e-9 * max(one.value, other.value)
        assert found.low - slack <= found.value <= found.high + slack
    slack = 1e-9 * max(one.high, other.high)
    assert back == pytest.approx([-there.value, -there.high, -there.low], abs=slack)
    assert inverse == pytest.approx([1 / upside.value, 1 / upside.high, 1 / upside.low], rel=1e-6)
    if one.low > other.high:
        assert there.is_apart_from(0.0)
        assert upside.is_apart_from(1.0)


@pytest.mark.parametrize("unknown", [Estimate(3.0), Estimate(math.nan)])
def test_without_both_intervals_or_of_a_time_that_may_be_0_there_is_none(unknown):
    known = Estimate(2.0, 1.0, 3.0)
    for found in (difference(unknown, known), ratio(unknown, known)):
        assert math.isnan(found.low)
        assert math.isnan(found.half_width)
        assert not found.is_apart_from(0.0)
    assert difference(Estimate(3.0), known).value == 1.0
    assert ratio(Estimate(3.0, 0.0, 4.0), known).value == 1.5
    assert math.isnan(ratio(Estimate(3.0, 0.0, 4.0), known).low)
    assert math.isnan(ratio(Estimate(3.0, 2.0, 4.0), Estimate(0.0, 0.0, 0.0)).value)


@cache
def middle_of(kind):
    return float(np.median(KINDS[kind](np.random.default_rng(1), 100_000)))


def slices(generator, kind, count, level, spread):
    """The estimate from so many slices whose medians have this noise around a level."""
    medians = level + spread * (KINDS[kind](generator, count) - middle_of(kind))
    return Estimate(median(medians), *interval([SliceMedian(float(each)) for each in medians]))


@pytest.mark.parametrize("count", [3, 6, 20])
@pytest.mark.parametrize(
    ("kind", "spreads"),
    [("independent", (1.0, 1.0)), ("lognormal", (0.2, 1.0)), ("spikes", (1, 0.2))],
)
def test_coverage_of_95_percent_whatever_the_spreads(kind, spreads, count):
    """Fewer than 92 % of 200 trials are below what is expected by two standard errors."""
    generator, trials = np.random.default_rng(count), 200
    hits = ratios = 0
    for _ in range(trials):
        upper, lower = (
            slices(generator, kind, count, level, spread)
            for level, spread in zip((1300.0, 1000.0), spreads, strict=True)
        )
        found, factor = difference(upper, lower), ratio(upper, lower)
        hits += found.low <= 300.0 <= found.high
        ratios += factor.low <= 1.3 <= factor.high
    assert min(hits, ratios) / trials >= 0.92


@given(estimates(), st.floats(0.01, 100.0), figures)
def test_one_figure_is_scaled(one, factor, offset):
    assert combined([(factor, one)], offset) == pytest.approx(one.scaled(factor, offset), rel=1e-9)
    value, low, high = combined([(-factor, one)], offset)
    assert (value, high, low) == pytest.approx([offset - factor * each for each in one], rel=1e-9)


def test_a_figure_that_counts_not_at_all_needs_no_interval_others_do():
    one, unknown = Estimate(10.0, 9.0, 11.0), Estimate(5.0)
    assert combined([(1.0, one), (0.0, unknown)]) == one
    assert math.isnan(combined([(1.0, one), (1.0, unknown)]).low)
    times = exact(100 + 2 * SIZES, 0.01)
    times[2] = Estimate(times[2].value)
    for found in linear_fit(LINE, times).parameters:
        assert math.isnan(found.low)
        assert math.isnan(found.high)


SIZES = np.array([0.0, 10.0, 100.0, 1000.0, 10_000.0])
LINE = np.stack([np.ones_like(SIZES), SIZES], axis=1)


def exact(values, share=0.0):
    return [Estimate(v, v * (1 - share), v * (1 + share)) for v in np.asarray(values).tolist()]


@given(st.floats(1.0, 1e6), st.floats(1e-3, 1e3))
def test_a_line_comes_out(start, slope):
    found = linear_fit(LINE, exact(start + slope * SIZES))
    assert found.parameters[0].value == pytest.approx(start, rel=1e-6)
    assert found.parameters[1].value == pytest.approx(slope, rel=1e-6)
    assert found.scatter < 1e-6
    assert max(found.misfits(exact(start + slope * SIZES))) == pytest.approx(1.0, abs=1e-6)


def test_times_that_scatter_have_the_intervals_of_the_textbook():
    """With as many degrees of freedom as there are more times than parameters."""
    times = (100 + 2 * SIZES) * np.array([1.02, 0.97, 1.03, 0.98, 1.01])
    rows = LINE / times[:, None]
    found, squares, *_ = np.linalg.lstsq(rows, np.ones(len(times)), rcond=None)
    spread = squares[0] / (len(times) - 2) * np.linalg.inv(rows.T @ rows).diagonal()
    half = scipy.stats.t.ppf(0.975, len(times) - 2) * np.sqrt(spread)
    fit = linear_fit(LINE, exact(times))
    assert [each.value for each in fit.parameters] == pytest.approx(found)
    assert [each.high for each in fit.parameters] == pytest.approx(found + half)
    assert [each.low for each in fit.parameters] == pytest.approx(found - half)
