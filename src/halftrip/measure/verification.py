"""Checks that messages arrive as they were sent (--verify).

Both ends have the same number of buffers and use them in the same order, so each end knows which
message is in which buffer. A batch has no more messages than there are buffers.
"""

from __future__ import annotations

import numpy as np

from halftrip.memory.ring import Numbers, Ring, message_seeds
from halftrip.results.configuration import Configuration


class Verification:
    """Fills and checks one end's buffers: `out`, `in_`, and `exposed`, which the peer accesses. A
    message has one of `slots` buffers."""

    def __init__(
        self, configuration: Configuration, initiates: bool, slots: int, out: Ring, in_: Ring,
        exposed: Ring | None,
    ) -> None:  # fmt: skip
        initiator, responder = configuration.pair
        self._rank = initiator if initiates else responder
        peer = responder if initiates else initiator
        # With one buffer, the reply is the initiator's payload.
        self._sender = initiator if configuration.buffers == "same" else peer
        self._source = _source(configuration, initiates, out, exposed)
        self._target = _target(configuration, initiates, in_, exposed)
        self._slots = slots
        self._first = 0

    def fill(self, messages: int) -> None:
        """Writes the messages of the next batch into the buffers that they are sent from."""
        if self._source is not None:
            numbers = self._numbers(messages)
            self._source.fill(numbers % self._slots, message_seeds(self._rank, numbers))

    def check(self, messages: int, source_slots: Numbers | None, header_size: int) -> int:
        """How many messages of this batch are known to have arrived as they were sent; the first
        `header_size` bytes of each are not compared. Raises WrongByte if one differs.

        `source_slots` is that of `transports.base.Timed`.
        """
        numbers = self._numbers(messages)
        self._first += messages
        if self._target is None:
            return 0
        slots = numbers % self._slots
        if source_slots is not None:
            sources = source_slots[slots] - 1
            known = sources >= 0
            number_in_slot = np.zeros(self._slots, dtype=np.int64)
            number_in_slot[slots] = numbers
            slots, numbers = slots[known], number_in_slot[sources[known]]
        self._target.check(slots, message_seeds(self._sender, numbers), header_size)
        return int(slots.size)

    def _numbers(self, messages: int) -> Numbers:
        """The numbers of the messages of this batch, counted over the whole configuration."""
        return np.arange(self._first, self._first + messages, dtype=np.int64)


def _source(
    configuration: Configuration, initiates: bool, out: Ring, exposed: Ring | None
) -> Ring | None:
    """The buffers that this end's messages come from; None where it sends none of its own."""
    shape = configuration.shape
    if not (shape.responder if initiates else shape.initiator):
        return None
    if shape.is_one_sided and not initiates and not shape.is_polled:
        return exposed
    return out if initiates or configuration.buffers == "separate" else None


def _target(
    configuration: Configuration, initiates: bool, in_: Ring, exposed: Ring | None
) -> Ring | None:
    """The buffers that messages arrive in; None where none arrive."""
    shape = configuration.shape
    if not (shape.initiator if initiates else shape.responder):
        return None
    return exposed if shape.is_polled or (shape.is_one_sided and not initiates) else in_
