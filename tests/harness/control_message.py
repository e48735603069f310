"""What the ends of a path of datagrams tell each other beside the data, as
native/endpoints/control_message.hpp has it."""

import struct
from typing import NamedTuple

MAGIC = 0xB7C3A9E15D2F8641
REPORT_REQUEST, REPORT, END, END_ACK = range(4)
_LAYOUT = struct.Struct("<QBB6x5q")
CONTROL_SIZE = _LAYOUT.size


class Control(NamedTuple):
    magic: int
    version: int
    kind: int
    batch: int
    end: int
    received: int
    reordered: int
    jitter: int


def pack_control(control):
    return _LAYOUT.pack(*control)


def read_control(datagram):
    return Control(*_LAYOUT.unpack(datagram))


def is_control(datagram):
    return datagram.startswith(MAGIC.to_bytes(8, "little"))
