"""What gets no answer between two ranks, so that nobody waits for it twice."""

from __future__ import annotations

from typing import NamedTuple

from halftrip.results.configuration import Configuration, Tuning
from halftrip.transports.base import Problem
from halftrip.units import format_size

_MTU = "does a hop between the hosts drop packets larger than its MTU (path MTU)?"
_CUT = "has a firewall forgotten the connection, or has the path changed?"
_FIREWALL = "does a firewall drop what goes to the ports of --data-ports?"


class _Way(NamedTuple):
    """What larger messages have in common with smaller ones that got no answer. Sockets that are
    set up otherwise, as with --mss, may get one."""

    transport: str
    tuning: Tuning


class _Silence(NamedTuple):
    """Messages that got no answer: of this size, so many one after the other, and why."""

    size: int
    window: int
    reason: str


class Silences:
    """Which messages of a pair have passed, and which got no answer."""

    def __init__(self) -> None:
        self._found: dict[_Way, list[_Silence]] = {}
        self._passed: dict[_Way, int] = {}
        self._measured: set[Configuration] = set()
        self._silent: set[Configuration] = set()

    def passed(self, configuration: Configuration) -> None:
        """A slice of the configuration was measured."""
        self._measured.add(configuration)
        way = _way(configuration)
        self._passed[way] = max(self._passed.get(way, 0), configuration.size)

    def add(self, configuration: Configuration, problem: Problem) -> None:
        """A batch of the configuration got no answer."""
        self._silent.add(configuration)
        found = self._found.setdefault(_way(configuration), [])
        found.append(_Silence(configuration.size, configuration.window, problem.reason))
        if _fills(configuration, problem):
            # Whatever fills a segment.
            found.append(_Silence(problem.segment, 1, problem.reason))

    def __contains__(self, configuration: Configuration) -> bool:
        """Whether a batch of this very configuration got no answer."""
        return configuration in self._silent

    def refusal(self, configuration: Configuration) -> str | None:
        """Why the configuration would get no answer, as others of which it has more did not; None
        if that is not known."""
        for size, window, reason in self._found.get(_way(configuration), ()):
            if configuration.size >= size and configuration.window >= window:
                return reason
        return None

    def advice(self, configuration: Configuration, problem: Problem) -> str:
        """What a person may look at where the configuration got no answer."""
        passed = self._passed.get(_way(configuration), 0)
        if configuration in self._measured:
            return f"it passed before: {_CUT}"
        if 0 < passed < configuration.size:
            return f"{format_size(passed)} passes: {_MTU}"
        if _fills(configuration, problem):
            # Those that opened the connection did.
            return f"smaller ones pass: {_MTU}"
        return f"control messages pass: {_FIREWALL}"


def _fills(configuration: Configuration, problem: Problem) -> bool:
    """Whether what got no answer were full segments, as far as is known."""
    return 0 < problem.segment <= configuration.size * configuration.window


def _way(configuration: Configuration) -> _Way:
    return _Way(configuration.transport, configuration.tuning)
