"""What a relay has done to the packets that came through it, read from what it saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.relay import HEAD, RECORD, SENT

# `relay.RECORD` for numpy. One row per packet, in the order in which they were read.
KEPT = np.dtype(
    [
        ("direction", "u1"),
        ("protocol", "u1"),
        ("fate", "u1"),
        ("unused", "u1"),
        ("length", "<u4"),
        ("read", "<i8"),
        ("written", "<i8"),
        ("header", f"V{HEAD}"),
    ]
)
assert KEPT.itemsize == RECORD.size


@dataclass(frozen=True)
class Journal:
    """`packets` are of dtype KEPT. Direction 0 is from the first host to the second."""

    packets: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Journal:
        return cls(np.fromfile(path, dtype=KEPT))

    def chosen(self, direction: int, protocol: int) -> np.ndarray:
        """The packets of one direction and protocol."""
        packets = self.packets
        return packets[(packets["direction"] == direction) & (packets["protocol"] == protocol)]

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
