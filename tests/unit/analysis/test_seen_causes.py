"""A cause is named where it was seen, and not where something innocent looks like it."""

import numpy as np
import pytest

from halftrip.analysis.flags import evidences
from halftrip.analysis.flags.levels import odd_launch
from halftrip.results.network_path import Connection, NetworkPath, TcpInfo
from halftrip.results.threshold import Threshold
from harness import runs
from harness.flags import HALF_NS, flags_of, noise, pingpong, seen, through, verdict_of


def cause_of(measurements, **changes):
    """The cause of the row of the first measurement; None if it is ok."""
    return verdict_of(*measurements, **changes).cause


def name_of(*arguments, **changes):
    cause = cause_of(*arguments, **changes)
    return None if cause is None else cause.name


def slices(levels, core=None, rtts=None, launches=None, **changes):
    """A slice at each of these levels, and what was read beside it: fields of the responder's core,
    and the round trip between cores, ns; of one launch, or one of each slice."""
    made = []
    for n, level in enumerate(levels):
        use = {} if core is None else core[n]
        rtt = 150.0 if rtts is None else rtts[n]
        made.append(
            pingpong(
                noise(seed=n) * level, slice=n, launch=0 if launches is None else launches[n],
                rtts=(rtt, rtt), usage=(runs.usage(core={}), runs.usage(core=use)), **changes,
            )
        )  # fmt: skip
    return made


# Two of ten slices are slower by a fifth, and something has its highest value in two.
SLOW = [1.2 if n in (3, 7) else 1.0 for n in range(10)]
GUILTY = [3, 7]
INNOCENT = [1, 6]


def at(places, high, low):
    return [high if n in places else low for n in range(10)]


@pytest.mark.parametrize(
    ("field", "high", "low", "name", "says"),
    [
        ("others", 0.4, 0.01, "CPU contention", "other programs had 1.0 % to 40 % of core 1"),
        (
            "steal",
            0.4,
            0.0,
            "steal",
            "the hypervisor did not run core 1 for 0 % to 40 % of the time",
        ),
        ("hertz", 2.5e9, 3.1e9, "frequency", "core 1 ran at 2.5 to 3.1 GHz"),
    ],
)
@pytest.mark.parametrize("launches", [None, range(10)])
def test_what_a_few_slices_had_is_the_cause_if_they_are_the_slow_ones(
    field, high, low, name, says, launches
):
    """The sum of the row is below all limits."""

    def found(places):
        beside = [{field: value} for value in at(places, high, low)]
        return cause_of(slices(SLOW, beside, launches=launches))

    where = "" if launches is None else " between launches"
    guilty = found(GUILTY)
    assert guilty.name == name
    assert guilty.seen.startswith("from 10.")
    assert guilty.seen.endswith(f"to 12.0 us{where}: {says}")
    assert found(INNOCENT).name not in ("CPU contention", "steal", "frequency")


def test_a_rank_that_shares_the_core_is_no_other_program():
    ranks = runs.environment(0), runs.environment(1, oversubscribed=True)
    beside = [{"others": value} for value in at(GUILTY, 0.4, 0.01)]
    found = cause_of(slices(SLOW, beside), environments=ranks)
    assert (found.name, "other programs" in found.seen) == ("oversubscribed", False)


def test_within_launches_their_own_level_does_not_count():
    """Launches differ, and within each the slices that others had are the slow ones."""
    launches = [n // 5 for n in range(20)]
    busy = [n % 5 == launch for n, launch in enumerate(launches)]
    levels = [1 + launch + 0.2 * slow for launch, slow in zip(launches, busy, strict=True)]
    found = cause_of(slices(levels, [{"others": 0.3 * slow} for slow in busy], launches=launches))
    assert found.name == "CPU contention"
    assert "within launches: other programs had" in found.seen


def test_the_clock_rate_explains_round_trips_between_cores():
    """On virtual cores, too; there, cores that move are named where the clock rate is the same."""
    rtts = at(GUILTY, 180.0, 150.0)
    virtual = {"environments": runs.VIRTUAL}
    rates = [{"hertz": 3.0e9 * 150.0 / rtt} for rtt in rtts]
    assert name_of(slices(SLOW, rates, rtts), **virtual) == "frequency"
    assert name_of(slices(SLOW, [{"hertz": 3e9}] * 10, rtts), **virtual) == "cores moved"
    assert name_of(slices(SLOW, None, rtts), **virtual) == "cores moved"


def test_a_bimodal_row_says_that_the_clock_rate_changed():
    def row(hertz):
        levels, rtts = at(GUILTY, 2.2, 1.0), at(GUILTY, 220.0, 100.0)
        return seen(*slices(levels, [{"hertz": each} for each in at(GUILTY, *hertz)], rtts))

    assert row((1.4e9, 3.1e9))["bimodal"].endswith(": core 1 ran at 3.1, then 1.4 GHz")
    assert "GHz" not in row((3.0e9, 3.1e9))["bimodal"]


def test_all_that_took_a_core_is_said_the_largest_first_as_shares_of_all_cores():
    def both(others, steal):
        usage = (
            runs.usage(core={"others": others, "steal": steal, "number": 0}),
            runs.usage(core={}),
        )
        return cause_of([pingpong(noise(seed=n), slice=n, usage=usage) for n in range(10)])

    stolen = both(0.28, 0.6)
    assert stolen.name == "steal"
    assert stolen.seen.index("core 0 for 60 %") < stolen.seen.index("28 % of core 0")
    taken = both(0.6, 0.28)
    assert taken.name == "CPU contention"
    assert "core 0 for 28 %" in taken.seen
    assert name_of([pingpong(noise(seed=n), slice=n) for n in range(10)]) is None

    # Of launches on different cores, shares are added as shares.
    def row(*shares):
        return cause_of(
            slices([1.0] * 10, [{"steal": shares[n % 2], "number": 1 + n % 2} for n in range(10)],
                   launches=range(10))
        )  # fmt: skip

    found = row(0.5, 0.1)
    assert (found.name, "cores 1 and 2 for 30 %" in found.seen) == ("steal", True)
    assert row(0.04, 0.1) is None


def test_a_coarse_clock_explains_no_more_than_its_step():
    def stepped(rise):
        return [
            pingpong(np.round(np.random.default_rng(n).normal(10_000 * (1 + rise * level), 300, 400)
                              / 300) * 300, slice=n)
            for n, level in enumerate((9, 0, 8, 1, 7, 2, 6, 3, 5, 4))
        ]  # fmt: skip

    assert "coarse-clock" in seen(*stepped(0.02))
    assert name_of(stepped(0.02)) == "level wandered"
    assert name_of(stepped(0.006)) == "coarse clock"


def launches_of(levels, cores=None, usage=None):
    """A launch of three slices at each of these levels; `cores` and `usage` of each launch."""
    made = [
        pingpong(
            noise(60, seed=10 * n + k) * level, launch=n, slice=k,
            usage=None if usage is None else (runs.usage(core={}), usage[n]),
        )
        for n, level in enumerate(levels)
        for k in range(3)
    ]  # fmt: skip
    ranks = [
        runs.environment(rank, launch=n, core=rank + (0 if cores is None else cores[n]))
        for n in range(len(levels))
        for rank in range(2)
    ]
    return made, {"environments": tuple(ranks)}


def test_launches_that_differ_as_chance_has_it_are_in_no_other_mode():
    random = np.random.default_rng(3)
    odd = 0
    for _ in range(60):
        made, ranks = launches_of(np.exp(random.normal(0, 0.2, 4)))
        (row,) = evidences(runs.run(*made, **ranks))
        odd += odd_launch(row) is not None
    assert odd <= 3


def test_what_only_one_launch_had_is_said_of_it():
    levels = [1.0, 1.01, 2.0, 0.99, 1.02]
    made, ranks = launches_of(levels, cores=[0, 0, 4, 0, 0])
    found = cause_of(made, **ranks)
    assert found.name == "another mode"
    assert found.seen.endswith("; it ran on cores 4 and 5, the others on 0 and 1")
    usage = [runs.usage(core={"others": 0.24 * (n == 2)}) for n in range(5)]
    made, ranks = launches_of(levels, usage=usage)
    said = "; other programs had 24 % of core 1, in the others 0 %"
    assert cause_of(made, **ranks).seen.endswith(said)
    made, ranks = launches_of(levels, usage=[runs.usage(core={"others": 0.05})] * 5)
    assert cause_of(made, **ranks).seen.endswith("from 9.90 us to 10.2 us")


def test_of_launches_that_contradict_each_other_their_usage_tells_which_is_right():
    def flag(others):
        usage = [runs.usage(core={"others": each}) for each in others]
        made, ranks = launches_of([1.0, 6.0], usage=usage)
        (found,) = flags_of(runs.run(*made, **ranks)).values()
        return next(each for each in found if each.name == "contradiction")

    told = flag((0.0, 0.6))
    assert "; other programs had 60 % of core 1, in the others" in told.seen
    assert told.advice == "measure that one again without it"
    assert flag((0.0, 0.0)).advice.endswith("nothing tells which of these is right")


def test_slices_of_few_samples_are_apart_and_of_two_levels_both_are_said():
    def half(n):
        share = 0.3 if n % 2 else 0.7
        high = np.random.default_rng(n).random(400) < share
        return noise(seed=n) * np.where(high, 1.3, 1.0)

    assert name_of([pingpong(half(n), slice=n) for n in range(10)]) == "two levels"
    one = [pingpong(noise(seed=n) * (1 + 0.3 * (n % 2)), slice=n) for n in range(10)]
    assert name_of(one) == "level wandered"

    def few(levels):
        random = np.random.default_rng(5)
        return [
            pingpong(HALF_NS * level * random.lognormal(0, 0.03, 5), slice=n)
            for n, level in enumerate(levels)
        ]

    assert name_of(few(np.linspace(0.8, 1.3, 10))) == "level wandered"
    assert name_of(few(np.ones(10))) in (None, "few samples")


@pytest.mark.parametrize(
    ("stopped", "advice"),
    [("time", "--time"), ("count", "--iterations"), ("full", "--slices or --launches")],
)
def test_why_no_more_was_measured_is_said(stopped, advice):
    random = np.random.default_rng(2)
    rows = [pingpong(random.lognormal(9.2, 0.4, 5), slice=n, stopped=stopped) for n in range(10)]
    found = cause_of(rows)
    assert found.name == "few samples"
    assert found.advice.endswith(advice)


def test_a_rank_bound_to_one_core_by_its_launcher_cannot_move():
    def unpinned(*allowed):
        ranks = [runs.environment(r, core=None, allowed_cores=list(allowed)) for r in range(2)]
        return "unpinned" in seen(pingpong(noise()), environments=tuple(ranks))

    assert unpinned(0, 1)
    assert not unpinned(3)


# Beside other rows.


def test_a_stream_is_compared_with_the_ping_pong_that_there_is():
    """In the usual plan the messages of a window have places of their own."""
    cache = Threshold(name="L3", value=32 << 20, acts="cache", source="sysfs", cores=[0, 1])
    turns = through("pingpong", 10_000, size=1 << 20)
    stream = through("stream", 13_500, 64, 1 << 20, places="own")
    found = seen(*stream, *turns)["contradiction"]
    assert found == "it gets 74 % of the bandwidth of pingpong through at the same size"
    found = seen(*stream, *turns, thresholds=(cache,))["contradiction"]
    assert found.endswith("; its window takes 64M, more than the cache of 32M")
    same = through("stream", 13_500, 64, 1 << 20, places="same")
    assert "cache" not in seen(*same, *turns, thresholds=(cache,))["contradiction"]
    faster = through("stream", 11_000, 64, 1 << 20, places="own")
    assert "contradiction" not in seen(*faster, *turns)


def connection(min_rtt_us):
    path = NetworkPath(
        protocol="tcp", family="ipv4", local="10.0.0.1", peer="10.0.0.2",
        tcp=TcpInfo(min_rtt_us=min_rtt_us),
    )  # fmt: skip
    return Connection(transport="tcp", rank=0, peer=1, path=path)


@pytest.mark.parametrize(("min_rtt_us", "is_timer"), [(100, True), (24_000, False)])
def test_a_long_way_is_no_wait_for_a_timer(min_rtt_us, is_timer):
    """Of three sizes that take as long, and longer than a larger one."""
    rows = [
        pingpong(noise(40, n, ns), ns, size=size, slice=n)
        for size, ns in ((8, 16e6), (64, 16e6), (512, 16e6), (4096, 12e6))
        for n in range(6)
    ]
    run = runs.run(*rows, connections=(connection(min_rtt_us),))
    flags = flags_of(run)[rows[0].configuration]
    advice = next(flag.advice for flag in flags if flag.name == "contradiction")
    assert ("timer" in advice) == is_timer
