"""Tables that the authors of older tools published, each row a single figure: the verdict finds the
rows that are wrong, which nobody flagged, and no others."""

import msgspec
import pytest

from halftrip.analysis.verdict import verdicts
from halftrip.results.block import RoundTrips
from harness import runs
from harness.published import EXCHANGES, GIGABIT, VE_VE, VH_VH

# README.md of the channel benchmarks of Dragon ("Example Output"), by node: bytes and messages/s
# of ch_p2p_msg_rate, whose window is 64; bytes, window and bytes/s of ch_p2p_bandwidth; bytes and
# seconds of ch_p2p_latency, which both nodes print alike.
MESSAGE_RATE = {
    0: {8: 210.309, 64: 1549.62, 256: 1481.53, 1024: 1670.41, 2048: 1622.14},
    1: {8: 210.308, 64: 1549.71, 256: 1481.67, 1024: 1670.42, 2048: 1622.13},
}
BANDWIDTH = {
    0: [
        (8, 64, 12803.9), (64, 48, 100963), (1024, 32, 1.26097e6), (16384, 32, 1.97151e7),
        (65536, 32, 2.4416e7), (1048576, 16, 2.40753e7),
    ],
    1: [
        (8, 64, 12804.4), (64, 48, 100952), (1024, 32, 1.26108e6), (16384, 32, 1.97167e7),
        (65536, 32, 2.44142e7), (1048576, 16, 2.40735e7),
    ],
}  # fmt: skip
LATENCY = {
    8: 0.001012, 64: 0.001009, 1024: 0.00104, 16384: 0.001528, 65536: 0.003617,
    1048576: 0.039882, 2097152: 0.100548,
}  # fmt: skip


def single(size, ns, window=1, **changes):
    """A row that is one figure: a message takes `ns`."""
    pattern = "stream" if window > 1 else "pingpong"
    samples = [round(1000 * ns * (window if window > 1 else 2))]
    values = {"pattern": pattern, "window": window, "iterations": 1000, "stopped": "count"}
    return runs.measurement("tcp", size, "block", samples=samples, rtts=None, **(values | changes))


def dragon(*programs):
    """The figures of these programs, one launch each: both ends report."""
    found = []
    for node, pair in enumerate([(0, 1), (1, 0)]):
        rows = {
            "latency": [(size, 1, seconds) for size, seconds in LATENCY.items()],
            "rate": [(size, 64, 1 / rate) for size, rate in MESSAGE_RATE[node].items()],
            "bandwidth": [(size, window, size / rate) for size, window, rate in BANDWIDTH[node]],
        }
        found += [
            single(size, 1e9 * seconds, window, pair=pair, launch=launch)
            for launch, program in enumerate(programs)
            for size, window, seconds in rows[program]
        ]
    return found


def with_rtts(measurement, rtts):
    (block,) = measurement.blocks
    block = msgspec.structs.replace(block, core_to_core_rtt=RoundTrips(*rtts))
    return msgspec.structs.replace(measurement, blocks=[block])


def contradicted(measurements):
    """What contradicts which rows, by pattern, size and window; rows of both ends say the same."""
    found = {}
    for each, verdict in verdicts(runs.run(*measurements)).items():
        assert verdict.word == "no"
        if verdict.cause.name == "contradicted":
            found.setdefault((each.pattern, each.size, each.window), set()).add(verdict.cause.seen)
    assert all(len(seen) == 1 for seen in found.values())
    return {row: seen.pop() for row, seen in found.items()}


def test_8_bytes_of_dragon_are_slower_than_64():
    assert contradicted(dragon("rate")) == {
        ("stream", 8, 64): "4,755 us, where 64 take 645 us: more goes faster"
    }


def test_8_bytes_of_dragon_have_two_rates():
    """210 messages/s in one program, 12804 / 8 in the other: 7.6 times as many."""
    both = dragon("rate", "bandwidth")
    said = "one launch took 4,755 us, 7.6 times as long as another, 625 us"
    assert contradicted(both) == {("stream", 8, 64): said}
    assert contradicted(dragon("latency", "rate", "bandwidth")) == {("stream", 8, 64): said}
    assert contradicted(dragon("latency", "bandwidth")) == {}


def test_bytes_that_take_a_millisecond_each_are_found():
    """1 to 8 bytes; the author "couldn't figure out" why."""
    rows = [single(size, size * 8e3 / rate) for size, rate in GIGABIT.items()]
    found = contradicted(rows)
    assert {size for _, size, _ in found} == {1, 2, 4, 8}
    assert found["pingpong", 8, 1] == "1,000 us, where 16 take 10.6 us: more goes faster"


def test_sizes_that_wait_for_a_timer_are_told_from_others():
    """Three sizes or more that take as long as each other, and longer than a tick of 0.1 ms."""
    (advice,) = advices([single(size, size * 8e3 / rate) for size, rate in GIGABIT.items()])
    assert "wait for a timer" in advice
    larger = [single(64, 1000), single(128, 1000)]
    for times, waits in (
        ((2e5, 2e5, 2e5), True),
        ((2e5, 2e5), False),
        ((2e5, 2e5, 3e5), False),
        ((9e4, 9e4, 9e4), False),
    ):
        small = [single(1 << n, ns) for n, ns in enumerate(times)]
        (found,) = advices([*small, *larger])
        assert (found == advice) == waits


def advices(measurements):
    """What to do about rows that others contradict."""
    found = verdicts(runs.run(*measurements)).values()
    return {each.cause.advice for each in found if each.cause.name == "contradicted"}


def test_an_outlier_and_a_cold_start_are_found():
    found = contradicted([single(size, 1e3 * us) for size, us in VH_VH.items()])
    assert found == {("pingpong", 2048, 1): "36.1 us, where 4K take 5.90 us: more goes faster"}
    found = contradicted([single(size, 1e3 * us) for size, us in VE_VE.items()])
    assert found == {("pingpong", 8, 1): "1,124 us, where 16 take 40.5 us: more goes faster"}


def test_two_modes_of_a_machine_are_no_contradiction():
    """1.3 to 3.2 times apart."""
    rows = [
        single(size, 10 * ms, launch=launch)
        for size, both in EXCHANGES.items()
        if size <= 512
        for launch, ms in enumerate(both)
    ]
    assert contradicted(rows) == {}


# The limits.


@pytest.mark.parametrize(("times", "found"), [(4.9, False), (5.1, True)])
def test_figures_without_intervals_have_to_differ_by_five(times, found):
    rows = [single(8, 1000 * times), single(64, 1000)]
    assert set(contradicted(rows)) == ({("pingpong", 8, 1)} if found else set())
    # A larger message may take as much longer as it likes.
    assert contradicted([single(8, 1000), single(64, 1000 * times)]) == {}
    launches = [single(8, 1000 * times), single(8, 1000, launch=1)]
    assert set(contradicted(launches)) == ({("pingpong", 8, 1)} if found else set())
    slices = [single(8, 1000 * (times if n == 2 else 1), slice=n) for n in range(5)]
    assert set(contradicted(slices)) == ({("pingpong", 8, 1)} if found else set())


def test_a_stream_of_single_figures_may_be_slower_than_a_ping_pong_too():
    """With a window of 64 a message may take 65 / 64 of half a round trip."""
    for times, found in ((5.0, False), (5.2, True)):
        rows = [single(8, 1000 * times, window=64), single(8, 1000)]
        assert set(contradicted(rows)) == ({("stream", 8, 64)} if found else set())


def test_a_time_that_the_clock_could_not_tell_contradicts_nothing():
    assert contradicted([single(8, 1000), single(64, 0)]) == {}
    assert contradicted([single(8, 1000), single(8, 0, launch=1)]) == {}


def test_six_slices_have_an_interval_that_tells_where_the_latency_is():
    slices = [single(8, 10_000 if n == 3 else 1000, slice=n) for n in range(6)]
    (verdict,) = verdicts(runs.run(*slices)).values()
    assert verdict.cause is None or verdict.cause.name != "contradicted"


def test_single_figures_of_different_states_do_not_contradict():
    far, near = (300.0, 300.0), (150.0, 150.0)
    for apart in ([far, near], [near, near]):
        slow, fast = (single(size, ns) for size, ns in ((8, 10_000), (64, 1000)))
        rows = [with_rtts(slow, apart[0]), with_rtts(fast, apart[1])]
        assert (contradicted(rows) == {}) == (apart[0] != apart[1])
        launches = [with_rtts(slow, apart[0]), with_rtts(single(8, 1000, launch=1), apart[1])]
        assert (contradicted(launches) == {}) == (apart[0] != apart[1])
