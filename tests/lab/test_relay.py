"""The relay's pure parts, and what is read of what it kept."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.control_message import END, MAGIC, REPORT_REQUEST, Control, pack_control
from lab import journal
from lab.journal import Batch, Datagram, Journal
from lab.relay import DROPPED, SENT, TCP, UDP, WAITING, Dice, Kept, Rule, Schedule, parse


def ipv4(payload, protocol=UDP, identification=7, offset=0, more=False):
    part = offset // 8 | more << 13
    length = 20 + len(payload)
    addresses = bytes([10, 77, 0, 1, 10, 77, 0, 2])
    head = (0x45, 0, length, identification, part, 64, protocol, 0)
    return struct.pack(">BBHHHBBH", *head) + addresses + payload


def udp(payload):
    return struct.pack(">HHHH", 1000, 2000, 8 + len(payload), 0) + payload


def fragments(payload, mtu, identification=7):
    """As IP cuts up a datagram."""
    whole, most = udp(payload), (mtu - 20) // 8 * 8
    return [
        ipv4(
            whole[at : at + most],
            identification=identification,
            offset=at,
            more=at + most < len(whole),
        )
        for at in range(0, len(whole), most)
    ]


def test_headers_are_read():
    assert parse(ipv4(b"abc", TCP, 9)) == (TCP, 23, 9, 0, False, 20)
    first, second = fragments(bytes(1473), 1500)
    assert parse(first) == (UDP, 1500, 7, 0, True, 20)
    assert parse(second) == (UDP, 21, 7, 1480, False, 20)
    assert parse(first).is_fragment
    assert parse(second).is_fragment
    assert not parse(ipv4(udp(b""))).is_fragment
    options = bytes([0x46]) + ipv4(b"")[1:] + bytes(4)
    assert parse(options).payload == 24
    six = struct.pack(">IHBB", 6 << 28, 11, UDP, 64) + bytes(32 + 11)
    assert parse(six) == (UDP, 51, 0, 0, False, 40)


@given(st.binary(max_size=80))
def test_what_is_no_packet_is_refused(packet):
    if not packet or packet[0] >> 4 not in (4, 6) or len(packet) < 20:
        with pytest.raises(ValueError, match="no packet"):
            parse(packet)


@given(st.lists(st.integers(0, 9), max_size=50))
def test_what_is_due_goes_in_order(dues):
    schedule = Schedule()
    packets = [Kept(0, ipv4(bytes([i])), i) for i in range(len(dues))]
    for due, packet in zip(dues, packets, strict=True):
        schedule.add(due, packet)
    taken = []
    for now in range(10):
        while (packet := schedule.take(now)) is not None:
            assert dues[packet.read] == now
            taken.append(packet.read)
        later = [due for due in dues if due > now]
        wait = schedule.wait(now)
        assert wait == (pytest.approx((min(later) - now) * 1e-9) if later else None)
    assert taken == sorted(range(len(dues)), key=lambda i: (dues[i], i))


def test_what_is_overdue_is_not_waited_for():
    schedule = Schedule()
    schedule.add(5, Kept(0, ipv4(b""), 0))
    assert schedule.wait(9) == 0.0


def test_dice_fall_as_they_should_and_the_same_again():
    rule = Rule(delay=5, loss=0.1, reorder=0.3, hold=2)
    thrown = [Dice(rule, 1) for _ in range(2)]
    fates = [[dice.throw(UDP) for _ in range(10_000)] for dice in thrown]
    assert fates[0] == fates[1]
    assert set(fates[0]) == {None, (5, False), (7, True)}
    assert fates[0].count(None) == pytest.approx(1000, abs=150)
    assert fates[0].count((7, True)) == pytest.approx(2700, abs=250)
    other = Dice(rule, 2)
    assert [other.throw(UDP) for _ in range(10_000)] != fates[0]


def test_others_are_only_delayed():
    dice = Dice(Rule(delay=5, loss=1.0), 1)
    assert dice.throw(TCP) == (5, False)
    assert dice.throw(UDP) is None
    assert Dice(Rule(loss=1.0, protocol=0), 1).throw(TCP) is None


def log_of(tmp_path, packets):
    """A journal of packets, each with what became of it: its fate, and when it went."""
    kept = []
    for i, (packet, fate, went) in enumerate(packets):
        one = Kept(0, packet, 1000 * i)
        one.fate, one.went, one.written = fate, went, 1000 * i + 50
        kept.append(one)
    path = tmp_path / "log"
    path.write_bytes(b"".join(one.record() for one in kept))
    return Journal.load(path)


def test_what_was_kept_is_read(tmp_path):
    log = log_of(tmp_path, [(ipv4(udp(b"abc")), SENT, 0), (ipv4(b"", TCP), WAITING, -1)])
    (packet,) = log.chosen(0, UDP, range(31, 32))
    assert (packet["fate"], packet["read"], packet["written"], packet["went"]) == (SENT, 0, 50, 0)
    assert len(log.chosen(0, UDP, range(32, 99))) == 0
    assert len(log.chosen(1, UDP)) == 0
    assert [p["fate"] for p in log.chosen(0, TCP)] == [WAITING]


def test_round_trips_are_those_of_messages_that_were_answered():
    packets = np.zeros(5, dtype=journal.KEPT)
    packets["protocol"], packets["length"], packets["fate"] = UDP, 228, SENT
    packets["direction"] = [0, 1, 0, 0, 1]
    packets["read"] = [0, 15, 40, 60, 77]
    packets["written"] = [10, 35, 50, 70, 99]
    until_reply, at_second_host = Journal(packets).round_trips(UDP, range(228, 229))
    assert (until_reply.tolist(), at_second_host.tolist()) == ([35, 39], [5, 7])
    packets["fate"][0] = DROPPED
    until_reply, _ = Journal(packets).round_trips(UDP, range(228, 229))
    assert until_reply.tolist() == [39]


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=5))
def test_datagrams_are_whole_again(tmp_path_factory, sizes):
    packets = [
        (packet, SENT, 0)
        for i, size in enumerate(sizes)
        for packet in fragments(bytes(size), 1500, i)
    ]
    found = log_of(tmp_path_factory.mktemp("log"), packets).datagrams(0)
    assert [(d.ports, d.size, d.dropped) for d in found] == [
        ((1000, 2000), s, False) for s in sizes
    ]
    assert [d.packets for d in found] == [-(-(size + 8) // 1480) for size in sizes]


def test_a_datagram_that_lacks_a_fragment_is_dropped(tmp_path):
    one, two, three = fragments(bytes(3000), 1500)
    log = log_of(tmp_path, [(one, SENT, 4), (two, DROPPED, -1), (three, SENT, 3)])
    ((_, size, packets, dropped, went, written, _),) = log.datagrams(0)
    assert (size, packets, dropped, went, written) == (3000, 3, True, 4, 2050)


def data(number, went=0, dropped=False, sent=0, written=0):
    return Datagram((1, 2), 1000, 1, dropped, went, written, struct.pack("<qq", number, sent))


def control(kind, batch, end):
    payload = pack_control(Control(MAGIC, 1, kind, batch, end, 0, 0, 0))
    return Datagram((1, 2), 56, 1, dropped=False, went=0, written=0, payload=payload)


def test_batches_and_what_counts_of_them():
    said = [
        control(REPORT_REQUEST, 100, 104),
        control(REPORT_REQUEST, 100, 112),
        control(END, 100, 112),
        control(END, 112, 117),
        control(REPORT_REQUEST, 120, 128),
        control(END, 120, 128),
        data(1),
    ]
    assert journal.batches(said) == [
        Batch(100, 112, asked=True),
        Batch(112, 117, asked=False),
        Batch(120, 128, asked=True),
    ]
    assert journal.counted(said, "pingpong", 4) == {113, 114, 115, 116}
    assert journal.counted(said, "stream", 4, window=4) == {124, 125, 126, 127}
    assert journal.counted(said, "stream", 12, window=4) == set(range(104, 112)) | set(
        range(124, 128)
    )
    with pytest.raises(AssertionError):
        journal.counted(said, "stream", 5, window=4)


def test_what_went_after_a_later_one_was_overtaken():
    those = [data(10, 0), data(11, 3), data(12, 1), data(13, -1, dropped=True), data(14, 2)]
    assert journal.overtaken(those) == {11}
    assert journal.dropped(those) == {13}


def test_jitter_is_that_of_the_last_batch_as_it_arrived():
    those = [
        control(REPORT_REQUEST, 100, 108),
        data(105, sent=0, written=999),
        control(REPORT_REQUEST, 120, 126),
        data(121, 0, sent=0, written=999),
        data(122, 1, sent=0, written=50),
        data(123, 3, sent=10, written=160),
        data(124, 2, sent=20, written=90),
        data(125, -1, dropped=True),
    ]
    # They were 50, 70 and 150 on their way.
    first = 20 / 16
    assert journal.jitter(those, window=2) == pytest.approx(first + (80 - first) / 16)
