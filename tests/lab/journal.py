"""What a relay has done to the packets that came through it, read from what it saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

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
    so that it did not come."""

    size: int
    packets: int
    dropped: bool


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
    dropped = any(packet["fate"] == DROPPED for packet, _ in parts)
    return Datagram(size=offset - 8, packets=len(parts), dropped=dropped)
