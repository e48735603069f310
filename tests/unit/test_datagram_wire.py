"""What datagrams are on the wire, and what the patterns over them decide: fed with made times, so
that it is exact on a busy machine, too."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip import _native
from harness.control_message import CONTROL_SIZE, MAGIC, Control, is_control, pack_control
from harness.datagrams import SIZES, counts, ends_of, run_batch, smoothed
from harness.relay import Relay

INT64 = st.integers(-(2**63), 2**63 - 1)
VERSION = _native.ControlMessage.version
FIELDS = ("kind", "batch", "end", "received", "reordered", "jitter")


def fields(message):
    return tuple(getattr(message, name) for name in FIELDS)


@given(st.tuples(st.integers(0, 3), INT64, INT64, INT64, INT64, INT64))
def test_a_control_message_is_encoded_as_the_table_says(values):
    """The table in control_message.hpp; `struct` packs the same fields."""
    datagram = _native.ControlMessage(*values).encode()
    assert datagram == pack_control(Control(MAGIC, VERSION, *values))
    assert fields(_native.ControlMessage.decode(datagram)) == values
    # What does not begin with the magic number is data.
    assert _native.ControlMessage.decode(bytes([datagram[0] ^ 1]) + datagram[1:]) is None
    for kind in (-1, 4):
        with pytest.raises(ValueError, match="no such kind"):
            _native.ControlMessage(kind, *values[1:])


@given(st.integers(0, 255), st.binary(max_size=120))
def test_any_other_version_is_refused_by_name(version, rest):
    datagram = MAGIC.to_bytes(8, "little") + bytes([version]) + rest
    if version == VERSION:
        message = _native.ControlMessage.decode(datagram)
        assert (message is None) == (len(datagram) != CONTROL_SIZE or rest[0] > 3)
        return
    said = f"of version {version}, this end's of version {VERSION}: both need the same halftrip"
    with pytest.raises(_native.VersionMismatch, match=said):
        _native.ControlMessage.decode(datagram)


def of_next_version(length):
    """The beginning of a control message is the same in every version; its length may differ."""
    return (MAGIC.to_bytes(8, "little") + bytes([VERSION + 1])).ljust(length, b"\0")


next_version = pytest.raises(
    _native.VersionMismatch, match=f"the peer's datagrams are of version {VERSION + 1}"
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("length", [9, 55, 56, 57, 1000])
@pytest.mark.parametrize("verify", [True, False])
def test_a_peer_of_another_version_ends_a_call_at_once(clock, size, length, verify):
    """Whatever the lengths of data and of control messages of either version are."""

    def answer(index, datagram):
        relay.pass_on(1, of_next_version(length))
        return []

    with Relay(there=answer, control=answer) as relay:
        ends = ends_of(relay, clock, size)
        for pattern in ("pingpong", "stream"):
            with next_version:
                ends[0].take_part(_native.initiate_datagrams, pattern, 1, verify=verify)
            relay.pass_on(0, of_next_version(length))
            with next_version:
                ends[1].take_part(_native.respond_datagrams, pattern, 1, verify=verify)
    # Whoever expects that there may be no reply need not know more.
    assert issubclass(_native.VersionMismatch, _native.NoAnswer)


def test_control_messages_and_data_of_one_length_are_told_apart(clock):
    lengths = set()

    def note(index, datagram):
        lengths.add((len(datagram), is_control(datagram)))
        return [0.0]

    with Relay(there=note, control=note) as relay:
        ends = ends_of(relay, clock, CONTROL_SIZE, window=4)
        assert counts(run_batch(ends, "stream", 5)) == (5, 20, 0, 0)
    assert lengths == {(CONTROL_SIZE, False), (CONTROL_SIZE, True)}


MS = 1_000_000
SECOND = 1_000_000_000
NS = st.integers(0, 10**15)


# Jitter.


@given(st.lists(st.tuples(NS, NS)))
def test_jitter_is_that_of_the_rfc(times):
    jitter = _native.Jitter()
    for sent, received in times:
        jitter.arrived(sent, received)
    assert jitter.is_known == (len(times) > 1)
    # A processor may add and multiply with one rounding where Python has two.
    transits = itertools.pairwise([b - a for a, b in times])
    assert jitter.ns == pytest.approx(smoothed(abs(b - a) for a, b in transits), rel=1e-12)


# ReplyTimeout.


@given(st.integers(0, 2 * SECOND), st.integers(1, SECOND), st.integers(1, SECOND))
def test_the_timeout_is_twenty_times_a_reply_within_bounds(ns, limit, shortest):
    timeout = _native.ReplyTimeout(limit, shortest)
    timeout.replied(ns)
    assert timeout.current == min(max(20 * ns, shortest), limit)


def test_a_slow_reply_is_remembered_misses_double_the_timeout_and_a_reset_forgets():
    timeout = _native.ReplyTimeout(10 * SECOND)
    slowest = 64 * MS
    timeout.replied(slowest)
    for _ in range(100):
        timeout.replied(MS)
        slowest = max(MS, slowest - slowest // 64)
        assert timeout.current == max(20 * slowest, 10 * MS)
    assert timeout.current < 20 * 64 * MS / 4
    # A miss doubles it.
    timeout = _native.ReplyTimeout(SECOND)
    timeout.replied(MS)
    timeouts = []
    for _ in range(8):
        timeouts.append(timeout.current // MS)
        timeout.missed()
    assert timeouts == [20, 40, 80, 160, 320, 640, 1000, 1000]
    # A reply between misses restarts the count.
    timeout = _native.ReplyTimeout(SECOND)
    for _ in range(10):
        for _ in range(4):
            timeout.missed()
        timeout.replied(SECOND)
    assert timeout.current == SECOND
    # A reset forgets all replies.
    timeout = _native.ReplyTimeout(SECOND)
    assert (timeout.current, timeout.limit) == (SECOND, SECOND)
    timeout.replied(50 * MS)
    timeout.reset()
    assert timeout.current == SECOND
    timeout.replied(MS)
    assert timeout.current == 20 * MS


@given(st.integers(1, SECOND), st.integers(1, SECOND), st.integers(0, SECOND))
def test_five_misses_in_a_row_at_the_limit_are_the_end(limit, shortest, ns):
    timeout = _native.ReplyTimeout(limit, shortest)
    timeout.replied(ns)
    waited, at_limit = 0, 0
    with pytest.raises(_native.NoAnswer, match="no answer to 5 datagrams within"):  # noqa: PT012
        while waited < 100 * limit:
            waited += timeout.current
            at_limit += timeout.current == limit
            timeout.missed()
    assert at_limit == 5
    assert waited < timeout.longest_silence
    # Whoever tries again begins at the limit.
    assert timeout.current == limit


# Pacer.

DELAYS = st.lists(st.floats(0, 500), min_size=1, max_size=200)


def send(pacer, delays):
    """Sends one datagram for each of `delays`, so long after it became due. Returns when each was
    sent, and by how much each lagged behind a schedule of one every 10 from 1000 on."""
    times = []
    for delay in delays:
        times.append(pacer.next + delay)
        pacer.sent(times[-1])
    return times, [time - 1000 - 10 * i for i, time in enumerate(times)]


def test_lost_time_is_caught_up_at_twice_the_rate_but_no_lag_beyond_the_maximum():
    _, lags = send(_native.Pacer(10, 1000, 100), [0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0])
    assert lags == [0, 0, 30, 25, 20, 15, 10, 5, 0, 0, 0]
    _, lags = send(_native.Pacer(10, 1000, 100), [0, 1000, *[0] * 40])
    # The third was due at 1020; now it is due 100 before the second was sent, at 2010.
    assert lags[-1] == 2010 - 100 - 1020


@given(DELAYS)
def test_none_is_sent_before_it_is_due_nor_in_a_burst_and_forgiven_time_is_not_caught_up(delays):
    times, lags = send(_native.Pacer(10, 1000, 100), delays)
    assert min(lags) >= -1e-6
    assert all(b - a >= 5 - 1e-6 for a, b in itertools.pairwise(times))
    pacer = _native.Pacer(10, 1000, 100)
    # At the start there is nothing to forgive.
    pacer.forgive()
    assert pacer.next == 1000
    times, _ = send(pacer, delays)
    pacer.forgive()
    assert pacer.next >= times[-1] + 10 - 1e-6


@given(st.lists(st.floats(0, 4), min_size=1, max_size=200))
def test_small_delays_do_not_add_up(delays):
    """Each is less than one datagram can catch up, so each lags by its own delay alone."""
    _, lags = send(_native.Pacer(10, 1000, 100), delays)
    assert lags == pytest.approx(delays, abs=1e-6)


# DuplicateFilter.


@given(st.integers(0, 10**12), st.lists(st.integers(0, 5000), max_size=300))
def test_each_number_is_new_once(first, offsets):
    arrived, known = _native.DuplicateFilter(first, 100), set()
    for offset in offsets:
        # It knows 4096 at least; below that a number may be new, but nobody can tell.
        highest = max(known, default=-1)
        if offset > highest - 4096:
            assert arrived.add(first + offset) == (offset not in known)
            known.add(offset)
    assert arrived.highest == first + max(known, default=-1)
