"""Two ranks that talk: the memory that they share, the paths that are open between them, and
what each end needs of the configurations that they measure. Both ends take the same steps; no other
rank does anything meanwhile."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from halftrip import _native
from halftrip.control.link import PairLink
from halftrip.errors import Unavailable
from halftrip.measure.batch_runner import BatchRunner
from halftrip.measure.bounds import PROBED_BYTES, CacheLineProbe, Probed
from halftrip.measure.walk import SEGMENTS
from halftrip.memory.allocator import Bytes
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration, Tuning
from halftrip.transports.base import PairContext, Path, PathSettings, Problem, Transport
from halftrip.units import format_size

if TYPE_CHECKING:
    from halftrip.measure.setup import Setup

# The transport, and the settings of both ends.
_PathKey = tuple[str, PathSettings, PathSettings]


class PairEnd:
    """This rank's end of the pair that `context` describes. `budget` is how many bytes the buffers
    of configurations that are not being measured may take at either end."""

    def __init__(self, setup: Setup, context: PairContext, budget: int) -> None:
        self.link = PairLink(
            setup.group, context.peer, context.initiates, context.thread, context.shares_core
        )
        # Why the two ranks cannot talk at all. On one host nothing is between them.
        self.unreachable = None if context.same_host else self.link.open()
        self._setup = setup
        self._budget = budget
        self._paths: dict[_PathKey, Path | Unavailable] = {}
        self._known: set[Path] = set()
        # What the paths that were opened lack of what was asked for.
        self.shortfalls: list[str] = []
        # Both ends know the same of it.
        self.unanswered = Unanswered()
        # The least recently used first, with the bytes of its buffers.
        self._runners: OrderedDict[Configuration, tuple[BatchRunner, int]] = OrderedDict()
        self._kept_bytes = 0
        # Where two ranks share a core, a cache line takes a context switch, which is no bound.
        # Threads other than the first run on cores that are not probed.
        probes = not context.shares_core and context.thread == 0
        self.context = context
        self._probe: CacheLineProbe | None = None
        if probes or any(each.capabilities.shares_memory for each in setup.transports.values()):
            memory, reason = self._share_memory(context.different_hosts, self._segments())
            segment = None if memory is None else memory[:-PROBED_BYTES]
            self.context = dataclasses.replace(context, segment=segment, no_segment=reason)
            if probes and memory is not None:
                self._probe = CacheLineProbe(memory[-PROBED_BYTES:], setup.clock, setup.poll_pause)

    @property
    def initiates(self) -> bool:
        return self.context.initiates

    def _segments(self) -> int:
        """How many segments the two share, the same at both ends. A rank with many partners has
        fewer of each."""
        setup = self._setup
        if not any(each.capabilities.shares_memory for each in setup.transports.values()):
            return 1
        if self.context.thread >= setup.plan.threads:
            # What goes on beside what is timed has no slices of its own.
            return 1
        return max(1, SEGMENTS // (setup.schedule.partners() * setup.plan.threads))

    def _share_memory(self, refusal: str | None, segments: int) -> tuple[Bytes | None, str]:
        """Memory that both ranks map: so many segments, and what is probed; or None and why not.
        `refusal` is why they cannot."""
        segment: SharedSegment | None = None
        mapped: Bytes | None = None

        if refusal is not None:
            return None, refusal

        def create() -> SharedOffer | None:
            nonlocal segment, mapped
            if not self.link.initiates:
                return None
            segment = SharedSegment(segments * _native.shm_segment_size + PROBED_BYTES)
            mapped = segment.bytes
            return segment.offer

        def attach() -> None:
            nonlocal mapped
            if not self.link.initiates:
                mapped = open_offer(msgspec.convert(offer, SharedOffer))

        try:
            offer = self.link.agree(create)
            self.link.agree(attach)
        except Unavailable as error:
            return None, str(error)
        finally:
            if segment is not None:
                segment.close()
        return mapped, ""

    def path(self, configuration: Configuration) -> Path:
        """This rank's end of the path that a configuration uses, opened at the first call. Raises
        Unavailable at both ends, at every call, if it cannot be opened."""
        key = self._key(configuration)
        if key not in self._paths:
            own = key[1] if self.initiates else key[2]
            try:
                self._paths[key] = self._open(self._setup.transport(configuration), own)
            except Unavailable as error:
                self._paths[key] = error
        path = self._paths[key]
        if isinstance(path, Unavailable):
            raise path
        return path

    @staticmethod
    def _key(configuration: Configuration) -> _PathKey:
        initiator, responder = (
            PathSettings(end.wait, configuration.tuning, configuration.extra)
            for end in configuration.ends
        )
        return configuration.transport, initiator, responder

    def _open(self, transport: Transport, settings: PathSettings) -> Path:
        paths: list[Path] = []

        def make() -> object:
            paths.append(transport.path(self.context, settings))
            return paths[0].address

        try:
            address = self.link.agree(make)
            self.link.agree_in_turn(
                lambda: paths[0].connect(address), comes_second=self.context.is_listener
            )
        except Unavailable:
            for path in paths:
                path.close()
            raise
        self.shortfalls += paths[0].shortfalls
        return paths[0]

    def new_path(self, configuration: Configuration) -> Path | None:
        """The path that a configuration uses, the first time that this is asked of it; else
        None."""
        path = self._paths.get(self._key(configuration))
        if not isinstance(path, Path) or path in self._known:
            return None
        self._known.add(path)
        return path

    def batch_runner(self, configuration: Configuration) -> BatchRunner:
        """What runs the batches of a configuration at this end, ready for a slice: as it was left,
        if it is still there. Raises Unavailable at both ends if buffers or an endpoint cannot be
        made, or no answer would come over the path."""
        refusal = self.unanswered.refusal(configuration)
        if refusal is not None:
            raise Unavailable(refusal)
        if configuration in self._runners:
            self._runners.move_to_end(configuration)
            return self._runners[configuration][0]
        # The same at both ends, so that they close the same.
        needed = max(self._setup.buffer_bytes(configuration, end) for end in (True, False))
        self._make_room(needed)
        runner = BatchRunner(self._setup, self.context, configuration, self.path(configuration))
        try:
            if configuration.is_one_sided:
                # To open a window takes both ends: neither begins unless both have their buffers.
                self.link.agree(runner.allocate)
                address = self.link.agree(runner.open)
            else:
                address = self.link.agree(runner.allocate_and_open)
            if address is not None or runner.address is not None:
                self.link.agree(lambda: runner.connect(address))
        except Unavailable:
            # One end may have succeeded where the other failed.
            self._close(runner)
            raise
        self._runners[configuration] = runner, needed
        self._kept_bytes += needed
        return runner

    def _make_room(self, needed: int) -> None:
        """Closes the runners that were not used for longest. Both ends used them in the same order,
        so they close the same."""
        while self._runners and needed + self._kept_bytes > self._budget:
            _, (runner, size) = self._runners.popitem(last=False)
            self._kept_bytes -= size
            self._close(runner)

    def _close(self, runner: BatchRunner) -> None:
        """Closes a runner. Both ends have to call it."""
        runner.close()
        if self._setup.transport(runner.configuration).capabilities.opens_memory:
            self.link.agree(lambda: None)
        runner.free()

    def drop(self, configuration: Configuration) -> None:
        """Closes the runner of a configuration that will not be measured again. Both ends have to
        call it."""
        kept = self._runners.pop(configuration, None)
        if kept is not None:
            self._kept_bytes -= kept[1]
            self._close(kept[0])

    def fail(self, configuration: Configuration, problem: Problem, gives_up: bool) -> None:
        """Closes the runner of a configuration that has failed, and its path if that is of no
        further use. Both ends have to call it."""
        if problem.silent:
            self.unanswered.add(configuration, problem)
        # The two ends may have counted different numbers of messages.
        self.drop(configuration)
        if not gives_up:
            return
        key = self._key(configuration)
        for other in [each for each in self._runners if self._key(each) == key]:
            self.drop(other)
        path = self._paths.pop(key)
        if isinstance(path, Path):
            self._known.discard(path)
            path.close()

    @property
    def has_probe(self) -> bool:
        """Whether `probe` can tell a core-to-core round trip; the same at both ends."""
        return self._probe is not None

    def probe(self) -> Probed | None:
        """The core-to-core round trip at this moment, on the initiator; None elsewhere."""
        if self._probe is None:
            return None
        if self.initiates:
            return self._probe.initiate()
        self._probe.respond()
        return None

    def close(self) -> None:
        """Closes all runners and paths. Both ends have to call it."""
        for runner, _ in self._runners.values():
            self._close(runner)
        self._runners.clear()
        for path in self._paths.values():
            if isinstance(path, Path):
                path.close()
        self._paths.clear()


_MTU = "does a hop between the hosts drop packets larger than its MTU (path MTU)?"
_CUT = "has a firewall forgotten the connection, or has the path changed?"
_FIREWALL = "does a firewall drop what goes to the ports of --data-ports?"


class _Way(NamedTuple):
    """What larger messages have in common with smaller ones that got no answer. Sockets that are
    set up otherwise, as with --mss, may get one."""

    transport: str
    tuning: Tuning


class _UnansweredSize(NamedTuple):
    """Messages that got no answer: of this size, so many one after the other, and why."""

    size: int
    window: int
    reason: str


class Unanswered:
    """Which messages of a pair have passed, and which got no answer."""

    def __init__(self) -> None:
        self._found: dict[_Way, list[_UnansweredSize]] = {}
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
        found.append(_UnansweredSize(configuration.size, configuration.window, problem.reason))
        if _fills(configuration, problem):
            # Whatever fills a segment.
            found.append(_UnansweredSize(problem.segment, 1, problem.reason))

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
    return 0 < problem.segment <= configuration.bytes_in_flight


def _way(configuration: Configuration) -> _Way:
    return _Way(configuration.transport, configuration.tuning)
