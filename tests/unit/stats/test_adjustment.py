"""How times go with the core-to-core round trip."""

import math

import numpy as np
import pytest

from halftrip.stats.adjustment import adjusted, rank_correlation


def slices(generator, k, exponent, noise, spread=0.15):
    """Round trips about 140 ns and times about 1000, which go with their power `exponent`."""
    x = spread * generator.standard_normal(k)
    return 140 * np.exp(x), 1000 * np.exp(exponent * x + noise * generator.standard_normal(k))


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [6, 10, 30])
def test_the_time_at_a_line_is_covered(exponent, k):
    generator = np.random.default_rng([k, int(10 * exponent)])
    for line in (140.0, 160.0):
        true = 1000 * (line / 140) ** exponent
        found = [adjusted(*slices(generator, k, exponent, 0.01), line) for _ in range(200)]
        hits = [each.low <= true <= each.high for each in found if each is not None]
        assert len(hits) > 180
        assert np.mean(hits) >= 0.92


def test_where_it_cannot_be_told():
    lines, times = slices(np.random.default_rng(3), 10, 0.8, 0.003)
    assert adjusted(lines[:5], times[:5], 140.0) is None
    assert adjusted([math.nan] * 10, times, 140.0) is None
    assert adjusted([math.nan] * 5 + list(lines[5:]), times, 140.0) is None
    assert adjusted(lines, times, math.nan) is None
    assert adjusted(lines, [0.0, *times[1:]], 140.0) is None
    # The probes of one line differ by as much.
    assert adjusted(np.linspace(140, 145, 10), times, 140.0) is None


def test_times_that_go_with_the_line_are_told_from_chance():
    generator = np.random.default_rng(4)
    false = [rank_correlation(*slices(generator, 30, 0.0, 0.01)).significant for _ in range(500)]
    assert np.mean(false) <= 0.025
    true = rank_correlation(*slices(generator, 30, 1.0, 0.01))
    assert true.significant
    assert true.value > 0.9
    assert true.points == 30


def test_a_rank_correlation_needs_ten_different_points():
    lines, times = slices(np.random.default_rng(5), 9, 1.0, 0.01)
    assert rank_correlation(lines, times) is None
    assert rank_correlation([math.nan] * 20, list(range(20))) is None
    assert rank_correlation([140.0] * 20, list(range(20))) is None
