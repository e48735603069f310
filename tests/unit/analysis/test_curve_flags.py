"""Flags that other rows raise: outlier-size and contradiction."""

from harness import runs
from harness.flags import flags_of, noise, pingpong, seen, through

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


def test_a_size_more_than_a_third_off_its_neighbours_is_an_outlier():
    assert named(curve(), "outlier-size") == {}
    # The next size takes 13.3 us: a third more than that.
    found = named(curve({16384: 17.6 / 11.64}), "outlier-size")
    assert found == {16384: "17.6 us, where the sizes around it lead to 13.3 us"}
    assert named(curve({16384: 17.0 / 11.64}), "outlier-size") == {}
    assert set(named(curve({4096: 0.6, 65536: 3.0}), "outlier-size")) == {4096, 65536}


def test_steps_and_ends_of_a_curve_are_no_outliers():
    assert named(curve({size: 2.0 for size in SIZES if size > 8192}), "outlier-size") == {}
    for size in (SIZES[0], SIZES[-1]):
        assert named(curve({size: 1.4}), "outlier-size") == {}
    # Of two launches that differ by a third, the interval is wider than the time itself.
    assert named(curve({16384: (2.2, 1.4)}, launches=2), "outlier-size") == {}


def test_an_outlier_needs_neighbours_on_the_same_curve():
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


def test_a_stream_slower_than_a_ping_pong_contradicts_it():
    turns = through("pingpong", 10_000)
    found = seen(*through("stream", 13_500, 64), *turns)["contradiction"]
    assert found == "it gets 74 % of the bandwidth of pingpong through at the same size"
    assert seen(*through("stream", 12_000, 64), *turns) == {}
    assert "contradiction" in seen(*through("stream", 13_500, 64, mode="nonblocking"), *turns)
    assert seen(*through("stream", 13_500, 64, rate=1e6), *turns) == {}
    assert seen(*through("stream", 13_500, 64, size=2048), *turns) == {}


def test_a_window_of_one_may_take_the_time_of_its_acknowledgement():
    turns = through("pingpong", 10_000)
    assert seen(*through("stream", 20_000), *turns) == {}
    assert "contradiction" in seen(*through("stream", 26_000), *turns)
    # A nonblocking ping-pong has both messages under way at once: no half of a round trip.
    at_once = through("pingpong", 5_000, mode="nonblocking")
    assert seen(*through("stream", 10_000, 64, mode="nonblocking"), *at_once) == {}


def test_bidirectional_slower_than_a_stream_of_the_same_window_contradicts_it():
    one = through("stream", 10_000, 64)
    found = seen(*through("bidirectional", 27_000, 64), *one)["contradiction"]
    assert found == "it gets 74 % of the bandwidth of stream through at the same size"
    assert seen(*through("bidirectional", 24_000, 64), *one) == {}
    assert seen(*through("bidirectional", 40_000, 1), *one) == {}
