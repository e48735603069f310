"""Flags that a row's own samples raise: just beyond each threshold, just within it, and the
text."""

import math

import numpy as np
import pytest

from halftrip.results.records import WarmUp
from harness import runs
from harness.flags import noise, pingpong, rising, seen


def test_a_quiet_case_has_no_flags():
    assert seen(pingpong(noise())) == {}
    assert seen(pingpong(noise()), pingpong(noise(seed=2), slice=1)) == {}
    assert seen(*(pingpong(noise(seed=n), launch=n) for n in range(8))) == {}


# coarse-clock


def stepped(step, n=400):
    """Round trips of about 100 us, rounded to a clock of this step, ns."""
    exact = np.random.default_rng(3).normal(100_000, 3 * step, n)
    return (np.round(exact / step) * step).astype(int).tolist()


def test_a_step_above_one_percent_of_a_sample_is_coarse():
    coarse = runs.measurement(half_ns=50_000, exchanges=1, samples=stepped(1100))
    assert seen(coarse)["coarse-clock"] == "times come in steps of 1100 ns, 1.1 % of a sample"
    fine = runs.measurement(half_ns=50_000, exchanges=1, samples=stepped(900))
    assert "coarse-clock" not in seen(fine)


def test_one_slice_with_a_coarse_clock_is_enough():
    coarse = pingpong(np.array(stepped(1100)) / 2, 50_000, slice=1)
    assert "coarse-clock" in seen(pingpong(noise(middle=50_000), 50_000), coarse)


def test_samples_of_zero_are_coarse_and_equal_samples_are_not():
    assert seen(pingpong([0] * 400))["coarse-clock"] == "most samples took no time by this clock"
    most = [0] * 300 + [500] * 100
    assert seen(pingpong(most))["coarse-clock"] == "most samples took no time by this clock"
    assert seen(pingpong([10_000] * 400)) == {}


# cold-start


@pytest.mark.parametrize(
    ("half_ns", "times", "cold"),
    [(1000.0, 101, True), (1000.0, 99, False), (60_000.0, 11, True), (60_000.0, 9, False),
     (40_000.0, 11, False)],
)  # fmt: skip
def test_a_first_exchange_of_100_later_ones_or_of_10_and_a_millisecond(half_ns, times, cold):
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


def test_a_trend_of_more_than_two_percent_is_a_drift():
    assert seen(pingpong(rising(0.024)))["drift"].endswith(
        "slower at the end than at the beginning"
    )
    assert seen(pingpong(rising(-0.024)))["drift"].endswith(
        "faster at the end than at the beginning"
    )
    assert "drift" not in seen(pingpong(rising(0.016)))


def test_a_single_step_of_more_than_five_percent_is_a_drift():
    def step(share):
        return np.concatenate((noise(300), (1 + share) * noise(100, 2)))

    # Where the two levels are two modes, the row is called bimodal instead.
    rough = np.random.default_rng(4).normal(1, 0.04, 400)
    found = seen(pingpong(step(0.08) * rough))["drift"]
    assert found == "from 10.0 us to 10.7 us after 75 % of the samples"
    assert not seen(pingpong(step(0.03) * rough)).get("drift", "").startswith("from")
    assert "drift" not in seen(pingpong(step(0.3)))
    assert "bimodal" in seen(pingpong(step(0.3)))


def test_warm_ups_that_did_not_settle_are_a_drift_if_they_are_the_majority():
    restless = {"warm_up": WarmUp(1000, 5_000_000, False)}
    one = pingpong(noise(), **restless)
    assert seen(one)["drift"] == "after 5,000 us of warm-up the times still changed"
    calm = pingpong(noise(seed=2), slice=1)
    assert "drift" not in seen(one, calm)
    assert "drift" in seen(one, calm, pingpong(noise(), slice=2, **restless))


def test_slices_drift_if_the_majority_does():
    calm = pingpong(noise(seed=7), slice=3)
    assert "drift" not in seen(pingpong(rising(0.03)), calm)
    assert "drift" in seen(pingpong(rising(0.03)), pingpong(rising(0.03, seed=2), slice=1), calm)


def test_few_samples_with_a_restless_warm_up_are_no_drift():
    few = runs.measurement(warm_up=WarmUp(3, 9, False), samples=[2000] * 10)
    assert seen(few) == {}
    assert set(seen(runs.measurement(warm_up=WarmUp(300, 9, False)))) == {"drift"}


# bimodal


def two_kinds(apart, share=0.3, n=1000):
    generator = np.random.default_rng(5)
    high = generator.random(n) < share
    return generator.normal(10_000, 60, n) * np.where(high, 1 + apart, 1.0)


def test_two_modes_more_than_five_percent_apart_are_bimodal():
    found = seen(pingpong(two_kinds(0.06)))["bimodal"]
    assert "around 10.0 us" in found
    assert "around 10.6 us" in found
    assert found.endswith("the line did not move with it")
    assert "line" not in seen(pingpong(two_kinds(0.06), rtts=None))["bimodal"]
    assert "bimodal" not in seen(pingpong(two_kinds(0.04)))
    assert "bimodal" not in seen(pingpong(two_kinds(0.2, share=0.03)))


def moving(factor, rtts=(100.0, 100.0, 100.0, 100.0, 200.0, 200.0, 100.0)):
    """Six blocks of a hundred samples: the cores were near for three, far for one, and moved in
    two; from the fourth on all takes `factor` times as long."""
    slow = np.repeat([False, False, False, True, True, True], 100)
    times = noise(600) * np.where(slow, factor, 1.0)
    return pingpong(times, rtts=rtts, counts=[100] * 6)


def test_cores_that_moved_are_seen_by_the_round_trip_between_them():
    found = seen(moving(1.5))["bimodal"]
    assert "us while the line took 100 ns (75 %) and 15.0" in found
    assert "us while the line took 200 ns (25 %)" in found
    assert "the cores moved; the row is of 10" in found


def test_cores_that_moved_without_effect_are_no_flag():
    assert seen(moving(1.0)) == {}


def test_modes_without_a_change_of_the_round_trip_did_not_come_from_moving():
    assert "did not move" in seen(moving(1.5, rtts=[100.0]))["bimodal"]
    assert "line" not in seen(moving(1.5, rtts=None))["bimodal"]


# autocorrelated


def correlated(lag1, n=20_000):
    generator = np.random.default_rng(6)
    shocks = generator.normal(0, 1, n)
    series = np.empty(n)
    series[0] = shocks[0]
    for i in range(1, n):
        series[i] = lag1 * series[i - 1] + shocks[i] * math.sqrt(1 - lag1**2)
    return 10_000 * (1 + 0.01 * series)


def test_fewer_than_one_independent_sample_in_ten_are_autocorrelated():
    # The integrated time of a first-order process is (1 + r) / (1 - r): 12.3 and 8.1.
    found = seen(pingpong(correlated(0.85)))["autocorrelated"]
    assert found.startswith("20,000 samples count as 1541: ")
    assert "autocorrelated" not in seen(pingpong(correlated(0.78)))


def test_a_drift_hides_the_autocorrelation_that_comes_with_it():
    found = seen(pingpong(rising(0.1, 4000)))
    assert "drift" in found
    assert "autocorrelated" not in found


# not-converged


def spread(width, n=401):
    """Times whose interval is about this `width` of the median, in random order."""
    return np.random.default_rng(8).normal(10_000, 10_000 * width * math.sqrt(n) / 2.5, n)


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("full", "all samples that are kept came"),
        ("converged", "it came within 1.0 %, but what is left of one state only within"),
    ],
)
def test_an_interval_wider_than_requested_has_not_converged(stopped, words):
    wide, narrow = pingpong(spread(0.02), stopped=stopped), pingpong(spread(0.005), stopped=stopped)
    assert seen(wide)["not-converged"].startswith(words)
    assert seen(narrow) == {}


def test_a_case_that_ran_out_of_time_has_not_converged_whatever_its_width():
    said = "the time was up before the interval was within 1.0 %"
    assert seen(pingpong(noise(), stopped="time")) == {"not-converged": said}


def test_a_row_that_was_not_asked_to_converge_is_not_flagged():
    header = runs.run().header
    header.plan["ci"] = "none"
    assert seen(runs.measurement(stopped="time"), header=header) == {}


def test_slices_that_disagree_have_not_converged_together():
    apart = [runs.measurement(half_ns=100.0), runs.measurement(half_ns=300.0, slice=1)]
    found = seen(*apart)
    assert set(found) == {"not-converged"}
    assert "all of them only within 50 %" in found["not-converged"]
    assert seen(runs.measurement(), runs.measurement(slice=1, seed=2)) == {}


def test_launches_have_to_agree_whatever_the_width_of_each():
    apart = [pingpong(noise(middle=10_000 * (1 + 0.02 * n)), launch=n) for n in range(6)]
    assert seen(*apart)["not-converged"].startswith("6 launches agree within")
    alike = [pingpong(noise(seed=n), launch=n, stopped="time") for n in range(6)]
    assert seen(*alike) == {}
