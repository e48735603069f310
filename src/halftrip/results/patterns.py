"""The patterns: who sends when, how many one-way trips an iteration has, and in which modes.

The timed code is in native/patterns, one file for each kind of pattern.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Pattern = Literal["pingpong", "stream", "bidirectional", "exchange", "pingping", "put", "get"]
Mode = Literal["blocking", "nonblocking", "persistent", "ssend", "onesided"]

_TWO_SIDED: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent", "ssend")
_BOTH_WAYS: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent")
_ONE_SIDED: tuple[Mode, ...] = ("onesided",)


class Shape(NamedTuple):
    """The properties of a pattern.

    `modes`: the kinds of call that it can use, its default first. `window`: the default number of
    messages in flight; None for a pattern without windows. `initiator` and `responder`: whether
    that end receives payload.
    """

    modes: tuple[Mode, ...]
    window: int | None
    initiator: bool
    responder: bool

    @property
    def each_way(self) -> bool:
        """Whether there is a window in each direction; one may be faster than the other."""
        return self.window is not None and self.initiator and self.responder


SHAPES: dict[Pattern, Shape] = {
    "pingpong": Shape(_TWO_SIDED, None, initiator=True, responder=True),
    "stream": Shape(_TWO_SIDED, 64, initiator=False, responder=True),
    "bidirectional": Shape(_BOTH_WAYS, 64, initiator=True, responder=True),
    "exchange": Shape(_BOTH_WAYS, None, initiator=True, responder=True),
    "pingping": Shape(_BOTH_WAYS, None, initiator=True, responder=True),
    "put": Shape(_ONE_SIDED, 1, initiator=False, responder=True),
    "get": Shape(_ONE_SIDED, 1, initiator=True, responder=False),
}


def uses_buffers(pattern: Pattern, initiates: bool) -> tuple[bool, bool]:
    """Whether an end of a pattern sends from buffers of its own, and whether it receives into some.
    Memory that the responder exposes to one-sided calls is not among them."""
    shape = SHAPES[pattern]
    if pattern in ("put", "get"):
        return initiates and shape.responder, initiates and shape.initiator
    if initiates:
        return True, shape.initiator
    return shape.initiator, shape.responder


def trips(pattern: Pattern, mode: Mode) -> int:
    """How many one-way trips follow each other in an iteration of one message."""
    return 2 if is_in_turn(pattern, mode) else 1


def is_in_turn(pattern: Pattern, mode: Mode) -> bool:
    """Whether the reply is sent after the request arrives."""
    return pattern == "pingpong" and mode != "nonblocking"


def is_both_ways(pattern: Pattern, mode: Mode) -> bool:
    """Whether payload is on its way in both directions at the same time."""
    if pattern in ("bidirectional", "exchange", "pingping"):
        return True
    return pattern == "pingpong" and mode == "nonblocking"
