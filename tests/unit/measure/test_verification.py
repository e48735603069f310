"""With --verify every message of a batch is checked, wherever in it a byte is wrong."""

import msgspec
import numpy as np
import pytest

from halftrip.measure.verification import Verification
from halftrip.memory.ring import Ring, WrongByte, allocate_ring, layout
from harness import runs
from harness.bench import measure

# By itself: two ends whose messages are copied by the test.

SLOTS = 5
# Five words, and three bytes of a sixth.
SIZE = 43


def configuration(pattern="pingpong", **fields):
    return runs.configuration(size=SIZE, pattern=pattern, verify=True, **fields)


class End:
    """One end's buffers, and its verification."""

    def __init__(self, the_configuration, initiates, ranks=(0, 1)):
        the_configuration = msgspec.structs.replace(the_configuration, pair=ranks)
        self.layout = layout(the_configuration, 0)._replace(slots=SLOTS)
        end = the_configuration.initiator
        self.out = self.in_ = allocate_ring(self.layout, the_configuration, end)
        if the_configuration.buffers == "separate":
            self.in_ = allocate_ring(self.layout, the_configuration, end)
        self.exposed = allocate_ring(self.layout, the_configuration, end)
        self.verification = Verification(
            the_configuration, initiates, SLOTS, self.out, self.in_, self.exposed
        )

    def check(self, messages, source_slots=None, header_size=0):
        return self.verification.check(messages, source_slots, header_size)

    def flip(self, ring, slot, offset):
        ring.region.bytes[slot * self.layout.stride + offset] ^= 0x10


def both_ends(the_configuration, ranks=(0, 1)):
    return End(the_configuration, True, ranks), End(the_configuration, False, ranks)


def send(source, target):
    """All buffers of one ring arrive in another."""
    target.region.bytes[:] = source.region.bytes


# Buffers and offsets: of words, of a partial word at the end, and of the first and last buffer.
POSITIONS = [(0, 0), (0, 7), (0, 20), (0, 40), (0, 42), (1, 0), (1, 42), (SLOTS - 1, 42)]


@pytest.mark.parametrize(("slot", "offset"), POSITIONS)
@pytest.mark.parametrize("known", [False, True])
def test_a_wrong_byte_is_found_wherever_it_is(slot, offset, known):
    """With known source buffers, too, as datagrams have them."""
    initiator, responder = both_ends(configuration())
    source_slots = np.arange(1, SLOTS + 1) if known else None
    initiator.verification.fill(SLOTS)
    send(initiator.out, responder.in_)
    responder.flip(responder.in_, slot, offset)
    with pytest.raises(WrongByte, match=f"^byte {offset} is 0x"):
        responder.check(SLOTS, source_slots)


@pytest.mark.parametrize("header_size", [8, 16])
def test_a_header_does_not_count(header_size):
    initiator, responder = both_ends(configuration())
    initiator.verification.fill(SLOTS)
    send(initiator.out, responder.in_)
    responder.flip(responder.in_, 1, header_size - 1)
    assert check_again(responder, header_size=header_size) == SLOTS
    responder.flip(responder.in_, 1, header_size)
    with pytest.raises(WrongByte, match=f"^byte {header_size} is"):
        check_again(responder, header_size=header_size)


def test_messages_of_other_buffers_are_known_by_where_they_came_from():
    """One was lost, so all later ones are a buffer earlier; the source of the last is not known."""
    initiator, responder = both_ends(configuration())
    initiator.verification.fill(SLOTS)
    stride = responder.layout.stride
    sent, into = initiator.out.region.bytes, responder.in_.region.bytes
    for slot, source in enumerate((0, 2, 3, 4)):
        into[slot * stride :][:SIZE] = sent[source * stride :][:SIZE]
    moved = np.array([1, 3, 4, 5, 0])
    with pytest.raises(WrongByte):
        check_again(responder)
    assert check_again(responder, moved) == SLOTS - 1
    responder.flip(responder.in_, 1, 12)
    with pytest.raises(WrongByte, match=r"^byte 12 is"):
        check_again(responder, moved)


def check_again(end, source_slots=None, header_size=0):
    """A check of the first batch, again."""
    end.verification._first = 0
    return end.check(SLOTS, source_slots, header_size)


def test_no_message_of_another_batch_or_of_other_ranks_is_taken_for_a_new_one():
    """One that is left from the batch before."""
    initiator, responder = both_ends(configuration())
    for end in (initiator, responder):
        end.verification.fill(SLOTS)
    send(initiator.out, responder.in_)
    assert responder.check(SLOTS) == SLOTS
    with pytest.raises(WrongByte):
        responder.check(SLOTS)
    # A shorter batch goes on where the last one ended.
    initiator, responder = both_ends(configuration())
    for messages in (3, 4, SLOTS, 1):
        initiator.verification.fill(messages)
        send(initiator.out, responder.in_)
        assert responder.check(messages) == messages
        # The initiator counts its messages, too.
        send(initiator.out, initiator.in_)
        with pytest.raises(WrongByte):
            initiator.check(messages)
    # Ends of other ranks have other messages.
    one, _ = both_ends(configuration(), ranks=(0, 1))
    other, _ = both_ends(configuration(), ranks=(2, 3))
    for end in (one, other):
        end.verification.fill(SLOTS)
    assert (one.out.region.bytes != other.out.region.bytes).any()


# By pattern: the buffers that the initiator and the responder send from, and receive into.
RINGS = [
    (configuration(), ("out", "out"), ("in_", "in_")),
    (configuration("stream"), ("out", None), (None, "in_")),
    (configuration("bidirectional"), ("out", "out"), ("in_", "in_")),
    (configuration("put", mode="onesided"), ("out", None), (None, "exposed")),
    (configuration("get", mode="onesided"), (None, "exposed"), ("in_", None)),
    (configuration("put-pingpong", mode="onesided"), ("out", "out"), ("exposed", "exposed")),
]


@pytest.mark.parametrize(("the_configuration", "sources", "targets"), RINGS)
def test_each_end_fills_what_it_sends_and_checks_what_it_receives(
    the_configuration, sources, targets
):
    ends = both_ends(the_configuration)
    for end, source in zip(ends, sources, strict=True):
        before = {
            name: getattr(end, name).region.bytes.copy() for name in ("out", "in_", "exposed")
        }
        end.verification.fill(SLOTS)
        changed = [n for n, old in before.items() if (getattr(end, n).region.bytes != old).any()]
        assert changed == ([source] if source else [])
    for end, peer, source, target in zip(ends, ends[::-1], sources[::-1], targets, strict=True):
        if target is None:
            assert end.check(SLOTS) == 0
            continue
        send(getattr(peer, source), getattr(end, target))
        assert check_again(end) == SLOTS
        end.flip(getattr(end, target), 2, 17)
        with pytest.raises(WrongByte, match=r"^byte 17 is"):
            check_again(end)


def test_the_byte_that_tells_of_an_arrival_does_not_count():
    initiator, responder = both_ends(configuration("put-pingpong", mode="onesided"))
    initiator.verification.fill(SLOTS)
    send(initiator.out, responder.exposed)
    responder.flip(responder.exposed, 1, SIZE - 1)
    assert check_again(responder) == SLOTS
    responder.flip(responder.exposed, 1, SIZE - 2)
    with pytest.raises(WrongByte, match=rf"^byte {SIZE - 2} is"):
        check_again(responder)


def test_the_gaps_of_a_strided_message_do_not_count():
    strided = runs.configuration("mpi", 24, datatype="vector", verify=True)
    initiator, responder = both_ends(strided)
    initiator.verification.fill(SLOTS)
    send(initiator.out, responder.in_)
    for gap in (8, 15, 24):
        responder.flip(responder.in_, 0, gap)
    assert check_again(responder) == SLOTS
    # The last byte of the second block, which is the message's sixteenth.
    responder.flip(responder.in_, 0, 23)
    with pytest.raises(WrongByte, match=r"^byte 15 is"):
        check_again(responder)


# In slices that are measured.

MEASURED = [
    ("shm", "pingpong", "separate", 1),
    ("shm", "pingpong", "same", 1),
    ("shm", "stream", "separate", 8),
    ("unix", "stream", "separate", 8),
    ("tcp", "bidirectional", "separate", 8),
    ("udp", "pingpong", "separate", 1),
    ("udp", "pingpong", "same", 1),
    ("udp", "stream", "separate", 8),
]
BYTES = 8192


def measured(transport, pattern, buffers, window, **options):
    the_configuration = runs.configuration(
        transport, BYTES, pattern=pattern, buffers=buffers, window=window, verify=True
    )
    return measure(the_configuration, **options)


@pytest.mark.parametrize("measured_configuration", MEASURED)
def test_all_messages_of_all_batches_are_checked(measured_configuration, monkeypatch):
    """As many as are filled, and none twice."""
    filled, checked = [], []
    fill, check = Ring.fill, Ring.check

    def note_fill(ring, slots, seeds):
        filled.extend(seeds.tolist())
        fill(ring, slots, seeds)

    def note_check(ring, slots, seeds, header=0):
        checked.extend(seeds.tolist())
        check(ring, slots, seeds, header)

    monkeypatch.setattr(Ring, "fill", note_fill)
    monkeypatch.setattr(Ring, "check", note_check)
    found = measured(*measured_configuration, slices=2)
    assert found.problem is None
    assert all(each.verified > 0 for each in found.slices)
    assert sum(each.verified for each in found.slices) == len(checked)
    assert len(set(filled)) == len(filled)
    # With one buffer, the reply is the same message, which is checked at both ends.
    ends = 2 if measured_configuration[1:3] == ("pingpong", "same") else 1
    if measured_configuration[0] != "udp":
        assert sorted(checked) == sorted(filled * ends)
    else:
        assert set(checked) <= set(filled)
        assert 0 < len(checked) <= ends * len(set(checked))
