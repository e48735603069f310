"""What two ranks say to each other alone, outside timed regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from halftrip.control.collectives import Group
from halftrip.control.protocol import Closed, encoded
from halftrip.errors import Unavailable, system_reason


class StepResult(msgspec.Struct, frozen=True):
    """The result of an end's part in a step, or the reason why it failed."""

    value: Any = None
    problem: str | None = None


class PairLink:
    """Messages between thread number `thread` of this rank and of `peer`. `initiates`: this rank is
    the initiator of the pair. `shares_core`: one of the two is not alone on its core, so that who
    waits has to sleep."""

    def __init__(
        self,
        group: Group,
        peer: int,
        initiates: bool,
        thread: int = 0,
        shares_core: bool = False,
    ) -> None:
        self.initiates = initiates
        self._polls = not shares_core
        self._group = group
        self._peer = peer
        self._thread = thread

    def open(self) -> str | None:
        """Makes the connection; both ends call it. Why it cannot be made, or None."""
        try:
            self._group.meet(self._peer, self._thread)
        except Unavailable as error:
            return str(error)
        return None

    def send(self, value: Any) -> None:
        self._group.send(self._peer, encoded(value), self._thread)

    def receive(self, kind: Any) -> Any:
        """The peer's next value, of type `kind`. Raises Interrupted if it is none."""
        return self._group.receive_value(self._peer, kind, self._thread, self._polls)

    def agree(self, step: Callable[[], Any]) -> Any:
        """Calls `step` at both ends, and returns the peer's result.

        If it raises Unavailable, Closed or OSError at either end, both raise Unavailable with the
        reason; with the initiator's, if both have one.
        """
        own = _result(step)
        self.send(own)
        peer: StepResult = self.receive(StepResult)
        for result in (own, peer) if self.initiates else (peer, own):
            if result.problem is not None:
                raise Unavailable(result.problem)
        return peer.value

    def agree_in_turn(self, step: Callable[[], Any], comes_second: bool) -> None:
        """Calls `step` at one end, and, if it succeeds there, at that which `comes_second`. If it
        raises at either end, both raise as in `agree`."""
        if comes_second:
            peer: StepResult = self.receive(StepResult)
            own = _result(step) if peer.problem is None else StepResult()
            self.send(own)
        else:
            own = _result(step)
            self.send(own)
            peer = self.receive(StepResult)
        problem = own.problem or peer.problem
        if problem is not None:
            raise Unavailable(problem)


def _result(step: Callable[[], Any]) -> StepResult:
    try:
        return StepResult(value=step())
    except (Unavailable, Closed) as error:
        return StepResult(problem=str(error))
    except OSError as error:
        return StepResult(problem=system_reason(error))
