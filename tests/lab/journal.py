"""What a relay has done to the packets that came through it, read from what it saved."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.control_message import REPORT_REQUEST, read_beginning
from lab.relay import DROPPED, HEAD, RECORD, SENT, UDP, parse

# `relay.RECORD` for numpy. One row per packet, in the order in which they were read.
KEPT = np.dtype(
    [
        ("direction", "u1"),
        ("protocol", "u1"),
        ("fate", "u1"),
        ("held", "u1"),
        ("length", "<u4"),
        ("read", "<i8"),
        ("due", "<i8"),
        ("written", "<i8"),
        ("went", "<i8"),
        ("header", f"V{HEAD}"),
    ]
)
assert KEPT.itemsize == RECORD.size


class Datagram(NamedTuple):
    """One of UDP: of `size` bytes of payload, in so many IP packets. `dropped`: one of these was,
    so that it did not come. `went` is when its last was written, in the count of all writes."""

    ports: tuple[int, int]
    size: int
    packets: int
    dropped: bool
    went: int
    payload: bytes  # the first of it

    @property
    def number(self) -> int:
        """The number that halftrip has given it, whose size has room for all of it."""
        return int.from_bytes(self.payload[:8], "little", signed=True)

    @property
    def control(self) -> tuple[int, int, int] | None:
        """The kind, batch and `end` of a control message; None where it is data."""
        beginning = read_beginning(self.payload)
        return beginning and (beginning.kind, beginning.batch, beginning.end)


class Batch(NamedTuple):
    """The numbers of a batch of halftrip's datagrams: from `first` to before `end`. In a stream the
    receiver is asked what has come."""

    first: int
    end: int
    asked: bool


@dataclass(frozen=True)
class Journal:
    """`packets` are of dtype KEPT. Direction 0 is from the first host to the second."""

    packets: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Journal:
        return cls(np.fromfile(path, dtype=KEPT))

    def chosen(self, direction: int, protocol: int, lengths: range | None = None) -> np.ndarray:
        """The packets of one direction and protocol, of those lengths."""
        packets = self.packets
        chosen = (packets["direction"] == direction) & (packets["protocol"] == protocol)
        if lengths is not None:
            chosen &= np.isin(packets["length"], lengths)
        return packets[chosen]

    def round_trips(self, protocol: int, lengths: range) -> tuple[np.ndarray, np.ndarray]:
        """Of every message of the first host and the reply to it, ns: how long after the relay read
        the message it wrote the reply, and for how much of that it had neither."""
        messages = self.packets[
            (self.packets["protocol"] == protocol)
            & np.isin(self.packets["length"], lengths)
            & (self.packets["fate"] == SENT)
        ]
        first, second = messages[:-1], messages[1:]
        is_answered = (first["direction"] == 0) & (second["direction"] == 1)
        message, reply = first[is_answered], second[is_answered]
        return reply["written"] - message["read"], reply["read"] - message["written"]

    def datagrams(self, direction: int) -> list[Datagram]:
        """Those of UDP over IPv4 in one direction, as they were sent, whole again."""
        whole = []
        parts: list[tuple[np.void, bytes]] = []
        for packet in self.chosen(direction, UDP):
            head = packet["header"].tobytes()
            if head[0] >> 4 != 4:
                continue
            header = parse(head)
            parts.append((packet, head))
            if not header.more:
                whole.append(_join(parts))
                parts = []
        assert not parts, "the fragments of a datagram come one after the other, the last one last"
        return whole


def _join(parts: list[tuple[np.void, bytes]]) -> Datagram:
    headers = [parse(head) for _, head in parts]
    assert len({header.identification for header in headers}) == 1
    offset = 0
    for header in headers:
        assert header.offset == offset
        offset += header.length - header.payload
    head = parts[0][1]
    at = headers[0].payload
    return Datagram(
        ports=struct.unpack_from(">HH", head, at),
        size=offset - 8,
        packets=len(parts),
        dropped=any(packet["fate"] == DROPPED for packet, _ in parts),
        went=max(int(packet["went"]) for packet, _ in parts),
        payload=head[at + 8 :],
    )


def batches(datagrams: list[Datagram]) -> list[Batch]:
    """halftrip's batches, from what the initiator said of them; of what got lost on its way, too,
    since it was sent all the same."""
    found: dict[int, Batch] = {}
    for datagram in datagrams:
        if datagram.control is not None:
            kind, first, end = datagram.control
            before = found.get(first, Batch(first, first, asked=False))
            found[first] = Batch(
                first, max(before.end, end), before.asked or kind == REPORT_REQUEST
            )
    return [found[first] for first in sorted(found)]


def counted(datagrams: list[Datagram], pattern: str, sent: int, window: int = 1) -> set[int]:
    """The numbers of the `sent` datagrams that the figures of a configuration are of, the only one
    of its pattern: those of its last batches, each without the iteration that goes first."""
    numbers: set[int] = set()
    for batch in reversed(batches(datagrams)):
        if batch.asked == (pattern == "stream") and len(numbers) < sent:
            numbers |= set(range(batch.first + window, batch.end))
    assert len(numbers) == sent
    return numbers


def dropped(datagrams: list[Datagram]) -> set[int]:
    """The numbers of the data that the relay has dropped, or a fragment of it."""
    return {each.number for each in datagrams if each.control is None and each.dropped}


def overtaken(datagrams: list[Datagram]) -> set[int]:
    """The numbers of those that went on after one that was sent later."""
    late, highest = set(), -1
    for datagram in sorted(datagrams, key=lambda each: each.went):
        if datagram.dropped or datagram.control is not None:
            continue
        if datagram.number < highest:
            late.add(datagram.number)
        highest = max(highest, datagram.number)
    return late
