"""A configuration: one point of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from halftrip.registry import SIMULATED
from halftrip.results.bounds import (
    Algorithm,
    Change,
    CodePoint,
    Connections,
    DelayNs,
    Figure,
    Microseconds,
    Name,
    Number,
    Positive,
    Rank,
    SegmentBytes,
    Several,
    Size,
    SocketBytes,
    Text,
    Window,
)
from halftrip.results.patterns import (
    ROUND_TRIP,
    SHAPES,
    Mode,
    Pattern,
    Shape,
    is_both_ways,
    is_in_turn,
    trips,
)
from halftrip.results.reported import Variant
from halftrip.units import size_name

# A setting that another tool, whose output was imported, does not say; none that can be asked for.
# Where the type of its field has no such value, its name is in `Configuration.unknown`.
UNKNOWN = "unknown"
_WITH_UNKNOWN = frozenset({"memory", "pages", "wait", "buffers", "cache", "places"})
Wait = Literal["block", "spin", "adaptive", "unknown"]
Buffers = Literal["same", "separate", "unknown"]
Pages = Literal["4K", "huge", "unknown"]
Cache = Literal["hot", "cold", "unknown"]
Places = Literal["own", "same", "unknown"]
Touch = Literal["none", "untimed", "timed"]
Datatype = Literal["byte", "contiguous", "vector"]
Object = Literal["buffer", "bytes", "array", "dict"]
Socket = Literal["pair", "req"]
Ownership = Literal["keep", "transfer"]
DeviceCopy = Literal["driver", "engine"]
# No traffic beside what is timed.
NO_BACKGROUND = "none"
# Settings that are no fields, as those of plug-ins: names, in their order, and values.
Extra = tuple[tuple[Name, Text | bool | Change | Figure], ...]


class EndSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one end of a configuration.

    `memory` is the kind of memory that its buffers are in, `pages` their page size. `wait` is how
    it waits for a message: in the kernel, by polling, or by polling for a while first. `core` is
    the requested core; None: not requested, `records.Environment` says which one was used.
    """

    memory: Name = "host"
    pages: Pages = "4K"
    wait: Wait
    core: Number | None = None


class Tuning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the sockets of a path are set up, alike at both ends. A default leaves a socket as it is
    where nothing is asked for; a transport that has no such setting has the default, too.

    `socket_buffer` is what a socket may hold in each direction, bytes (0: as the kernel decides,
    which is what adapts by itself). Without `nodelay`, TCP waits for an acknowledgement before it
    sends another small segment: Nagle's algorithm. `congestion` is the name of TCP's algorithm for
    it, or "system"; `mss` the largest TCP segment, bytes (0: the path's); `dscp` the code point in
    the header of each packet. `busy_poll` is for how long a call polls the device's queue before
    it sleeps, us (0: as the system does). `streams` is how many TCP connections one thread uses in
    turn: message k of each direction goes over connection k modulo their number. With `zerocopy`,
    the kernel reads messages where they are, without a copy of its own: MSG_ZEROCOPY.
    """

    socket_buffer: SocketBytes = 0
    nodelay: bool = True
    congestion: Algorithm = "system"
    mss: SegmentBytes = 0
    dscp: CodePoint = 0
    busy_poll: Microseconds = 0
    streams: Connections = 1
    zerocopy: bool = False


UNTUNED = Tuning()
# What can be set of the sockets of each transport that has any.
TUNABLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unix": ("socket_buffer",),
        "tcp": Tuning.__struct_fields__,
        "udp": ("socket_buffer", "dscp", "busy_poll"),
    }
)


class Configuration(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """One point of a plan: what thread number `thread` of each rank of `pair` measures.

    `size` is the payload of a message, bytes; where a tool that was imported does not say it, it is
    0 and `size_known` is False. `buffers` says whether a rank receives into the buffer that it
    sends from. `window` is how many messages are in flight; `places` whether each of them has a
    place of its own at both ends, or all have the same one, which stays in the cache. `touch`:
    between windows the responder of a put reads what was put, that of a get writes what will be
    got; "timed" as part of the iteration, or "untimed" while the clock stands still. `delay` is how
    long the initiator computes between its send and its receive, or between the sends of a window,
    ns. With `align`, buffers start that many bytes after a multiple of twice `align`; with 0, the
    first starts a page. `datatype` is what MPI is told a message is made of. `object` is what a
    program in Python sends: a buffer, or an object that is pickled. `socket` is the type of ZeroMQ
    socket, `ownership` whether the sender of a Dragon message keeps its memory or the receiver gets
    it; None: the transport has no such setting. `staging`: where the buffers of an end are in a
    device's memory, messages are copied to and from the host's, page-locked, as a part of what is
    timed: whole (0) or in chunks of so many bytes, so that copies and messages overlap; None: the
    transport is given the buffers as they are. `device_copy` is who copies from device to device:
    the driver chooses, or copy engines do; None: the transport has no such choice.
    `tuning` is how its sockets are set up.
    `rate` is what a sender offers, bytes per second; None: as much as it can.
    With `verify`, messages are filled and checked between batches, and each has a buffer of its
    own. `background` is the traffic that goes on meanwhile between the same ranks, by other threads
    of theirs (`plan.background`). `concurrency` is how many pairs of threads talk at the same time,
    this one included.
    `extra` has settings that are no fields, as those of plug-ins, where the transport has them.
    `variant` is what else tells it from others, by name: what its launch had of what the plan
    varies, or the table of an imported text. `unknown` are the names of further settings, in their
    order, that an imported text does not say; their fields have the default; see `not_said`.
    """

    transport: Name
    pattern: Pattern = ROUND_TRIP
    mode: Mode = "blocking"
    size: Size
    initiator: EndSettings
    responder: EndSettings
    buffers: Buffers = "separate"
    cache: Cache = "hot"
    pair: tuple[Rank, Rank] = (0, 1)
    window: Window = 1
    places: Places = "same"
    touch: Touch = "none"
    delay: DelayNs = 0
    align: Size = 0
    datatype: Datatype = "byte"
    object: Object = "buffer"
    socket: Socket | None = None
    ownership: Ownership | None = None
    staging: Size | None = None
    device_copy: DeviceCopy | None = None
    tuning: Tuning = UNTUNED
    rate: Positive | None = None
    verify: bool = False
    background: Name = NO_BACKGROUND
    thread: Number = 0
    concurrency: Several = 1
    extra: Extra = ()
    variant: Variant = ()
    size_known: bool = True
    unknown: tuple[Name, ...] = ()

    @property
    def ends(self) -> tuple[EndSettings, EndSettings]:
        """The settings of the initiator and of the responder."""
        return self.initiator, self.responder

    def both_ends(self, field: str) -> str:
        """A field of both ends as text: ``spin``, or ``spin:block`` where they differ."""
        values = [str(getattr(end, field)) for end in self.ends]
        return ":".join(dict.fromkeys(values))

    @property
    def title(self) -> str:
        """Transport, pattern and size, and what is varied: ``tcp pingpong 64K``."""
        values = [value for _, value in self.variant]
        return " ".join([self.transport, self.pattern, size_name(self.known_size), *values])

    @property
    def known_size(self) -> int | None:
        """The size; None where it is not known."""
        return self.size if self.size_known else None

    @property
    def payload(self) -> float:
        """The size as a factor of bandwidths; NaN where it is not known."""
        return self.size if self.size_known else math.nan

    @property
    def curve(self) -> Configuration:
        """The curve that this configuration is a point of: the same configuration with a size of
        0."""
        return msgspec.structs.replace(self, size=0)

    @property
    def without_cores(self) -> Configuration:
        """The same without requested cores."""
        if self.initiator.core is None and self.responder.core is None:
            return self
        initiator, responder = (msgspec.structs.replace(end, core=None) for end in self.ends)
        return msgspec.structs.replace(self, initiator=initiator, responder=responder)

    @property
    def setting(self) -> Configuration:
        """What is measured, without who measures it."""
        return msgspec.structs.replace(self.without_cores, pair=(0, 1), thread=0, concurrency=1)

    def filled(self, other: Configuration) -> Configuration:
        """The same, with what is unknown as `other` has it."""
        initiator, responder = (
            msgspec.structs.replace(end, **_known_of(end, like))
            for end, like in zip(self.ends, other.ends, strict=True)
        )
        return msgspec.structs.replace(
            self, initiator=initiator, responder=responder, **_known_of(self, other)
        )

    @property
    def kind(self) -> tuple[str, str, str, int]:
        """What sections of tables have in common."""
        return self.transport, self.pattern, self.mode, self.window

    @property
    def round_trip(self) -> Configuration:
        """The blocking ping-pong that is set up as this is otherwise."""
        return msgspec.structs.replace(self, pattern=ROUND_TRIP, mode="blocking", window=1)

    @property
    def shape(self) -> Shape:
        """What its pattern is."""
        return SHAPES[self.pattern]

    @property
    def is_one_sided(self) -> bool:
        """Whether the initiator reaches into memory that the responder exposes."""
        return self.mode == "onesided"

    @property
    def is_in_turn(self) -> bool:
        """Whether the reply is sent after the request arrives."""
        return is_in_turn(self.pattern, self.mode)

    @property
    def has_window(self) -> bool:
        """Whether several messages are in flight at once; a window that is not known is one."""
        return self.window > 1 or "window" in self.unknown

    @property
    def bytes_in_flight(self) -> int:
        """The payload of all messages that are in flight at once, bytes."""
        return self.size * self.window

    def messages_in(self, iterations: int) -> int:
        """How many messages an end that sends has sent in so many iterations."""
        return iterations * self.window

    @property
    def messages_per_iteration(self) -> int:
        """How many one-way messages follow each other in an iteration."""
        return trips(self.pattern, self.mode) * self.window

    @property
    def delay_per_iteration(self) -> int:
        """How long the initiator computes in an iteration, ns."""
        return self.delay * max(1, self.window - 1)

    @property
    def message_places(self) -> Places:
        """`places` in effect: a single message has its own, and so has each with `verify` or in a
        cold cache, unless a tool that was imported does not say so."""
        if self.has_window and self.places == UNKNOWN:
            return UNKNOWN
        each = not self.has_window or self.verify or self.cache == "cold"
        return "own" if each else self.places

    @property
    def is_simulated(self) -> bool:
        """Whether it is measured in virtual time, not on a machine."""
        return self.transport == SIMULATED

    @property
    def is_rate(self) -> bool:
        """Whether its result is a bandwidth rather than the time of one message."""
        return self.shape.is_stream or self.has_window

    @property
    def directions(self) -> int:
        """In how many directions payload is sent at once."""
        return 2 if is_both_ways(self.pattern, self.mode) else 1


def not_said(configuration: Configuration, names: Iterable[str]) -> Configuration:
    """The same of a text that does not say these settings, at both ends if each has its own."""
    values = dict.fromkeys(_WITH_UNKNOWN.intersection(names), UNKNOWN)
    of_ends = {name: values.pop(name) for name in EndSettings.__struct_fields__ if name in values}
    initiator, responder = (msgspec.structs.replace(end, **of_ends) for end in configuration.ends)
    others = {*configuration.unknown, *names} - _WITH_UNKNOWN
    return msgspec.structs.replace(
        configuration,
        initiator=initiator,
        responder=responder,
        unknown=tuple(sorted(others)),
        **values,
    )


def extra_names(configurations: Iterable[Configuration]) -> list[str]:
    """The settings in `extra` that any of these has, by name."""
    return sorted({name for each in configurations for name, _ in each.extra})


def _known_of(one: msgspec.Struct, other: msgspec.Struct) -> dict[str, Any]:
    """The fields that are unknown in `one`, with their values in `other`."""
    names = one.__struct_fields__
    return {name: getattr(other, name) for name in names if getattr(one, name) == UNKNOWN}
