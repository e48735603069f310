"""What is computed of many slices at once is that of each by itself, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from halftrip.stats.interval import of_samples
from halftrip.stats.quantile import long_run_variance, long_run_variances
from halftrip.stats.slices import slice_medians, slice_times
from harness.noise import KINDS
from harness.runs import measurement

# Whole times over some number of messages: many ties, some, and none.
slices_of_a_size = st.tuples(st.integers(1, 6), st.integers(1, 60)).flatmap(
    lambda shape: st.one_of(
        nps.arrays(np.int64, shape, elements=st.integers(0, most)) for most in (3, 50, 10**9)
    )
)


@given(slices_of_a_size, st.integers(1, 40), st.booleans())
def test_medians_of_many_slices_are_those_of_each(times, messages, within):
    each = times / messages
    expected = [of_samples(row, within=within) for row in each]
    np.testing.assert_array_equal(slice_medians(each, within), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 7, 40, 333])
def test_long_run_variances_are_those_of_each_row(kind, n):
    generator = np.random.default_rng(n)
    series = np.array([KINDS[kind](generator, n) for _ in range(5)] + [np.ones(n)])
    assert long_run_variances(series) == [long_run_variance(row) for row in series]


def test_slices_of_other_lengths_and_without_samples_keep_their_places():
    measured = [
        measurement(samples=np.random.default_rng(n).integers(900, 1100, n), rtts=(100.0 + n, 101))
        for n in (40, 0, 500, 40, 8, 40, 40)
    ]
    for within in (True, False):
        found = slice_times(measured, within)
        assert found[1] is None
        for each, times in zip(measured, found, strict=True):
            if times is not None:
                np.testing.assert_array_equal(times.times, each.one_way_times)
                expected = of_samples(each.one_way_times, within=within)
                np.testing.assert_array_equal(times.median, expected)
                assert times.rtt == (each.core_to_core_rtts[0] + 101) / 2
