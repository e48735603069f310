"""When warm-up has settled: three blocks in a row that agree."""

import numpy as np
import pytest

from halftrip.measure.settling import AGREEING_BLOCKS, Settling


def steady(ns, spread=0.0, seed=1):
    """A block of samples around `ns`."""
    return np.rint(ns * np.random.default_rng(seed).lognormal(0, spread, 30)).astype(np.int64)


def settled(*blocks, tolerance=0.01):
    settling = Settling(tolerance)
    for block in blocks:
        settling.add(block)
    return settling.settled


def test_fewer_blocks_than_have_to_agree_have_not_settled():
    assert not settled(*[steady(1000)] * (AGREEING_BLOCKS - 1))
    assert settled(*[steady(1000)] * AGREEING_BLOCKS)


@pytest.mark.parametrize(("ns", "agree"), [(1010, True), (1011, False), (990, True), (989, False)])
def test_medians_agree_within_the_tolerance(ns, agree):
    assert settled(steady(ns), steady(1000), steady(1000)) == agree


def test_blocks_agree_where_chance_explains_the_difference():
    apart = [steady(1000, 0.5, seed) for seed in range(AGREEING_BLOCKS)]
    assert max(map(np.median, apart)) > 1.05 * min(map(np.median, apart))
    assert settled(*apart)


def test_only_the_latest_blocks_count_and_none_after_a_restart():
    settling = Settling(0.01)
    settling.add(steady(5000))
    for _ in range(AGREEING_BLOCKS):
        assert not settling.settled
        settling.add(steady(1000))
    assert settling.settled
    settling.restart()
    assert not settling.settled
