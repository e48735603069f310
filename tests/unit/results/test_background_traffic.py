"""What traffic beside samples moved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.results.background import BackgroundTraffic, moved, together

BATCHES = st.lists(st.lists(st.integers(1, 1000), min_size=1, max_size=5), min_size=1, max_size=5)


@given(BATCHES, st.integers(0, 50), st.data())
def test_parts_of_a_time_have_moved_what_all_of_it_has(times, gap, data):
    batches, at = [], 0
    for each in times:
        batches.append((at, np.array(each)))
        at += sum(each) + gap
    sizes = [1000] * len(batches)
    middle = data.draw(st.integers(0, at))
    whole, running = moved(batches, sizes, 0, at)
    assert whole == 1000 * sum(map(len, times))
    assert running == sum(map(sum, times)) == at - gap * len(times)
    (first, ran), (second, ran_then) = (
        moved(batches, sizes, 0, middle),
        moved(batches, sizes, middle, at),
    )
    assert first + second == pytest.approx(whole, abs=1)
    assert ran + ran_then == running
    assert moved(batches, sizes, at, at + 1) == (0, 0)


def test_slices_count_by_their_time():
    one, other = (
        BackgroundTraffic(bytes=100 * ns, ns=ns, running=share, load=share, own_cores=own)
        for ns, share, own in ((10, 1.0, True), (30, 0.6, False))
    )
    found = together([one, None, other])
    assert (found.bytes, found.ns, found.own_cores) == (4000, 40, False)
    assert found.bandwidth == pytest.approx(1e11)
    assert found.running == found.load == pytest.approx(0.7)
    assert together([None]) is None
