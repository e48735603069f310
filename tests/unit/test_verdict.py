"""Each flag: a case just beyond its threshold has it, one just within has not, and what is said."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.flags import NAMES, verdicts
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery
from halftrip.results.records import CopyBound, LineBound, Measurement, WarmUp
from halftrip.results.usage import CoreUse, Culprit, Usage
from harness import runs


def flags(*measurements, **changes):
    """What each flag of the first measurement's case says, by name."""
    found = verdicts(runs.run(*measurements, **changes))[measurements[0].case]
    assert all(flag.advice for flag in found)
    assert [flag.name for flag in found] == sorted((flag.name for flag in found), key=NAMES.index)
    return {flag.name: flag.seen for flag in found}


def made(samples, half_ns=10_000.0, **changes):
    """A ping-pong whose samples, round trips, are these times of one way, ns."""
    times = [round(2 * float(time)) for time in samples]
    values = {"exchanges": 1, "samples": times, "first": round(2 * half_ns)}
    return runs.measurement(half_ns=half_ns, **(values | changes))


def noise(n=400, seed=1, middle=10_000.0):
    return np.random.default_rng(seed).normal(middle, 0.005 * middle, n)


def of_case(measurement, **fields):
    return msgspec.structs.replace(
        measurement, case=msgspec.structs.replace(measurement.case, **fields)
    )


def test_a_quiet_case_has_none():
    assert flags(made(noise())) == {}
    assert flags(made(noise()), made(noise(seed=2), repetition=1)) == {}
    assert flags(*(made(noise(seed=n), launch=n) for n in range(8))) == {}


# coarse-clock


def stepped(step, n=400):
    """Times that a clock of this step has rounded, 100 us long."""
    exact = np.random.default_rng(3).normal(100_000, 3 * step, n)
    return (np.round(exact / step) * step).astype(int).tolist()


def test_a_step_of_more_than_a_hundredth_of_a_sample_is_coarse():
    coarse = runs.measurement(half_ns=50_000, exchanges=1, samples=stepped(1100))
    assert flags(coarse)["coarse-clock"] == "times come in steps of 1100 ns, 1.1 % of a sample"
    fine = runs.measurement(half_ns=50_000, exchanges=1, samples=stepped(900))
    assert "coarse-clock" not in flags(fine)


def test_one_repetition_with_a_coarse_clock_is_enough():
    coarse = made(np.array(stepped(1100)) / 2, 50_000, repetition=1)
    assert "coarse-clock" in flags(made(noise(middle=50_000), 50_000), coarse)


def test_times_that_are_all_zero_are_of_a_coarse_clock_and_equal_ones_may_be_of_none():
    assert flags(made([0] * 400))["coarse-clock"] == "most samples took no time by this clock"
    most = [0] * 300 + [500] * 100
    assert flags(made(most))["coarse-clock"] == "most samples took no time by this clock"
    assert flags(made([10_000] * 400)) == {}


# cold-start


@pytest.mark.parametrize(
    ("half_ns", "times", "cold"),
    [(1000.0, 101, True), (1000.0, 99, False), (60_000.0, 11, True), (60_000.0, 9, False),
     (40_000.0, 11, False)],
)  # fmt: skip
def test_a_first_exchange_counts_where_it_is_long_for_the_rest_or_for_a_person(
    half_ns, times, cold
):
    found = flags(made(noise(middle=half_ns), half_ns, first=round(2 * half_ns * times)))
    assert ("cold-start" in found) == cold
    if cold:
        assert found["cold-start"].endswith(f"as long as {times} later ones")


def test_the_first_exchange_is_that_of_each_launch_and_not_of_later_repetitions():
    cold = {"first": 20_000_000}
    assert flags(made(noise()), made(noise(seed=2), repetition=1, **cold)) == {}
    launches = [made(noise(seed=n), launch=n, **(cold if n < 4 else {})) for n in range(7)]
    assert "cold-start" in flags(*launches)
    launches = [made(noise(seed=n), launch=n, **(cold if n < 3 else {})) for n in range(7)]
    assert "cold-start" not in flags(*launches)


# drift


def rising(share, n=400, seed=1):
    return noise(n, seed) * (1 + share * (np.arange(n) / n - 0.5))


def test_a_trend_of_more_than_two_hundredths_is_a_drift():
    assert flags(made(rising(0.024)))["drift"].endswith("slower at the end than at the beginning")
    assert flags(made(rising(-0.024)))["drift"].endswith("faster at the end than at the beginning")
    assert "drift" not in flags(made(rising(0.016)))


def test_one_step_of_more_than_a_twentieth_is_a_drift():
    def step(share):
        return np.concatenate((noise(300), (1 + share) * noise(100, 2)))

    # Where these are two kinds of times, that is said instead.
    rough = np.random.default_rng(4).normal(1, 0.04, 400)
    seen = flags(made(step(0.08) * rough))["drift"]
    assert seen == "from 10.0 us to 10.7 us after 75 % of the samples"
    assert not flags(made(step(0.03) * rough)).get("drift", "").startswith("from")
    assert "drift" not in flags(made(step(0.3)))
    assert "bimodal" in flags(made(step(0.3)))


def test_a_warm_up_that_did_not_settle_is_a_drift_where_most_did_not():
    restless = WarmUp(1000, 5_000_000, False)
    one = made(noise(), warm_up=restless)
    assert flags(one)["drift"] == "after 5,000 us of warm-up the times still changed"
    assert "drift" not in flags(one, made(noise(seed=2), repetition=1))
    assert "drift" in flags(
        one, made(noise(seed=2), repetition=1), made(noise(), repetition=2, warm_up=restless)
    )


def test_repetitions_drift_where_most_do():
    calm = made(noise(seed=7), repetition=3)
    assert "drift" not in flags(made(rising(0.03)), calm)
    assert "drift" in flags(made(rising(0.03)), made(rising(0.03, seed=2), repetition=1), calm)


# bimodal


def two_kinds(apart, share=0.3, n=1000):
    generator = np.random.default_rng(5)
    high = generator.random(n) < share
    return generator.normal(10_000, 60, n) * np.where(high, 1 + apart, 1.0)


def test_two_kinds_of_times_a_twentieth_apart_are_bimodal():
    seen = flags(made(two_kinds(0.06)))["bimodal"]
    assert "around 10.0 us" in seen
    assert "around 10.6 us" in seen
    assert seen.endswith("the line did not move with it")
    assert "line" not in flags(made(two_kinds(0.06), line=None))["bimodal"]
    assert "bimodal" not in flags(made(two_kinds(0.04)))
    assert "bimodal" not in flags(made(two_kinds(0.2, share=0.03)))


def moving(factor, lines=(100.0, 200.0)):
    """Samples in blocks of a hundred: in three of them the line was near, in one it was far, and in
    two it moved."""
    slow = np.repeat([False, False, False, True, True, True], 100)
    times = noise(600) * np.where(slow, factor, 1.0)
    near, far = lines
    return made(
        times,
        line=LineBound(near, near),
        blocks=[100] * 6,
        lines=[near, near, near, far, far, near],
    )


def test_cores_that_moved_are_seen_by_the_line():
    seen = flags(moving(1.5))["bimodal"]
    assert "us while the line took 100 ns (75 %) and 15.0" in seen
    assert "us while the line took 200 ns (25 %)" in seen
    assert "the cores moved; the row is of 10" in seen


def test_cores_that_moved_to_no_effect_are_not_worth_a_word():
    assert flags(moving(1.0)) == {}


def test_without_blocks_or_lines_nothing_is_told_of_the_line():
    old = msgspec.structs.replace(moving(1.5), blocks=[], lines=[])
    assert "did not move" in flags(old)["bimodal"]
    for changes in ({"blocks": []}, {"lines": []}, {"lines": [100.0] * 4}):
        assert "bimodal" in flags(msgspec.structs.replace(moving(1.5), **changes))


# autocorrelated


def correlated(lag1, n=20_000):
    generator = np.random.default_rng(6)
    shocks = generator.normal(0, 1, n)
    series = np.empty(n)
    series[0] = shocks[0]
    for i in range(1, n):
        series[i] = lag1 * series[i - 1] + shocks[i] * math.sqrt(1 - lag1**2)
    return 10_000 * (1 + 0.01 * series)


def test_a_sample_in_ten_that_is_independent_is_too_few():
    # The integrated time of a first-order process is (1 + r) / (1 - r): 12.3 and 8.1.
    seen = flags(made(correlated(0.85)))["autocorrelated"]
    assert seen.startswith("20,000 samples count as 1541: ")
    assert "autocorrelated" not in flags(made(correlated(0.78)))


def test_what_drifts_is_not_called_autocorrelated_as_well():
    found = flags(made(rising(0.1, 4000)))
    assert "drift" in found
    assert "autocorrelated" not in found


# not-converged


def spread(width, n=401):
    """Times whose interval is some `width` of the median, whatever the order of such times."""
    return np.random.default_rng(8).normal(10_000, 10_000 * width * math.sqrt(n) / 2.5, n)


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("full", "all samples that are kept came"),
        ("converged", "it came within 1.0 %, but what is left of one state only within"),
    ],
)
def test_an_interval_that_is_wider_than_asked_for_has_not_converged(stopped, words):
    wide, narrow = made(spread(0.02), stopped=stopped), made(spread(0.005), stopped=stopped)
    assert flags(wide)["not-converged"].startswith(words)
    assert flags(narrow) == {}


def test_time_that_was_up_is_said_whatever_the_width():
    found = flags(made(noise(), stopped="time"))
    assert found["not-converged"] == "the time was up before the interval was within 1.0 %"


def test_launches_have_to_agree_whatever_each_of_them_reached():
    apart = [made(noise(middle=10_000 * (1 + 0.02 * n)), launch=n) for n in range(6)]
    assert flags(*apart)["not-converged"].startswith("6 launches agree within")
    alike = [made(noise(seed=n), launch=n, stopped="time") for n in range(6)]
    assert flags(*alike) == {}


# disturbed


def spiky(share, n=1000, spikes=5, height=10.5):
    """`spikes` samples of so many medians, or more, that take about this share of the time."""
    times = noise(n)
    total = share * n * 10_000 / (1 - share)
    extra = total / spikes
    assert extra > (height - 1) * 10_000
    times[np.linspace(3, n - 3, spikes).astype(int)] += extra
    return times


def test_spikes_that_take_a_tenth_of_the_time_disturb():
    seen = flags(made(spiky(0.11)))["disturbed"]
    assert seen == "5 samples of more than 10 medians took 11 % of the time"
    assert flags(made(spiky(0.09))) == {}


def test_one_spike_is_one_and_it_is_said_how_often_the_cores_were_lost():
    def ends(one, other):
        return runs.usage(involuntary=one), runs.usage(involuntary=other, waited=0.02)

    lost = made(
        spiky(0.2, spikes=1), usage=ends(1, 1234), blocks=[600, 400], preemptions=[(1, 0), (0, 3)]
    )
    assert flags(lost)["disturbed"] == (
        "1 sample of more than 10 medians took 20 % of the time; initiator: core lost 1 time; "
        "responder: core lost 1,234 times, waited 2.0 % of the time; 4 samples marked"
    )
    several = [
        made(spiky(0.2), repetition=n, usage=ends(n, 2), blocks=[1000], preemptions=[(n, 2)])
        for n in (0, 1)
    ]
    assert flags(*several)["disturbed"].endswith(
        "initiator: core lost 1 time; responder: core lost 4 times, waited 2.0 % of the time; "
        "5 samples marked"
    )


def test_what_takes_less_than_ten_medians_disturbs_nothing():
    times = noise()
    times[::5] *= 9
    assert "disturbed" not in flags(made(times))


# above-bound


def test_nothing_comes_sooner_than_a_line_but_for_what_moves_meanwhile():
    def at(half_ns):
        return runs.measurement(half_ns=half_ns, line=LineBound(150.0, 152.0))

    seen = flags(at(58.0))["above-bound"]
    assert seen == "0.0580 us one way, where a cache line alone takes 0.0750 us"
    assert flags(at(62.0)) == {}
    assert flags(msgspec.structs.replace(at(10.0), line=None)) == {}


def test_what_is_written_into_memory_of_the_peer_need_not_wait_for_a_line():
    one = of_case(runs.measurement(half_ns=10.0), pattern="put", mode="onesided")
    assert flags(one) == {}
    many = of_case(runs.measurement(half_ns=10.0), pattern="stream", window=64)
    assert flags(many) == {}
    single = of_case(runs.measurement(half_ns=10.0), pattern="stream")
    assert "above-bound" in flags(single)


def test_nothing_is_faster_than_memory_is_copied():
    copies = (CopyBound(rank=0, size=65536, ns=6553.6), CopyBound(rank=0, size=4096, ns=819.2))

    def at(rate):
        return made(noise(middle=1e6), 1e6, size=round(rate * 1e6))

    seen = flags(at(12.6), copies=copies)["above-bound"]
    assert seen == "12.6 GB/s, where memory is copied at 10.0 GB/s at best (64K)"
    assert flags(at(12.4), copies=copies) == {}
    # Between hosts nobody copies within one memory.
    assert flags(msgspec.structs.replace(at(12.6), line=None), copies=copies) == {}


def test_no_rate_is_no_rate_above_a_bound():
    assert set(flags(of_case(made([0] * 400), pattern="put", mode="onesided"))) == {"coarse-clock"}


# unpinned, oversubscribed


def test_where_ranks_ran_matters_to_the_rows_that_they_are_in():
    def ranks(**changes):
        known = [runs.environment(rank) for rank in range(2)]
        return {"environments": (*known, runs.environment(2, **changes))}

    inside = runs.measurement(pair=(0, 2))
    assert flags(inside, **ranks(core=None)) == {"unpinned": "rank 2 could move from core to core"}
    assert flags(inside, **ranks(oversubscribed=True)) == {
        "oversubscribed": "rank 2 shares core 2 with another rank"
    }
    both = flags(inside, **ranks(oversubscribed=True, core=None))
    assert both["oversubscribed"] == "rank 2 shares its cores with another rank"
    assert flags(runs.measurement(), **ranks(core=None, oversubscribed=True)) == {}
    assert flags(inside, environments=()) == {}


# other-state


def test_a_row_of_another_state_than_was_asked_for_says_so():
    far = made(noise(), line=LineBound(300.0, 302.0))
    near = made(noise(seed=2), size=64, line=LineBound(150.0, 152.0))
    run = runs.run(far, near)
    assert verdicts(run)[far.case] == ()
    run.head.plan["placement_state"] = "near"
    found = verdicts(run)
    (flag,) = found[far.case]
    assert flag.name == "other-state"
    assert flag.seen.startswith("measured before it was known that the line can take 150 to 152 ns")
    assert found[near.case] == ()
    run.head.plan["placement_state"] = "far"
    assert [flag.name for flag in verdicts(run)[near.case]] == ["other-state"]


# outlier-size and contradiction


SIZES = [2**power for power in range(10, 20)]


def curve(off=None, launches=1, **changes):
    """A latency of 10 us and a byte in 0.1 ns; the sizes `off` off by a factor each."""
    rows = []
    for size in SIZES:
        middle = (10_000 + size / 10) * (off or {}).get(size, 1.0)
        rows += [
            made(noise(middle=middle, seed=7 * size + n), middle, size=size, launch=n, **changes)
            for n in range(launches)
        ]
    return rows


def named(rows, name):
    found = verdicts(runs.run(*rows))
    those = [(case.size, flag) for case, some in found.items() for flag in some]
    return {size: flag.seen for size, flag in those if flag.name == name}


def test_a_size_off_by_a_third_of_what_its_neighbours_lead_to_is_an_outlier():
    assert named(curve(), "outlier-size") == {}
    # The next size takes 13.3 us: a third more than that.
    found = named(curve({16384: 17.6 / 11.64}), "outlier-size")
    assert found == {16384: "17.6 us, where the sizes around it lead to 13.3 us"}
    assert named(curve({16384: 17.0 / 11.64}), "outlier-size") == {}
    assert set(named(curve({4096: 0.6, 65536: 3.0}), "outlier-size")) == {4096, 65536}


def test_neither_a_step_nor_an_end_is_an_outlier():
    assert named(curve({size: 2.0 for size in SIZES if size > 8192}), "outlier-size") == {}
    for size in (SIZES[0], SIZES[-1]):
        assert named(curve({size: 1.4}), "outlier-size") == {}


def test_an_outlier_needs_neighbours_of_the_same_curve():
    rows = curve({16384: 3.0})
    assert named(rows[2:6], "outlier-size") == {}
    others = [of_case(row, buffers="same") if n % 2 else row for n, row in enumerate(rows)]
    assert set(named([*rows, *others], "outlier-size")) == {16384}


def test_an_interval_that_reaches_below_zero_excludes_nothing():
    """Of two launches that differ by a third, the interval is wider than they are large."""
    rows = curve(launches=2)
    for place, row in enumerate(rows):
        if row.case.size == 16384:
            factor = 1.4 if row.launch else 2.2
            rows[place] = msgspec.structs.replace(
                row, samples=[round(factor * time) for time in row.samples]
            )
    assert named(rows, "outlier-size") == {}


def test_what_takes_a_quarter_more_than_a_larger_one_contradicts():
    step = {size: 1.4 for size in SIZES if size < 4096}
    found = named(curve(step), "contradiction")
    assert found[1024] == "14.1 us, where 4K take 10.4 us: more goes faster"
    assert set(found) == {1024, 2048}
    assert named(curve({size: 1.2 for size in SIZES if size < 4096}), "contradiction") == {}


def test_an_outlier_is_not_called_a_contradiction_as_well():
    assert named(curve({16384: 3.0}), "contradiction") == {}


def test_rows_of_different_states_of_the_machine_do_not_contradict():
    rows = [
        msgspec.structs.replace(row, line=LineBound(300.0, 300.0)) if row.case.size < 4096 else row
        for row in curve({size: 1.6 for size in SIZES if size < 4096})
    ]
    assert named(rows, "contradiction") == {}


def through(pattern, ns, window=1, mode="blocking", **changes):
    """A message of a pattern takes `ns`, one of so many on their way."""
    made_one = runs.measurement(half_ns=ns, line=None)
    values = {"pattern": pattern, "window": window, "mode": mode, "size": 1024}
    case = msgspec.structs.replace(made_one.case, **(values | changes))
    times = noise(middle=ns) * case.messages_per_exchange
    return msgspec.structs.replace(
        made_one, case=case, exchanges=1, samples=np.rint(times).astype(int).tolist()
    )


def test_a_stream_that_gets_less_through_than_a_ping_pong_contradicts():
    turns = through("pingpong", 10_000)
    seen = flags(through("stream", 13_500, 64), turns)["contradiction"]
    assert seen == "it gets 74 % of the bandwidth of pingpong through at the same size"
    assert flags(through("stream", 12_000, 64), turns) == {}
    assert "contradiction" in flags(through("stream", 13_500, 64, "nonblocking"), turns)
    assert flags(through("stream", 13_500, 64, rate=1e6), turns) == {}
    assert flags(through("stream", 13_500, 64, size=2048), turns) == {}


def test_a_window_of_one_waits_for_its_acknowledgement():
    turns = through("pingpong", 10_000)
    assert flags(through("stream", 20_000), turns) == {}
    assert "contradiction" in flags(through("stream", 26_000), turns)
    # A ping-pong with both on their way at once is no half of a round trip.
    at_once = through("pingpong", 5_000, mode="nonblocking")
    assert flags(through("stream", 10_000, 64, "nonblocking"), at_once) == {}


def test_both_ways_get_no_less_through_than_one_with_the_same_window():
    one = through("stream", 10_000, 64)
    seen = flags(through("bidirectional", 27_000, 64), one)["contradiction"]
    assert seen == "it gets 74 % of the bandwidth of stream through at the same size"
    assert flags(through("bidirectional", 24_000, 64), one) == {}
    assert flags(through("bidirectional", 40_000, 1), one) == {}


# Whatever the samples


@pytest.mark.parametrize("n", [1, 2, 23, 24])
@pytest.mark.parametrize("time", [0, 1, 10_000])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_few_or_equal_samples_raise_no_doubt_that_they_cannot_support(n, time, size):
    found = flags(made([time] * n, max(time, 1.0), size=size, line=None))
    assert set(found) <= {"coarse-clock"}
    assert bool(found) == (time == 0 and n >= 24)


def test_fewer_than_24_samples_tell_nothing_of_what_lies_between_them():
    wild = np.where(np.arange(23) % 2, 10_000, 90_000)
    for times in (wild, rising(0.9, 23), np.concatenate((noise(22), [9e6]))):
        assert set(flags(made(times))) <= {"not-converged"}


patterns = st.sampled_from(
    [
        *(("pingpong", mode, 1) for mode in ("blocking", "nonblocking", "ssend")),
        *((name, "blocking", window) for name in ("stream", "bidirectional") for window in (1, 64)),
        ("exchange", "blocking", 1),
        *((name, "onesided", window) for name in ("put", "get") for window in (1, 8)),
    ]
)
times = st.one_of(
    st.lists(st.integers(0, 2**50), min_size=1, max_size=60),
    st.lists(st.sampled_from([0, 1, 1000, 1001, 4000]), min_size=1, max_size=200),
    st.builds(lambda time, n: [time] * n, st.integers(0, 10**9), st.integers(1, 60)),
    st.builds(
        lambda seed, n: np.random.default_rng(seed).lognormal(8, 2, n).astype(int).tolist(),
        st.integers(0, 99),
        st.integers(1, 300),
    ),
)
probes = st.floats(0, 1e6)
counts = st.integers(0, 10**6)
seconds = st.floats(0, 1e6)
lost_cores = st.tuples(counts, counts)
cores = st.builds(
    CoreUse,
    number=st.integers(0, 3),
    watched=seconds,
    **dict.fromkeys(("others", "stolen", "hertz", "joules"), st.none() | seconds),
    culprit=st.none() | st.just(Culprit(name="stress (process 7)", share=0.5)),
)
usages = st.builds(
    Usage,
    **dict.fromkeys(
        ("exchanges", "voluntary", "involuntary", "minor_faults", "major_faults"), counts
    ),
    **dict.fromkeys(("elapsed", "user", "system"), seconds),
    peak_memory=counts,
    waited=st.none() | seconds,
    core=st.none() | cores,
)


@st.composite
def measurements(draw):
    pattern, mode, window = draw(patterns)
    samples = draw(times)
    blocks = draw(st.lists(st.integers(1, 60), max_size=4))
    size = draw(st.sampled_from([0, 1, 8, 1000, 1024, 2048, 4096, 2**40]))
    lost = draw(st.sampled_from([None, 0, 3, 10]))
    return Measurement(
        case=Case(
            transport=draw(st.sampled_from(["shm", "udp"])),
            pattern=pattern, mode=mode, window=window, size=size, wait="spin",
            rate=draw(st.sampled_from([None, None, 1e6])),
        ),
        repetition=draw(st.integers(0, 2)),
        launch=draw(st.integers(0, 2)),
        at=0.0,
        first=draw(st.integers(0, 2**50)),
        warm_up=WarmUp(1, draw(st.integers(0, 10**9)), draw(st.booleans())),
        exchanges=draw(st.sampled_from([1, 10, 1000])),
        stopped=draw(st.sampled_from(["converged", "time", "count", "full"])),
        line=draw(st.none() | st.builds(LineBound, probes, probes)),
        samples=samples,
        blocks=blocks,
        lines=draw(st.lists(probes, min_size=len(blocks), max_size=len(blocks)) | st.just([])),
        delivery=None if lost is None else Delivery(sent=10, lost=lost, late=0),
        usage=draw(st.none() | st.tuples(usages, usages)),
        preemptions=draw(st.lists(lost_cores, max_size=5)),
    )  # fmt: skip


@given(
    st.lists(measurements(), min_size=1, max_size=12),
    st.lists(st.floats(0, 1e9).map(lambda ns: CopyBound(rank=0, size=4096, ns=ns)), max_size=2),
    st.booleans(),
)
def test_whatever_the_run_its_flags_are_known_and_have_figures(those, copies, pinned):
    ranks = (runs.environment(0), runs.environment(1, **({} if pinned else {"core": None})))
    run = runs.run(*those, copies=tuple(copies), environments=ranks)
    found = verdicts(run)
    assert found.keys() == run.by_case.keys()
    for some in found.values():
        names = [flag.name for flag in some]
        assert len(set(names)) == len(names)
        assert set(names) <= set(NAMES)
        for flag in some:
            words = flag.seen.replace(",", " ").replace(":", " ").split()
            assert not {"nan", "inf", "-inf", "anything"} & set(words), flag
