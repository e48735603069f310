"""Rows that are a single figure each, as of other tools: the verdict finds those that are wrong,
and no others."""

import pytest

from harness import runs
from harness.flags import verdicts_of
from harness.published import GIGABIT


def single(size, ns, window=1, **changes):
    """A row that is one figure: a message takes `ns`."""
    pattern = "stream" if window > 1 else "pingpong"
    samples = [round(1000 * ns * (window if window > 1 else 2))]
    values = {"pattern": pattern, "window": window, "iterations": 1000, "stopped": "count"}
    values |= {"samples": samples, "rtts": None}
    return runs.measurement("tcp", size, "block", **(values | changes))


def contradicted(measurements):
    """What contradicts which rows, by pattern, size and window; rows of both ends say the same."""
    found = {}
    for each, verdict in verdicts_of(runs.run(*measurements)).items():
        assert verdict.word == "no"
        if verdict.cause.name == "contradicted":
            found.setdefault((each.pattern, each.size, each.window), set()).add(verdict.cause.seen)
    assert all(len(seen) == 1 for seen in found.values())
    return {row: seen.pop() for row, seen in found.items()}


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
    found = verdicts_of(runs.run(*measurements)).values()
    return {each.cause.advice for each in found if each.cause.name == "contradicted"}


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


def test_a_time_that_the_clock_could_not_tell_contradicts_nothing():
    assert contradicted([single(8, 1000), single(64, 0)]) == {}
    assert contradicted([single(8, 1000), single(8, 0, launch=1)]) == {}


def test_single_figures_of_different_states_do_not_contradict():
    far, near = (300.0, 300.0), (150.0, 150.0)
    for apart in ([far, near], [near, near]):
        slow, fast = single(8, 10_000, rtts=apart[0]), single(64, 1000, rtts=apart[1])
        assert (contradicted([slow, fast]) == {}) == (apart[0] != apart[1])
        again = single(8, 1000, launch=1, rtts=apart[1])
        assert (contradicted([slow, again]) == {}) == (apart[0] != apart[1])
