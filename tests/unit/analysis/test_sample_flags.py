"""Flags that a row's own samples raise, or other rows: just beyond each threshold and within."""

import numpy as np
import pytest

from halftrip.analysis.flags import samples
from halftrip.results.records import WarmUp
from harness import runs
from harness.flags import dealt, flags_of, noise, pingpong, rising, seen, through
from harness.noise import autoregression


def test_quiet_rows_have_no_flags_and_samples_of_no_time_are_coarse():
    assert seen(pingpong(noise())) == {}
    assert seen(*dealt(lambda n: noise(seed=n)), ci=0.01) == {}
    assert seen(*(pingpong(noise(seed=n), launch=n) for n in range(8)), ci=0.01) == {}
    assert seen(pingpong([0] * 400))["coarse-clock"] == "most samples took no time by this clock"
    most = [0] * 300 + [500] * 100
    assert seen(pingpong(most))["coarse-clock"] == "most samples took no time by this clock"
    assert seen(pingpong([10_000] * 400)) == {}


# coarse-clock


def stepped(step, n=400):
    """Round trips of about 100 us, rounded to a clock of this step, ns."""
    exact = np.random.default_rng(3).normal(100_000, 3 * step, n)
    return (np.round(exact / step) * step).astype(int).tolist()


def test_a_step_above_one_percent_of_a_sample_is_coarse():
    coarse = runs.measurement(half_ns=50_000, iterations=1, samples=stepped(1100))
    assert seen(coarse)["coarse-clock"] == "times come in steps of 1100 ns, 1.1 % of a sample"
    fine = runs.measurement(half_ns=50_000, iterations=1, samples=stepped(900), slice=1)
    assert "coarse-clock" not in seen(fine)
    # Most slices have to be.
    assert "coarse-clock" not in seen(coarse, fine)


@pytest.mark.parametrize("share", [0.0001, 0.003, 0.01, 0.03])
@pytest.mark.parametrize("step", [1, 30, 300])
def test_a_step_that_is_excluded_beforehand_is_not_coarse(share, step, monkeypatch):
    rows = []
    for seed in range(5):
        exact = np.random.default_rng(seed).normal(30_000, share * 30_000, (3, 40))
        rows.append([pingpong(np.round(each / step) * step) for each in exact])
    found = [seen(*row).get("coarse-clock") for row in rows]
    monkeypatch.setattr(samples, "_have_small_steps", lambda _: False)
    assert [seen(*row).get("coarse-clock") for row in rows] == found


# cold-start


@pytest.mark.parametrize(
    ("half_ns", "times", "cold"),
    [(1000.0, 101, True), (1000.0, 99, False), (60_000.0, 11, True), (60_000.0, 9, False),
     (40_000.0, 11, False)],
)  # fmt: skip
def test_a_first_iteration_of_100_later_ones_or_of_10_and_a_millisecond(half_ns, times, cold):
    first = round(2 * half_ns * times)
    found = seen(pingpong(noise(middle=half_ns), half_ns, first=first))
    assert ("cold-start" in found) == cold
    if cold:
        assert found["cold-start"].endswith(f"as long as {times} later ones")


def test_only_the_first_slice_of_each_launch_starts_cold():
    cold = {"first": 20_000_000}
    assert seen(pingpong(noise()), pingpong(noise(seed=2), slice=1, **cold)) == {}

    def launches(number_of_cold):
        return [
            pingpong(noise(seed=n), launch=n, **(cold if n < number_of_cold else {}))
            for n in range(7)
        ]

    assert "cold-start" in seen(*launches(4))
    assert "cold-start" not in seen(*launches(3))


# drift


def test_a_trend_or_a_step_within_a_slice_is_a_drift():
    assert seen(pingpong(rising(0.024)))["drift"].endswith(
        "slower at the end than at the beginning"
    )
    assert seen(pingpong(rising(-0.024)))["drift"].endswith(
        "faster at the end than at the beginning"
    )
    assert "drift" not in seen(pingpong(rising(0.016)))
    # Which hides the autocorrelation that comes with it.
    assert set(seen(pingpong(rising(0.1, 4000)))) == {"drift"}

    def step(share):
        return np.concatenate((noise(300), (1 + share) * noise(100, 2)))

    # Where the two levels are two modes, the row is called bimodal instead.
    rough = np.random.default_rng(4).normal(1, 0.04, 400)
    found = seen(pingpong(step(0.08) * rough))["drift"]
    assert found == "from 10.0 us to 10.7 us after 75 % of the samples"
    assert not seen(pingpong(step(0.03) * rough)).get("drift", "").startswith("from")
    assert "drift" not in seen(pingpong(step(0.3)))
    assert "bimodal" in seen(pingpong(step(0.3)))


def test_what_the_majority_of_slices_does_is_a_drift():
    restless = {"warm_up": WarmUp(1000, 5_000_000, False)}
    one = pingpong(noise(), **restless)
    assert seen(one)["drift"] == "after 5,000 us of warm-up the times still changed"
    calm = pingpong(noise(seed=2), slice=1)
    assert "drift" not in seen(one, calm)
    assert "drift" in seen(one, calm, pingpong(noise(), slice=2, **restless))
    # In the same direction.
    calm, up = pingpong(noise(seed=7), slice=3), pingpong(rising(0.03))
    assert "drift" not in seen(up, calm)
    more = pingpong(rising(0.03, seed=2), slice=1)
    found = seen(up, more, calm)["drift"]
    assert found.endswith("slower at the end than at the beginning, in 2 of 3 slices")
    assert "drift" not in seen(up, pingpong(rising(-0.03, seed=2), slice=1), calm)


def test_a_trend_or_a_step_over_slices_is_a_drift():
    def level(share):
        return dealt(lambda n: noise(seed=n) * (1 + share * (n / 10 - 0.45)))

    found = seen(*level(0.03))["drift"]
    assert found == "3.0 % slower at the end than at the beginning of 10 slices"
    assert "faster" in seen(*level(-0.03))["drift"]
    assert "drift" not in seen(*level(0.01))
    steps = dealt(lambda n: noise(seed=n) * (1.06 if n >= 4 else 1.0) * rough(n))
    assert seen(*steps)["drift"] == "from 10.0 us to 10.6 us after 4 of 10 slices"
    late = dealt(lambda n: noise(seed=n) * (1.06 if n >= 9 else 1.0) * rough(n))
    assert "drift" not in seen(*late)
    # A slow beginning that does not count is none.
    fading = dealt(lambda n: noise(seed=n) * (1 + 0.3 * np.exp(-2 * n)))
    assert seen(*fading) == {}
    # Half of the slices are no beginning.
    assert "drift" in seen(*dealt(lambda n: noise(seed=n) * (1 + 0.3 * np.exp(-0.1 * n))))


def rough(seed):
    """Factors that vary so much that two levels are not two modes."""
    return np.random.default_rng([seed, 1]).normal(1, 0.04, 400)


# bimodal


def two_kinds(apart, share=0.3, n=1000):
    generator = np.random.default_rng(5)
    high = generator.random(n) < share
    return generator.normal(10_000, 60, n) * np.where(high, 1 + apart, 1.0)


def test_two_modes_are_bimodal_in_one_slice_or_in_several():
    found = seen(pingpong(two_kinds(0.06)))["bimodal"]
    assert "around 10.0 us" in found
    assert "around 10.6 us" in found
    assert "bimodal" not in seen(pingpong(two_kinds(0.04)))
    assert "bimodal" not in seen(pingpong(two_kinds(0.2, share=0.03)))
    slices = dealt(lambda n: noise(seed=n) * (1.2 if n in (1, 4, 5, 8) else 1.0))
    found = seen(*slices)["bimodal"]
    assert found == "60 % of the samples around 10.0 us, 40 % around 12.0 us"


@pytest.mark.parametrize("together", [True, False])
def test_that_core_to_core_moved_with_it_is_said_if_chance_does_not_explain_it(together):
    generator = np.random.default_rng(9)
    slow = [n % 3 == 0 for n in range(20)]
    # With no gap in between: there are no states that would explain it.
    lines = [100 + (15 if each else 0) + 15 * generator.random() for each in slow]
    if not together:
        generator.shuffle(lines)
    slices = [
        pingpong(noise(seed=n) * (1.2 if slow[n] else 1.0), rtts=(lines[n], lines[n]), slice=n)
        for n in range(20)
    ]
    found = seen(*slices)["bimodal"]
    assert ("the core-to-core round trip moved with it (rank correlation 0." in found) == together
    assert ("over 20 slices" in found) == together


def moving(factor, rtts=(100.0, 100.0, 100.0, 100.0, 200.0, 200.0, 100.0)):
    """Six blocks of a hundred samples: the cores were near for three, far for one, and moved in
    two; from the fourth on all takes `factor` times as long."""
    slow = np.repeat([False, False, False, True, True, True], 100)
    times = noise(600) * np.where(slow, factor, 1.0)
    return pingpong(times, rtts=rtts, counts=[100] * 6)


def test_cores_that_moved_are_seen_by_the_round_trip_between_them():
    found = seen(moving(1.5), environments=runs.VIRTUAL)["bimodal"]
    assert "us while the core-to-core round trip took 100 ns (75 %) and 15.0" in found
    assert "us while the core-to-core round trip took 200 ns (25 %): the cores moved" in found
    # Cores of a machine of one's own do not move.
    assert "cores moved" not in seen(moving(1.5))["bimodal"]
    # Without an effect it is no flag.
    assert seen(moving(1.0)) == {}


# autocorrelated


def test_few_independent_samples_of_a_slice_are_autocorrelated():
    # The integrated time of a first-order process is (1 + r) / (1 - r): 12.3 and 8.1.
    def correlated(lag1):
        series = autoregression(np.random.default_rng(6), 20_000, lag1)
        return pingpong(10_000 * (1 + 0.01 * series))

    assert seen(correlated(0.85))["autocorrelated"].startswith("20,000 samples count as 1")
    assert "autocorrelated" not in seen(correlated(0.78))
    # Where one slice ends and the next begins, nothing is correlated.
    levels = dealt(lambda n: noise(seed=n) * (1 + 0.01 * ((7 * n) % 10 - 4.5) / 4.5))
    assert seen(*levels) == {}


# not-converged


def apart(share, k):
    """The slices of a configuration whose medians are spread over this share of the median, in any
    order."""
    return dealt(lambda n: noise(seed=n) * (1 + share * ((7 * n) % k / (k - 1) - 0.5)), k)


def test_who_has_not_converged():
    """An interval wider than requested."""
    found = seen(*apart(0.04, 11), ci=0.01)
    assert set(found) == {"not-converged"}
    assert found["not-converged"].startswith("11 slices agree within 1.")
    assert found["not-converged"].endswith(" % only, not 1.0 %")
    assert seen(*apart(0.01, 11), ci=0.01) == {}
    # Fewer than six slices say how many, and why.
    found = seen(*apart(0.02, 3), ci=0.01)["not-converged"]
    assert found.startswith("3 slices agree within ")
    assert found.endswith("fewer than 6 have a wide interval, by Student's t")
    (alone,) = seen(pingpong(noise()), ci=0.01).values()
    assert alone.startswith("one slice of time: no interval")
    # Who was not asked to is not flagged.
    assert seen(runs.measurement(stopped="time")) == {}
    assert "not-converged" in seen(runs.measurement(stopped="time"), ci=0.01)
    # In a plan with parts some rows have a fixed count.
    assert seen(runs.measurement(stopped="count"), ci=0.01) == {}
    # Launches have to agree, whatever the width of each.
    differ = [pingpong(noise(middle=10_000 * (1 + 0.02 * n)), launch=n) for n in range(6)]
    assert seen(*differ, ci=0.01)["not-converged"].startswith("6 launches agree within")
    two = [pingpong(noise(middle=10_000 * (1 + 79 * n)), launch=n) for n in range(2)]
    said = "2 launches do not agree within 100 %; 1.0 % was asked for"
    assert seen(*two, ci=0.01)["not-converged"] == said
    alike = [pingpong(noise(seed=n), launch=n, stopped="time") for n in range(6)]
    assert seen(*alike, ci=0.01) == {}


SIZES = [2**power for power in range(10, 20)]


def curve(off=None, launches=1, **changes):
    """Rows with a latency of 10 us and 0.1 ns for each byte; the sizes in `off` take longer by
    these factors, which may differ between launches."""
    return [
        pingpong(
            noise(40, 7 * size + 10 * n + k, middle),
            middle,
            size=size,
            launch=n,
            slice=k,
            **changes,
        )
        for size in SIZES
        for n in range(launches)
        for k in range(6)
        for factor in [(off or {}).get(size, 1.0)]
        for middle in [(10_000 + size / 10) * (factor[n] if isinstance(factor, tuple) else factor)]
    ]


def named(rows, name):
    """What the flags of this name say, by size."""
    return {
        configuration.size: flag.seen
        for configuration, flags in flags_of(runs.run(*rows)).items()
        for flag in flags
        if flag.name == name
    }


# outlier-size


def test_which_sizes_are_outliers():
    """Those more than a third off their neighbours."""
    assert named(curve(), "outlier-size") == {}
    # The next size takes 13.3 us: a third more than that.
    found = named(curve({16384: 17.6 / 11.64}), "outlier-size")
    assert found == {16384: "17.6 us, where the sizes around it lead to 13.3 us"}
    assert named(curve({16384: 17.0 / 11.64}), "outlier-size") == {}
    assert set(named(curve({4096: 0.6, 65536: 3.0}), "outlier-size")) == {4096, 65536}
    # Steps and ends of a curve are none.
    assert named(curve({size: 2.0 for size in SIZES if size > 8192}), "outlier-size") == {}
    for size in (SIZES[0], SIZES[-1]):
        assert named(curve({size: 1.4}), "outlier-size") == {}
    # Of two launches that differ by a third, the interval is wider than the time itself.
    assert named(curve({16384: (2.2, 1.4)}, launches=2), "outlier-size") == {}
    # It needs neighbours on the same curve.
    rows = curve({16384: 3.0})
    assert named(rows[12:36], "outlier-size") == {}
    others = curve({16384: 3.0}, buffers="same")
    others = [row for row in others if row.configuration.size in SIZES[1::2]]
    assert set(named([*rows, *others], "outlier-size")) == {16384}


# contradiction, along a curve


def test_a_size_a_quarter_slower_than_a_larger_one_contradicts_it():
    step = {size: 1.4 for size in SIZES if size < 4096}
    found = named(curve(step), "contradiction")
    assert found[1024] == "14.1 us, where 4K take 10.4 us: more goes faster"
    assert set(found) == {1024, 2048}
    assert named(curve({size: 1.2 for size in SIZES if size < 4096}), "contradiction") == {}


# contradiction, between patterns


def test_patterns_that_contradict_each_other():
    turns = through("pingpong", 10_000)
    found = seen(*through("stream", 13_500, 64), *turns)["contradiction"]
    assert found == "it gets 74 % of the bandwidth of pingpong through at the same size"
    assert seen(*through("stream", 12_000, 64), *turns) == {}
    assert "contradiction" in seen(*through("stream", 13_500, 64, mode="nonblocking"), *turns)
    assert seen(*through("stream", 13_500, 64, rate=1e6), *turns) == {}
    assert seen(*through("stream", 13_500, 64, size=2048), *turns) == {}
    # A window of one may take the time of its acknowledgement.
    turns = through("pingpong", 10_000)
    assert seen(*through("stream", 20_000), *turns) == {}
    assert "contradiction" in seen(*through("stream", 26_000), *turns)
    # A nonblocking ping-pong has both messages under way at once: no half of a round trip.
    at_once = through("pingpong", 5_000, mode="nonblocking")
    assert seen(*through("stream", 10_000, 64, mode="nonblocking"), *at_once) == {}
    # Both ways slower than a stream of the same window.
    one = through("stream", 10_000, 64)
    found = seen(*through("bidirectional", 27_000, 64), *one)["contradiction"]
    assert found == "it gets 74 % of the bandwidth of stream through at the same size"
    assert seen(*through("bidirectional", 24_000, 64), *one) == {}
    assert seen(*through("bidirectional", 40_000, 1), *one) == {}
