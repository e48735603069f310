"""What datagrams are on the wire: control messages, versions, numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip import _native
from halftrip.clock import Clock
from harness.control_message import CONTROL_SIZE, MAGIC, Control, is_control, pack_control
from harness.datagrams import SIZES, counts, ends_of, run_batch
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


@pytest.fixture(scope="module")
def clock():
    return Clock()


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
