"""Fewer points, and none that stands out lost."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halftrip.plot.thinning import extremes, ranks

VALUES = st.lists(st.floats(0.1, 1e9), min_size=1, max_size=400).map(np.array)


@given(VALUES, st.integers(2, 60))
def test_every_stretch_keeps_its_own_range_in_order(values, most):
    found = extremes(values, most)
    assert found.size <= max(most, 2)
    assert (np.diff(found) > 0).all()
    kept = set(found.tolist())
    bounds = np.linspace(0, values.size, most // 2 + 1).astype(int)
    if values.size > most:
        for first, end in pairwise(bounds):
            inside = [place for place in kept if first <= place < end]
            assert min(values[inside]) == values[first:end].min()
            assert max(values[inside]) == values[first:end].max()


@given(st.integers(1, 10**6), st.integers(3, 300))
def test_ranks_reach_from_end_to_end_and_are_denser_there(count, most):
    found = ranks(count, most)
    assert found[0] == 0
    assert found[-1] == count - 1
    assert (np.diff(found) > 0).all()
    assert found.size <= max(count if count <= most else most + 2, 1)


def test_few_values_are_all_kept():
    assert extremes(np.array([3.0, 1.0, 2.0]), 10).tolist() == [0, 1, 2]
    assert ranks(3, 10).tolist() == [0, 1, 2]
