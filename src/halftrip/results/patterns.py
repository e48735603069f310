"""The patterns: who sends when, how many one-way trips an iteration has, and in which modes.

Other code asks a `Shape` what a pattern is; only native/patterns and transports/python/patterns,
which have the loops, and what reads or prints other tools' output go by names.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Pattern = Literal[
    "pingpong", "stream", "bidirectional", "exchange", "pingping", "put", "get", "put-pingpong"
]
Mode = Literal["blocking", "nonblocking", "persistent", "ssend", "onesided"]

_TWO_SIDED_CALLS: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent", "ssend")
_SYMMETRIC_CALLS: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent")
_ONE_SIDED_CALLS: tuple[Mode, ...] = ("onesided",)


class Shape(NamedTuple):
    """The properties of a pattern.

    `modes`: the kinds of call that it can use, its default first. `window`: the default number of
    messages in flight; None for a pattern without windows. `initiator` and `responder`: whether
    that end receives payload. `replies`: the responder sends each message back.
    """

    modes: tuple[Mode, ...]
    window: int | None
    initiator: bool
    responder: bool
    replies: bool = False

    @property
    def is_one_sided(self) -> bool:
        """Whether the initiator reaches into memory that the responder exposes."""
        return self.modes == _ONE_SIDED_CALLS

    @property
    def is_polled(self) -> bool:
        """Whether each end reaches into the other's memory, which polls the last byte of it."""
        return self.is_one_sided and self.replies

    @property
    def is_stream(self) -> bool:
        """Whether windows of messages follow each other, so that the result is a bandwidth."""
        return self.window is not None and not self.is_one_sided

    @property
    def is_one_way(self) -> bool:
        """Whether one end sends at a time, by calls at both ends."""
        return not self.is_one_sided and (self.replies or not self.initiator)

    @property
    def each_way(self) -> bool:
        """Whether there is a window in each direction; one may be faster than the other."""
        return self.window is not None and self.initiator and self.responder

    @property
    def responder_is_timed(self) -> bool:
        """Whether the responder reads its clock, too: between a message and its reply, that would
        lengthen the initiator's round trips."""
        return not self.replies


SHAPES: dict[Pattern, Shape] = {
    "pingpong": Shape(_TWO_SIDED_CALLS, None, initiator=True, responder=True, replies=True),
    "stream": Shape(_TWO_SIDED_CALLS, 64, initiator=False, responder=True),
    "bidirectional": Shape(_SYMMETRIC_CALLS, 64, initiator=True, responder=True),
    "exchange": Shape(_SYMMETRIC_CALLS, None, initiator=True, responder=True),
    "pingping": Shape(_SYMMETRIC_CALLS, None, initiator=True, responder=True),
    "put": Shape(_ONE_SIDED_CALLS, 1, initiator=False, responder=True),
    "get": Shape(_ONE_SIDED_CALLS, 1, initiator=True, responder=False),
    "put-pingpong": Shape(_ONE_SIDED_CALLS, None, initiator=True, responder=True, replies=True),
}

# The pattern that is measured by default, which has a latency, and the one that has a bandwidth.
ROUND_TRIP: Pattern = "pingpong"
STREAM: Pattern = "stream"
# One end sends at a time, so that a send may wait for the peer to receive.
ONE_WAY: tuple[Pattern, ...] = tuple(name for name, shape in SHAPES.items() if shape.is_one_way)
ONE_SIDED: tuple[Pattern, ...] = tuple(name for name, shape in SHAPES.items() if shape.is_one_sided)
# Both ends send first, so that a send has to return before the peer receives.
BOTH_WAYS: tuple[Pattern, ...] = tuple(
    name for name in SHAPES if name not in (*ONE_WAY, *ONE_SIDED)
)


def uses_buffers(pattern: Pattern, initiates: bool) -> tuple[bool, bool]:
    """Whether an end of a pattern sends from buffers of its own, and whether it receives into some.
    Memory that an end exposes to one-sided calls is not among them."""
    shape = SHAPES[pattern]
    if shape.is_polled:
        return True, False
    if shape.is_one_sided:
        return initiates and shape.responder, initiates and shape.initiator
    if initiates:
        return True, shape.initiator
    return shape.initiator, shape.responder


def trips(pattern: Pattern, mode: Mode) -> int:
    """How many one-way trips follow each other in an iteration of one message."""
    return 2 if is_in_turn(pattern, mode) else 1


def is_in_turn(pattern: Pattern, mode: Mode) -> bool:
    """Whether the reply is sent after the request arrives."""
    return SHAPES[pattern].replies and mode != "nonblocking"


def is_both_ways(pattern: Pattern, mode: Mode) -> bool:
    """Whether payload is on its way in both directions at the same time."""
    return pattern in BOTH_WAYS or (SHAPES[pattern].replies and mode == "nonblocking")
