"""The max-rate model: of times that it makes itself, and of runs whose pairs talked at once."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.max_rate import COMMAND, PairsPoint, max_rate, max_rate_fits
from halftrip.results.records import Aggregate
from halftrip.stats.estimate import Estimate
from harness import runs

SIZES = (64, 4096, 65536, 1 << 20)
PAIRS = (1, 2, 4, 8)


def points(start, per_pair, together, noise=0.0, seed=1):
    """Times, ns, of `start` ns and rates in bytes per second."""
    generator = np.random.default_rng(seed)
    found = []
    for pairs in PAIRS:
        for size in SIZES:
            time = start + 1e9 * pairs * size / min(together, pairs * per_pair)
            time *= 1 + noise * generator.normal()
            half = 1.96 * noise * time
            found.append(PairsPoint(pairs, size, Estimate(time, time - half, time + half)))
    return found


@given(st.floats(100.0, 1e5), st.floats(1e8, 1e11), st.sampled_from([1.5, 3.0, 6.0]))
def test_all_three_come_out_where_both_rates_limit(start, per_pair, turn):
    found = max_rate(points(start, per_pair, turn * per_pair))
    assert found.start.value == pytest.approx(start, rel=1e-4)
    assert found.per_pair.value == pytest.approx(per_pair, rel=1e-4)
    assert found.together.value == pytest.approx(turn * per_pair, rel=1e-4)
    assert found.alone_up_to == max(pairs for pairs in PAIRS if pairs < turn)
    assert found.misfit == pytest.approx(1.0, abs=1e-4)


@given(st.floats(100.0, 1e5), st.floats(1e8, 1e11))
def test_a_limit_that_is_never_met_is_not_made_up(start, rate):
    never = max_rate(points(start, rate, 100 * rate))
    assert (never.together, never.alone_up_to) == (None, 8)
    assert never.per_pair.value == pytest.approx(rate, rel=1e-4)
    always = max_rate(points(start, 100 * rate, rate))
    assert (always.per_pair, always.alone_up_to) == (None, 0)
    assert always.together.value == pytest.approx(rate, rel=1e-4)


def test_the_intervals_cover_the_truth():
    truths = (2000.0, 1e9, 3e9)
    covered, runs = [0, 0, 0], 200
    for seed in range(runs):
        found = max_rate(points(*truths, noise=0.02, seed=seed))
        for place, each in enumerate((found.start, found.per_pair, found.together)):
            covered[place] += each is not None and each.low <= truths[place] <= each.high
    assert min(covered) >= 0.93 * runs


def test_times_without_a_split_are_no_model_and_an_interval_that_reaches_0_is_open_above():
    made = [
        PairsPoint(pairs, size, Estimate(1e6 / size, 0.9e6 / size, 1.1e6 / size))
        for pairs in PAIRS
        for size in SIZES
    ]
    with pytest.raises(ValueError, match="no split"):
        max_rate(made)
    made = [
        PairsPoint(pairs, size, Estimate(1e5 + size, 1e4, 2e5 + size))
        for pairs in (1, 2)
        for size in (8, 64, 512)
    ]
    found = max_rate(made)
    assert math.isinf(found.per_pair.high)


# ns, and bytes per second.
START, PER_PAIR, TOGETHER = 2000.0, 1e9, 3e9
NEEDED = f"where the model needs several numbers of pairs; measure them: {COMMAND}"


def time(pairs, size, together=TOGETHER):
    return START + 1e9 * pairs * size / min(together, pairs * PER_PAIR)


def measured(pairs=(1, 2, 4), sizes=SIZES, together=TOGETHER, slices=8, launches=1, noise=0.01):
    """A run of 8 ranks with so many pairs at the same time; 4 pairs one after the other are 4
    rounds of one."""
    generator = np.random.default_rng(2)
    measurements, aggregates = [], []
    every = [(rank, rank + 4) for rank in range(4)]
    rounds = [every[begin : begin + count] for count in pairs for begin in range(0, 4, count)]
    for launch, number, size, talking in product(range(launches), range(slices), sizes, rounds):
        count = len(talking)
        ns = time(count, size, together) * (1 + noise * generator.normal())
        made = [
            runs.measurement(
                "tcp", size, "block", slice=number, launch=launch, iterations=1,
                samples=[round(2 * ns)] * 50, rtts=None, pair=pair, concurrency=count,
            )
            for pair in talking
        ]  # fmt: skip
        measurements += made
        if count > 1:
            aggregates.append(
                Aggregate(
                    configuration=made[0].configuration, slice=number, launch=launch,
                    pairs=talking, spans=[round(100 * ns)], messages=[100.0 * count],
                )
            )  # fmt: skip
    return runs.run(*measurements, aggregates=tuple(aggregates))


@pytest.mark.parametrize("launches", [1, 3])
def test_the_planted_rates_come_out(launches):
    (fit,) = max_rate_fits(measured(launches=launches))
    assert fit.pairs == (1, 2, 4)
    assert fit.over == ("launches" if launches > 1 else "slices")
    for found, truth in (
        (fit.found.start, START),
        (fit.found.per_pair, PER_PAIR),
        (fit.found.together, TOGETHER),
    ):
        assert found.value == pytest.approx(truth, rel=0.05)
        assert found.low <= truth <= found.high
    assert fit.found.alone_up_to == 2
    assert fit.together_least is fit.per_pair_least is None


def test_what_was_never_reached_has_a_bound():
    (fit,) = max_rate_fits(measured(together=1e12))
    assert fit.found.together is None
    assert fit.together_least == pytest.approx(4 * PER_PAIR, rel=0.05)
    assert fit.together_least < 4 * PER_PAIR
    (fit,) = max_rate_fits(measured(together=0.5e9))
    assert fit.found.per_pair is None
    assert fit.per_pair_least == pytest.approx(0.5e9, rel=0.05)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"pairs": (1,)}, f"one pair at a time, {NEEDED}"),
        ({"pairs": (2,)}, f"2 pairs at once, always, {NEEDED}"),
        ({"sizes": (8, 64)}, "fewer than three sizes; measure more: -s 8,1K,64K,1M"),
        ({"slices": 1}, "no intervals; measure several slices or launches"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_says_why(keys, said):
    (fit,) = max_rate_fits(measured(**keys))
    assert fit.found is None
    assert fit.reason == said


def test_a_size_that_some_pairs_lack_is_said_and_both_ways_at_once_are_no_setting():
    run = measured()
    kept = [
        each for each in run.aggregates if (len(each.pairs), each.configuration.size) != (4, 4096)
    ]
    few = runs.run(*run.measurements, aggregates=tuple(kept))
    (fit,) = max_rate_fits(few)
    assert fit.reason.startswith("not every number of pairs has every size, with an interval; ")
    run = runs.run(
        runs.measurement("tcp", 8, "block", pattern="bidirectional", window=4),
        runs.measurement("tcp", 8, "block", delay=1000),
        runs.measurement("tcp", 0, "block"),
    )
    assert max_rate_fits(run) == []
