"""The verdict on a row, and its cause: just within each limit, just beyond it, and which cause
comes first."""

import msgspec
import numpy as np
import pytest

from halftrip.results.records import WarmUp
from harness import runs
from harness.flags import dealt, noise, pingpong, verdict_of


def spread(width, k=10):
    """Slices whose interval, within the second and the ninth median, has this wider side."""
    levels = [0, -1, 1, -1, 0, 0, 1, -1, 1, 0][:k]
    return dealt(lambda n: noise(seed=n) * (1 + width * levels[n]))


@pytest.mark.parametrize(
    ("width", "word"),
    [(0.005, "ok"), (0.015, "ok"), (0.03, "caution"), (0.09, "caution"), (0.12, "no")],
)
def test_the_width_of_the_interval_decides(width, word):
    found = verdict_of(*spread(width))
    assert found.word == word
    assert found.width == pytest.approx(width, abs=0.004)
    assert (found.cause is None) == (word == "ok")


def test_without_an_interval_a_row_is_no_result():
    found = verdict_of(pingpong(noise()))
    assert found.word == "no"
    assert found.cause.name == "few slices"
    assert found.cause.seen == "it has 1 slice only"
    assert found.cause.advice == "allow more time with --time or --slices"
    header = runs.run().header
    limited = msgspec.structs.replace(header, plan={**header.plan, "max_duration": 10.0})
    found = verdict_of(pingpong(noise()), header=limited)
    assert found.cause.advice == "allow more time with --max-duration"


def test_a_level_that_wanders_is_named_from_where_to_where():
    found = verdict_of(*dealt(lambda n: noise(seed=n) * (1 + 0.01 * n)))
    assert found.cause.name == "level wandered"
    assert found.cause.seen == "from 10.2 us to 10.7 us"


def test_a_level_that_goes_with_the_cores_says_so():
    def slices(line):
        return [
            pingpong(noise(seed=n) * (1 + 0.02 * n), slice=n, rtts=(line(n), line(n)))
            for n in range(10)
        ]

    virtual = {"environments": runs.VIRTUAL}
    moved = verdict_of(*slices(lambda n: 100.0 + 10 * n), **virtual)
    assert moved.cause.name == "cores moved"
    assert moved.cause.seen.endswith(": the core-to-core round trip took 100 to 190 ns")
    # The other way round it explains nothing, and real cores do not move.
    falling = verdict_of(*slices(lambda n: 190.0 - 10 * n), **virtual)
    assert falling.cause.name == "level wandered"
    fixed = verdict_of(*slices(lambda n: 100.0 + 10 * n))
    assert fixed.cause.name == "level wandered"
    assert fixed.cause.seen.endswith(": the core-to-core round trip took 100 to 190 ns")


def test_two_levels_are_in_most_slices():
    def both(n):
        switched = np.repeat([0, 1, 0, 1], 100)
        return noise(seed=n) * (1 + 0.4 * np.roll(switched, 30 * n))

    found = verdict_of(*dealt(both))
    assert found.cause.name == "two levels"
    assert "50 % of the samples took" in found.cause.seen
    assert found.cause.seen.endswith("times")
    # Each in slices of its own is a level that wanders.
    apart = verdict_of(*dealt(lambda n: noise(seed=n) * (1 + 0.4 * (n % 2))))
    assert apart.cause.name == "level wandered"


@pytest.mark.parametrize(
    ("core", "rank", "name"),
    [
        ({"others": 0.5}, {}, "CPU contention"),
        ({"steal": 0.3}, {}, "steal"),
        ({}, {"oversubscribed": True}, "oversubscribed"),
        ({}, {"core": None}, "unpinned"),
    ],
)
def test_what_ranks_had_of_their_cores_comes_first_however_wide_the_interval(core, rank, name):
    usage = (runs.usage(), runs.usage(core=core))
    ranks = (runs.environment(0), runs.environment(1, **rank))
    for rise, word in ((0.0, "caution"), (0.05, "no")):
        slices = dealt(lambda n, rise=rise: noise(seed=n) * (1 + rise * n), usage=usage)
        found = verdict_of(*slices, environments=ranks)
        assert (found.word, found.cause.name) == (word, name)


def test_a_path_that_had_not_warmed_up_explains_more_than_its_level():
    slices = dealt(lambda n: noise(seed=n) * (1 + 0.01 * n), warm_up=WarmUp(9, 10_000, False))
    assert verdict_of(*slices).cause.name == "warming up"
    # Where the interval is narrow it did no harm.
    calm = dealt(lambda n: noise(seed=n), warm_up=WarmUp(9, 10_000, False))
    assert verdict_of(*calm).word == "ok"


def test_what_is_faster_than_a_cache_line_is_impossible():
    """Whatever else was seen."""
    for usage in (None, (runs.usage(core={"others": 0.5}), runs.usage(core={}))):
        found = verdict_of(*dealt(lambda n: noise(seed=n), rtts=(90_000.0,) * 2, usage=usage))
        assert (found.word, found.cause.name) == ("no", "impossible")


def test_few_samples_are_told_from_noise():
    few = dealt(lambda n: np.random.default_rng(n).lognormal(9.2, 0.15, 5))
    assert verdict_of(*few).cause.name == "few samples"
    noisy = dealt(lambda n: np.random.default_rng(n).lognormal(9.2, 0.8, 400))
    assert verdict_of(*noisy).cause.name in ("noise", "level wandered")
