"""The set-up before anything is measured: each rank on its core, each pair with its shared memory,
and the available transports."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass

from halftrip import _native
from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.control.hosts import host_identity
from halftrip.kernel_files import Reader
from halftrip.measure.connection import Connection
from halftrip.measure.side import Side
from halftrip.memory.layout import Layout, layout
from halftrip.mpi import library
from halftrip.plan.pairing import rounds
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.results.case import Case, Wait
from halftrip.results.patterns import SHAPES
from halftrip.results.records import ClockInfo, Environment
from halftrip.telemetry import environment, topology
from halftrip.telemetry.process import Meter
from halftrip.transports.base import PairContext, Path, ProcessContext, Transport

# Two ranks, the initiator first, and the number of their thread.
ThreadPair = tuple[tuple[int, int], int]


@dataclass(frozen=True)
class Setup:
    """The set-up of this rank, as `set_up` makes it.

    `hosts` and `environments` are by rank. `cache_bytes` is the largest last-level cache of all
    ranks. `missing` has for each transport the pairs that cannot use it, and why. `waits` has the
    transports that some pair can use, and the ways in which each can wait.
    """

    plan: Plan
    group: Group
    clock: Clock
    meter: Meter
    hosts: list[str]
    environments: list[Environment]
    cache_bytes: int
    transports: dict[str, Transport]
    connections: dict[ThreadPair, Connection]
    missing: dict[str, dict[ThreadPair, str]]

    @property
    def waits(self) -> dict[str, tuple[Wait, ...]]:
        return {
            name: transport.capabilities.waits
            for name, transport in self.transports.items()
            if len(self.missing[name]) < len(self.connections)
        }

    def connection(self, case: Case) -> Connection:
        """The connection between the ranks of a case, of its thread."""
        return self.connections[case.pair, case.thread]

    def transport(self, case: Case) -> Transport:
        return self.transports[case.transport]

    def layout(self, case: Case) -> Layout:
        """The layout of the buffers of a case, the same at every rank."""
        return layout(case, self.cache_bytes)

    def side(self, case: Case, path: Path) -> Side:
        """This rank's side of a case, over an open path."""
        lossy = self.transport(case).capabilities.lossy
        connection = self.connection(case)
        return Side(connection, case, path, self.layout(case), self.clock, self.meter, lossy)

    def clock_figures(self, case: Case) -> tuple[float, float]:
        """The cost of the clock readings in a sample of a case, and the clock's resolution, ns."""
        clock = self.environments[case.pair[0]].clock
        cost, resolution = self.transport(case).clock_figures or (clock.cost, clock.resolution)
        reads = _native.clock_reads
        if SHAPES[case.pattern].each_way:
            reads = _native.clock_reads_with_receive_times
        return reads * cost, resolution

    def most_exchanges(self, case: Case) -> int | None:
        """How many exchanges a batch may have so that each message has a buffer of its own; None
        where messages may share buffers."""
        return self.layout(case).slots // case.window if case.verify else None

    def probe(self, case: Case) -> float | None:
        """The core-to-core round trip between the ranks of a case at this moment, ns, on rank 0;
        None where it cannot be probed. All ranks call it."""
        connection = self.connection(case)
        rtt = None
        if case.is_simulated:
            path = connection.opened(case)
            if path is not None and path.virtual_time is not None and connection.initiates:
                rtt = path.virtual_time.cache_line_rtt()
        elif connection.has_probe:
            rtt = connection.probe()
        else:
            return None
        gathered = self.group.gather(rtt, float | None)
        return None if gathered is None else gathered[case.pair[0]]

    def survey(self, case: Case, probes: int, seconds: float) -> list[float]:
        """Probes the ranks of a case `probes` times, spread over `seconds`: the round trips, ns;
        empty on ranks other than 0. All ranks call it."""
        found = []
        path = self.connection(case).opened(case)
        for _ in range(probes):
            rtt = self.probe(case)
            if rtt is not None:
                found.append(rtt)
            if not case.is_simulated:
                time.sleep(seconds / probes)
            elif path is not None and path.virtual_time is not None:
                path.virtual_time.rest(seconds / probes)
        return found

    def close(self) -> None:
        """Closes all paths."""
        for connection in self.connections.values():
            connection.close()


def set_up(plan: Plan, group: Group, process: ProcessContext) -> Setup:
    """Sets this rank up; all ranks of the group call it. Raises UsageError or Unavailable if the
    requested cores cannot be used."""
    clock = Clock()
    reader = Reader()
    meter = Meter(reader, whole=plan.threads == 1)
    own_view = topology.view(host_identity(), reader)
    views: list[topology.View] = group.allgather(own_view, topology.View)
    pairs = rounds(group.size, plan.pairs, plan.pairs_at_once)
    places = _places(plan, views, pairs[0])
    own = places[group.rank]
    if own[0].core is not None:
        os.sched_setaffinity(0, {own[0].core})
    poll_pause = _agree_on_poll_pause(group, views)
    described = _environment(group.rank, own, own_view, clock, process, poll_pause, reader)
    environments: list[Environment] = group.allgather(described, Environment)
    cache_bytes = topology.last_level_cache(own[0].core or 0, reader)
    caches: list[int] = group.allgather(cache_bytes, int)
    hosts = [view.host for view in views]
    connections = {
        (ranks, thread): _connection(plan, group, ranks, thread, places, hosts, clock)
        for ranks in dict.fromkeys(pair for round_ in pairs for pair in round_)
        for thread in range(plan.threads)
    }
    transports = {name: TRANSPORTS.load(name)(process) for name in plan.transport}
    return Setup(
        plan=plan,
        group=group,
        clock=clock,
        meter=meter,
        hosts=hosts,
        environments=environments,
        cache_bytes=max(caches),
        transports=transports,
        connections=connections,
        missing={name: _missing(found, connections) for name, found in transports.items()},
    )


def _agree_on_poll_pause(group: Group, views: Sequence[topology.View]) -> int:
    """Sets how many pauses a polling loop makes between two polls, the same for all ranks of a
    host, and returns it. To be called after this rank has been pinned.

    It is the largest number that a rank of the host finds: on a busy machine a pause seems longer,
    and the number too low.
    """
    calibrated: list[int] = group.allgather(_native.calibrate_poll_pause(), int)
    here = views[group.rank].host
    pause = max(count for count, view in zip(calibrated, views, strict=True) if view.host == here)
    _native.set_poll_pause(pause)
    return pause


def _places(
    plan: Plan, views: Sequence[topology.View], first: Sequence[tuple[int, int]]
) -> list[list[topology.Place]]:
    """The places of every rank's threads, by rank. Threads that talk in the `first` round are
    placed side by side."""
    threads = plan.threads
    order = [
        rank * threads + thread for pair in first for thread in range(threads) for rank in pair
    ]
    rest = [slot for slot in range(len(views) * threads) if slot not in order]
    each = [view for view in views for _ in range(threads)]
    places = topology.place(each, plan.cores, [*order, *rest], threads)
    return [places[rank * threads : (rank + 1) * threads] for rank in range(len(views))]


def _environment(
    rank: int,
    places: Sequence[topology.Place],
    view: topology.View,
    clock: Clock,
    process: ProcessContext,
    poll_pause: int,
    reader: Reader,
) -> Environment:
    core = places[0].core
    has_mpi = process.communicator is not None
    return Environment(
        rank=rank,
        host=environment.host(),
        pid=os.getpid(),
        core=core,
        thread_cores=[place.core for place in places] if len(places) > 1 else None,
        allowed_cores=[allowed.number for allowed in view.allowed],
        oversubscribed=any(place.shared for place in places),
        processor=environment.processor(reader),
        kernel=environment.kernel(),
        python=platform.python_version(),
        clock=ClockInfo(
            source=clock.source, hertz=clock.hertz, cost=clock.cost, resolution=clock.resolution
        ),
        poll_pause=poll_pause,
        thp=environment.thp(reader),
        governor=environment.governor(core, reader),
        hypervisor=environment.hypervisor(reader),
        mpi=library.library_version() if has_mpi else None,
        mpi_library=library.library_path() if has_mpi else None,
        variables=environment.variables(os.environ),
    )


def _connection(
    plan: Plan,
    group: Group,
    ranks: tuple[int, int],
    thread: int,
    places: Sequence[Sequence[topology.Place]],
    hosts: Sequence[str],
    clock: Clock,
) -> Connection:
    initiator, responder = ranks
    pair = PairContext(
        peer=responder if group.rank == initiator else initiator,
        initiates=group.rank == initiator,
        same_host=hosts[initiator] == hosts[responder],
        shares_core=any(places[rank][thread].shared for rank in ranks),
        thread=thread,
        core=places[group.rank][thread].core if plan.threads > 1 else None,
    )
    return Connection(group, ranks, pair, clock)


def _missing(
    transport: Transport, connections: dict[ThreadPair, Connection]
) -> dict[ThreadPair, str]:
    reasons = {pair: connection.missing(transport) for pair, connection in connections.items()}
    return {pair: reason for pair, reason in reasons.items() if reason is not None}
