"""The ranks that have connected to their launcher, and whether those on other hosts answer."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from halftrip.control.greeting import Guest, Hello
from halftrip.control.protocol import Channel, Closed, Ping
from halftrip.plan.plan import Plan

# How often a rank on another host is asked for a sign of life, s, and after how many questions
# without an answer it is given up. They are counted: the launcher itself may have been stopped.
_PING_SECONDS = 2.0
_MOST_UNANSWERED = 5
# How long a server may let nothing be measured, s, and how many times as long as a configuration
# and a timeout.
_IDLE_SECONDS = 60.0
_IDLE_TIMES = 10


def guests(ranks: int) -> set[Guest]:
    """Who connects to the launcher of so many ranks: each rank, those that cannot begin and do not
    know their number, and the one that has records."""
    return {Guest("control", rank) for rank in range(-1, ranks)} | {Guest("events", 0)}


def longest_idle(plan: Plan) -> float | None:
    """For how many seconds nothing may be measured with a server; None: while iterations last."""
    if plan.iterations is not None:
        return None
    return _IDLE_SECONDS + _IDLE_TIMES * (plan.time + plan.timeout)


@dataclass
class ConnectedRank:
    """A rank that has connected. `finished`: it has reported that its work is done. `unanswered` is
    how many pings it has not answered yet."""

    name: str
    hello: Hello
    control: Channel
    finished: bool = False
    unanswered: int = 0

    @classmethod
    def from_hello(cls, hello: Hello, control: Channel, host: str | None) -> ConnectedRank:
        """A rank on this host, named in messages where there are several."""
        where = "" if host is None else f" on {host}"
        return cls(f"rank {hello.rank}{where} (process {hello.pid})", hello, control)


class Heartbeat:
    """Asks ranks on other hosts for a sign of life. A process that is stopped, or a host that is
    frozen, closes no connection. Those on this host are not asked: the kernel tells of their end,
    and nothing shall wake them up while they measure. Nothing may be measured for so many seconds,
    `longest`: a server may answer, and do nothing else (None: for ever)."""

    def __init__(self, elsewhere: Collection[int], longest: float | None = None) -> None:
        self._elsewhere = elsewhere
        self._next = time.monotonic()
        self._most_idle = math.inf if longest is None else longest / _PING_SECONDS
        self._idle = 0

    def measured(self) -> None:
        """Something has been measured."""
        self._idle = 0

    @property
    def patience(self) -> float | None:
        """After how many seconds `beat` is to be called next; None: never."""
        return max(self._next - time.monotonic(), 0.0) if self._elsewhere else None

    def beat(self, ranks: Iterable[ConnectedRank]) -> list[ConnectedRank]:
        """Asks, if it is time to. Returns the ranks that have not answered for too long."""
        if not self._elsewhere or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + _PING_SECONDS
        asked = [r for r in ranks if r.hello.rank in self._elsewhere and not r.finished]
        self._idle += 1
        for rank in asked:
            rank.unanswered += 1
            # Whoever supervises notices a connection that is closed.
            with contextlib.suppress(Closed):
                rank.control.send(Ping())
        is_idle = self._idle > self._most_idle
        return [rank for rank in asked if is_idle or rank.unanswered > _MOST_UNANSWERED]
