"""What the kernels of datagrams decide, told made times: exact, whatever this machine does."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip import _native

MS = 1_000_000
SECOND = 1_000_000_000
NS = st.integers(0, 10**15)


def rfc3550(transits):
    """RFC 3550, 6.4.1: J += (|D| - J) / 16."""
    jitter = 0.0
    for before, transit in itertools.pairwise(transits):
        jitter += (abs(transit - before) - jitter) / 16
    return jitter


# Jitter.


@given(st.lists(st.tuples(NS, NS)))
def test_jitter_is_that_of_the_rfc(times):
    jitter = _native.Jitter()
    for sent, received in times:
        jitter.arrived(sent, received)
    assert jitter.is_known == (len(times) > 1)
    # A processor may add and multiply with one rounding where Python has two.
    assert jitter.ns == pytest.approx(rfc3550([b - a for a, b in times]), rel=1e-12)


@given(st.lists(st.tuples(NS, NS), min_size=2), st.integers(-(10**15), 10**15))
def test_jitter_does_not_know_by_how_much_the_clocks_differ(times, ahead):
    one, other = _native.Jitter(), _native.Jitter()
    for sent, received in times:
        one.arrived(sent, received)
        other.arrived(sent, received + ahead)
    assert one.ns == other.ns


def test_jitter_of_what_always_takes_as_long_is_none():
    jitter = _native.Jitter()
    for sent in (0, 5, 100, 10_000):
        jitter.arrived(sent, sent + 77)
    assert (jitter.is_known, jitter.ns) == (True, 0.0)


def test_jitter_of_an_alternating_delay_comes_near_the_difference():
    jitter = _native.Jitter()
    for i in range(200):
        jitter.arrived(0, 5 * MS * (i % 2))
    assert jitter.ns == pytest.approx(5 * MS * (1 - (15 / 16) ** 199), rel=1e-12)


# Patience.


def test_who_has_heard_nothing_waits_as_long_as_is_allowed():
    patience = _native.Patience(SECOND)
    assert (patience.length, patience.limit) == (SECOND, SECOND)


@given(st.integers(0, 2 * SECOND), st.integers(1, SECOND), st.integers(1, SECOND))
def test_an_answer_is_waited_for_twenty_times_as_long_within_bounds(ns, limit, shortest):
    patience = _native.Patience(limit, shortest)
    patience.answered(ns)
    assert patience.length == min(max(20 * ns, shortest), limit)


def test_a_slow_answer_is_remembered_for_a_while():
    patience = _native.Patience(10 * SECOND)
    slowest = 64 * MS
    patience.answered(slowest)
    for _ in range(100):
        patience.answered(MS)
        slowest = max(MS, slowest - slowest // 64)
        assert patience.length == max(20 * slowest, 10 * MS)
    assert patience.length < 20 * 64 * MS / 4


def test_what_is_missed_doubles_the_wait():
    patience = _native.Patience(SECOND)
    patience.answered(MS)
    lengths = []
    for _ in range(8):
        lengths.append(patience.length // MS)
        patience.missed()
    assert lengths == [20, 40, 80, 160, 320, 640, 1000, 1000]


@given(st.integers(1, SECOND), st.integers(1, SECOND), st.integers(0, SECOND))
def test_it_ends_when_five_in_a_row_had_all_the_time(limit, shortest, ns):
    patience = _native.Patience(limit, shortest)
    patience.answered(ns)
    waited, full = 0, 0
    with pytest.raises(_native.NoAnswer, match="no answer to 5 datagrams within"):  # noqa: PT012
        while waited < 100 * limit:
            waited += patience.length
            full += patience.length == limit
            patience.missed()
    assert full == 5
    assert waited < patience.longest_vain
    # And whoever tries again has all the time.
    assert patience.length == limit


def test_an_answer_in_between_begins_the_count_anew():
    patience = _native.Patience(SECOND)
    for _ in range(10):
        for _ in range(4):
            patience.missed()
        patience.answered(SECOND)
    assert patience.length == SECOND


def play(patience, takes):
    """A ping-pong whose answers take so long, ns: which of its exchanges were given up. An answer
    that comes after that comes in the midst of another exchange, which goes on."""
    now, on_the_way, given_up = 0, [], []
    for number, ns in enumerate(takes):
        until = now + min(ns, patience.length)
        came = ns <= patience.length
        for late in [at for at in on_the_way if at <= until]:
            on_the_way.remove(late)
            patience.was_short()
        if came:
            patience.answered(ns)
        else:
            given_up.append(number)
            on_the_way.append(now + ns)
            patience.missed()
        now = until
    return given_up


def test_who_is_too_hasty_becomes_patient():
    """The path slows down to three times the patience: two are given up, and no more."""
    patience = _native.Patience(SECOND)
    assert play(patience, [MS // 10] * 20 + [30 * MS] * 40) == [20, 21]
    assert patience.length == 600 * MS


@given(st.lists(st.integers(1, 900 * MS), max_size=60))
def test_no_more_are_given_up_in_a_row_than_waits_can_double(takes):
    given_up = play(_native.Patience(SECOND), takes)
    most = 7  # 10 ms, doubled so often, are more than the limit
    runs = [b - a for a, b in zip(given_up, given_up[most:], strict=False)]
    assert all(run > most for run in runs)


def test_another_case_takes_another_time():
    patience = _native.Patience(SECOND)
    patience.answered(50 * MS)
    patience.restart()
    assert patience.length == SECOND
    patience.answered(MS)
    assert patience.length == 20 * MS


# Pacer.

LATE = st.lists(st.floats(0, 500), min_size=1, max_size=200)


def send(pacer, lateness):
    """When each was let go that is late by so much; and by how much it was late for the schedule
    of one every 10 from 1000 on."""
    times = []
    for late in lateness:
        times.append(pacer.next + late)
        pacer.let_go(times[-1])
    return times, [time - 1000 - 10 * i for i, time in enumerate(times)]


def test_who_is_in_time_sends_at_the_rate():
    times, _ = send(_native.Pacer(10, 1000, 100), [0.0] * 50)
    assert times == [1000 + 10 * i for i in range(50)]


def test_time_that_was_lost_is_made_up_for_at_twice_the_rate():
    _, behind = send(_native.Pacer(10, 1000, 100), [0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0])
    assert behind == [0, 0, 30, 25, 20, 15, 10, 5, 0, 0, 0]


def test_what_one_is_too_far_behind_is_not_made_up_for():
    _, behind = send(_native.Pacer(10, 1000, 100), [0, 1000, *[0] * 40])
    # The third was due at 1020, and now is 100 before the second went, at 2010.
    assert behind[-1] == 2010 - 100 - 1020


@given(LATE)
def test_none_goes_before_it_is_due(lateness):
    _, behind = send(_native.Pacer(10, 1000, 100), lateness)
    assert min(behind) >= -1e-6


@given(LATE)
def test_lost_time_never_makes_a_burst(lateness):
    times, _ = send(_native.Pacer(10, 1000, 100), lateness)
    assert all(b - a >= 5 - 1e-6 for a, b in itertools.pairwise(times))


@given(st.lists(st.floats(0, 4), min_size=1, max_size=200))
def test_who_is_a_little_late_never_falls_behind(lateness):
    """Late by less than what a datagram can make up for: each is late by that alone."""
    _, behind = send(_native.Pacer(10, 1000, 100), lateness)
    assert behind == pytest.approx(lateness, abs=1e-6)


@given(LATE)
def test_what_is_forgiven_is_not_made_up_for(lateness):
    pacer = _native.Pacer(10, 1000, 100)
    times, _ = send(pacer, lateness)
    pacer.forgive()
    assert pacer.next >= times[-1] + 10 - 1e-6


def test_nothing_is_to_be_forgiven_at_the_start():
    pacer = _native.Pacer(10, 1000, 100)
    pacer.forgive()
    assert pacer.next == 1000


# What counts twice.


@given(st.integers(0, 10**12), st.lists(st.integers(0, 5000), max_size=300))
def test_each_number_is_new_once(first, offsets):
    seen, known = _native.Seen(first, 100), set()
    for offset in offsets:
        # It remembers 4096 at least; what is older may be new, but nobody can tell.
        highest = max(known, default=-1)
        if offset > highest - 4096:
            assert seen.add(first + offset) == (offset not in known)
            known.add(offset)
    assert seen.highest == first + max(known, default=-1)


@given(st.integers(1, 100_000))
def test_what_is_too_old_is_not_new(most):
    seen = _native.Seen(0, most)
    assert seen.add(0)
    assert seen.add(10 * most + 10_000)
    assert not seen.add(1)
