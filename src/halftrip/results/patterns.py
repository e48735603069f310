"""The patterns: who sends when, how an exchange counts, which modes there are of it.

How each is timed is in native/patterns, one file for each kind.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Pattern = Literal["pingpong", "stream", "bidirectional", "exchange", "pingping", "put", "get"]
Mode = Literal["blocking", "nonblocking", "persistent", "ssend", "onesided"]

_TWO_SIDED: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent", "ssend")
_AT_ONCE: tuple[Mode, ...] = ("blocking", "nonblocking", "persistent")
_ONE_SIDED: tuple[Mode, ...] = ("onesided",)


class Shape(NamedTuple):
    """What a pattern is made of.

    `modes`: the kinds of call that it can be made of, its default first. `window`: how many
    messages are in flight unless told otherwise, None where there is no such choice. `initiator`
    and `responder`: whether that end receives payload.
    """

    modes: tuple[Mode, ...]
    window: int | None
    initiator: bool
    responder: bool

    @property
    def each_way(self) -> bool:
        """Whether there is a window in each direction, neither of which need be as fast as the
        other."""
        return self.window is not None and self.initiator and self.responder


SHAPES: dict[Pattern, Shape] = {
    "pingpong": Shape(_TWO_SIDED, None, initiator=True, responder=True),
    "stream": Shape(_TWO_SIDED, 64, initiator=False, responder=True),
    "bidirectional": Shape(_AT_ONCE, 64, initiator=True, responder=True),
    "exchange": Shape(_AT_ONCE, None, initiator=True, responder=True),
    "pingping": Shape(_AT_ONCE, None, initiator=True, responder=True),
    "put": Shape(_ONE_SIDED, 1, initiator=False, responder=True),
    "get": Shape(_ONE_SIDED, 1, initiator=True, responder=False),
}


def trips(pattern: Pattern, mode: Mode) -> int:
    """How many one-way trips, one after the other, an exchange of one message is made of."""
    return 2 if is_in_turn(pattern, mode) else 1


def is_in_turn(pattern: Pattern, mode: Mode) -> bool:
    """Whether a message comes back where another one went."""
    return pattern == "pingpong" and mode != "nonblocking"


def at_once(pattern: Pattern, mode: Mode) -> bool:
    """Whether a rank sends and receives at the same moment."""
    if pattern in ("bidirectional", "exchange", "pingping"):
        return True
    return pattern == "pingpong" and mode == "nonblocking"
