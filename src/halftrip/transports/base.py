"""The contract of a transport: it opens paths between ranks, and makes endpoints for
configurations.

There is one object per process and transport. A path is opened in steps. After each step both ranks
know whether the other succeeded, so that neither waits for a rank that has failed:

1. both make a `Path`, which says how the peer reaches it (`address`);
2. they exchange addresses;
3. the end that is no listener connects, then the other does.

An `Endpoint` is made for each configuration: both ends make one, exchange addresses, and connect at
the same time. It takes part in the batches of the configuration, slice by slice; in between,
endpoints of other configurations use the same path, so it takes back what it shares with them in
`resume`.
"""

from __future__ import annotations

import contextlib
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from halftrip.clock import Clock
from halftrip.control.network import ANY, Network
from halftrip.memory.allocator import Bytes, Region
from halftrip.memory.ring import Ring
from halftrip.plan.plan import Plan
from halftrip.results.block import NO_TIMES, Times
from halftrip.results.configuration import (
    UNTUNED,
    Configuration,
    EndSettings,
    Extra,
    Tuning,
    Wait,
)
from halftrip.results.counts import Delivery
from halftrip.results.network_path import NetworkPath
from halftrip.results.threshold import Threshold
from halftrip.simulation.path_model import PathModel
from halftrip.transports.capabilities import Capabilities

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True, kw_only=True)
class ProcessContext:
    """The process that a transport is used in.

    `token` proves to a peer that this process belongs to the job. `communicator` has all ranks; the
    group may use it, too, with other tags. Where it is None, `no_mpi` says why; `no_dragon` says
    why no Dragon runtime was started, where one was to be. `threads` is how many threads of each
    rank talk. `timeout` is how long a reply to a datagram may take, s. `network` says how
    other hosts reach this one. `ucx_library` is the UCX that was asked for, if one was.
    `path_model` is the path that the transport ``simulated`` simulates, in the launch of number
    `launch`. `chooses_staging`: the plan says how messages in a device's memory are sent. Ranks
    that are `absent` do not talk; each has the name of its host, which was lost.
    """

    rank: int
    token: str = field(repr=False)
    communicator: MPI.Intracomm | None = None
    no_mpi: str = ""
    no_dragon: str = ""
    threads: int = 1
    timeout: float = 1.0
    network: Network = ANY
    ucx_library: str = ""
    chooses_staging: bool = False
    path_model: PathModel | None = None
    launch: int = 0
    absent: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_plan(
        cls,
        plan: Plan,
        rank: int,
        token: str,
        communicator: MPI.Intracomm | None = None,
        no_mpi: str = "",
        launch: int = 0,
        no_dragon: str = "",
        network: Network | None = None,
        absent: Mapping[int, str] = MappingProxyType({}),
    ) -> ProcessContext:
        """The context of a rank that measures `plan`; its `network` is the plan's, unless the
        launcher knows better."""
        return cls(
            rank=rank,
            token=token,
            communicator=communicator,
            no_mpi=no_mpi,
            no_dragon=no_dragon,
            threads=plan.all_threads,
            timeout=plan.timeout,
            network=Network(plan.interface, plan.data_ports) if network is None else network,
            ucx_library=plan.ucx_library or "",
            chooses_staging=any(part.staging for part in plan.part_plans),
            path_model=plan.simulated,
            launch=launch,
            absent=absent,
        )


@dataclass(frozen=True, kw_only=True)
class PairContext:
    """A pair of ranks, as one of them sees it: `peer` is the other one's number.

    `initiates`: this rank is the initiator. `shares_core`: one of the two shares its core with
    another rank, so whoever polls has to yield it. `segment` is memory that both map, zeros at
    first, if a transport says that it `shares_memory`: as many segments of the transport shm as
    there is memory for; where it is None, `no_segment` says why.
    `thread` is the number of the thread that talks, and `core` the core that it has to run on;
    None: wherever the rank runs; `allowed_cores` are those that the rank may use. `listens` is
    whether this end waits for the other one to connect, where only one of the two can be reached;
    None: the initiator waits.
    """

    peer: int
    initiates: bool
    same_host: bool
    shares_core: bool
    segment: Bytes | None = None
    no_segment: str = ""
    thread: int = 0
    core: int | None = None
    allowed_cores: tuple[int, ...] = ()
    listens: bool | None = None

    @contextlib.contextmanager
    def on_allowed_cores(self) -> Iterator[None]:
        """Meanwhile this thread may run on all cores that the rank may use: threads that a library
        starts must not share the core that this one polls on."""
        pinned = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.allowed_cores or pinned)
        try:
            yield
        finally:
            os.sched_setaffinity(0, pinned)

    @property
    def is_listener(self) -> bool:
        """Whether this end waits for the other's connection, which connects."""
        return self.initiates if self.listens is None else self.listens

    @property
    def different_hosts(self) -> str | None:
        """Why there is no path that needs a common host; None if both ranks are on one."""
        return None if self.same_host else "the ranks are on different hosts"

    def end_of(self, configuration: Configuration) -> EndSettings:
        """The settings of this end."""
        return configuration.initiator if self.initiates else configuration.responder


@dataclass(frozen=True, kw_only=True)
class EndpointBuffers:
    """The buffers that an endpoint sends from and receives into, and the clock that times it. An
    endpoint that exposes memory exposes at least `exposed_bytes`."""

    out: Ring
    in_: Ring
    clock: Clock
    exposed_bytes: int = 0


class Timed(NamedTuple):
    """The samples of one batch, as this end timed them.

    `times`, shape (n,), ns, are the times of the samples, and `start` is when the first began, ns
    of CLOCK_MONOTONIC_RAW; empty and 0 at an end that takes no times, and 0 at the responder of a
    stream of datagrams. `end` is when the last sample ended, on the same clock; 0: not known.
    `receive_times`, shape (n,) or (0,), ns, are the times until the last receive of each sample
    completed, where a sample may end later. `arrivals`, shape (n,) or (0,), ns, are the times from
    one message's arrival to the next one's at a responder that takes no times; the first from
    `start`, when the last message before the samples arrived.

    Where messages can be lost, there may be fewer samples than requested, `timed_out` is the time
    spent waiting for replies that did not come, ns, and `delivery` counts the messages.
    `source_slots`, shape (slots,), then has for each receive buffer the number of the sender's
    buffer whose message it holds, counted from 1; 0: not known. None: the buffer of the same
    number.
    """

    times: Times = NO_TIMES
    start: int = 0
    end: int = 0
    receive_times: Times = NO_TIMES
    arrivals: Times = NO_TIMES
    timed_out: int = 0
    delivery: Delivery | None = None
    source_slots: Times | None = None


class Problem(msgspec.Struct, frozen=True):
    """Why a batch failed. `silent`: no answer came any more, for so long that no larger message
    would get one either. `segment` is the payload of a full segment of TCP where such have been
    sent and not acknowledged, bytes; 0: that is not known."""

    reason: str
    silent: bool = False
    segment: int = 0


class Endpoint(ABC):
    """One end of a path, for one configuration. `exposed` is memory of this rank that the peer
    reads and writes, and `address` what the peer's `connect` needs: builtins that msgpack can
    write. The path itself writes the first `header_size` bytes of each message. One that is not
    `lasting` holds something scarce: it is closed after each slice, at both ends.

    Where `takes_arrivals` is set before `run`, the responder of a ping-pong, if it can, reads its
    clock when each message has arrived.

    `run` may call its iterations through `spending`, which sees what they spend. Where it does not,
    what it does before and after them counts, too.
    """

    address: Any = None
    exposed: Region | None = None
    header_size: int = 0
    lasting: bool = True
    takes_arrivals: bool = False
    spending: Callable[[Callable[[], Any]], Any] = operator.call

    def connect(self, address: Any) -> None:  # noqa: B027 (most need no address)
        """Takes the peer's address. Raises OSError or Unavailable."""

    def resume(self) -> None:  # noqa: B027 (most share nothing with others)
        """Called before this endpoint is used after others over the same path."""

    @abstractmethod
    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        """Takes part in a batch: `untimed` iterations first, then `samples` samples of `iterations`
        each. Raises OSError, MpiError, NoAnswer, PeerClosed or Stopped."""

    def synchronize(self) -> None:  # noqa: B027 (most expose no memory)
        """Called between this rank's accesses to `exposed` and the peer's."""

    def close(self) -> None:  # noqa: B027 (most belong to their path)
        """Releases what belongs to this configuration alone."""

    def free(self) -> None:  # noqa: B027 (most expose none that they have allocated)
        """Frees what it exposes. Where the peer opens it, both ends have closed."""


class VirtualTime(Protocol):
    """The time of a simulated path, which only its own iterations and rests advance."""

    def core_to_core_rtt(self) -> float:
        """The core-to-core round trip at this moment, ns."""

    def rest(self, seconds: float) -> None:
        """Lets time pass without an iteration."""


class PathSettings(NamedTuple):
    """What one end of a path is opened for: configurations with other settings have another path.
    `wait` is how this end waits, `tuning` how the sockets of both are set up, and `extra` are the
    settings that are no fields."""

    wait: Wait
    tuning: Tuning = UNTUNED
    extra: Extra = ()


class Carried(NamedTuple):
    """What a `library`, with its version and its file, has chosen to carry messages by: its `ways`,
    as ``tcp/eth0``."""

    library: str
    ways: Sequence[str]


class Path(ABC):
    """One end of a path to a peer, for all configurations with the same path settings at both ends.
    `address` is what the peer's `connect` needs: builtins that msgpack can write. Only a simulated
    path has a `virtual_time`. It may have several `segments` of memory, of which a slice has one.
    `shortfalls` say what the kernel gave less of than was asked for, and `peer` where the other end
    is on another host, as messages name it."""

    address: Any = None
    peer: str = ""
    shortfalls: Sequence[str] = ()
    virtual_time: VirtualTime | None = None
    segments: int = 1

    def use(self, segment: int) -> None:  # noqa: B027 (most have one)
        """Goes on in the segment of this number, before a slice. Both ends do."""

    def connect(self, address: Any) -> None:  # noqa: B027 (some are open from the start)
        """Takes the peer's address and opens the path. Raises OSError, Closed or Unavailable."""

    @abstractmethod
    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        """This end for a configuration. Raises OSError or Unavailable."""

    def network_path(self) -> NetworkPath | None:
        """What this host knows of the way to the peer; None: there is no network between them, or
        it is not known."""
        return None

    def carried(self) -> Carried | None:
        """What carries the messages where a library chooses that; None elsewhere. Called between
        batches, once the path has been used."""
        return None

    def thresholds(self) -> Sequence[Threshold]:
        """The sizes from which on messages take another way to the peer, as far as that is known.
        Called between batches, once the path has been used."""
        return ()

    def give_up(self, error: Exception) -> Problem | None:
        """Called where a batch has failed with this error of the system, or PeerClosed. Ends the
        connection, so that the peer does not wait, and says why; None: there is no way to tell the
        peer. A path that was given up is of no further use."""
        return None

    def close(self) -> None:  # noqa: B027 (some hold nothing)
        """Releases everything, also where `connect` failed or was never called."""


class Transport(ABC):
    """One way for bytes to move, in this process. `most_verified` is how many buffers a
    configuration has whose messages are checked, unless its windows need more; None: what fits
    the memory."""

    capabilities: Capabilities
    most_verified: int | None = None

    def __init__(self, process: ProcessContext) -> None:
        self.process = process

    @abstractmethod
    def missing(self, pair: PairContext) -> str | None:
        """Why this transport cannot be used between these ranks, or None."""

    def refuses(self, configuration: Configuration) -> str | None:
        """Why this transport cannot do a configuration, or None."""
        return self.capabilities.refusal(configuration)

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        """Why this process, with its libraries and devices, cannot do a configuration between these
        ranks, or None."""
        return None

    @property
    def clock_figures(self) -> tuple[float, float] | None:
        """The cost of reading the clock that times configurations, and its resolution, ns; None:
        those of the initiator's clock."""
        return None

    @abstractmethod
    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        """This end of a path, not yet connected. Raises OSError or Unavailable."""
