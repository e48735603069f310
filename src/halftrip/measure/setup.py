"""The set-up before anything is measured: each rank on its core, and what it has to know of the
others."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from halftrip import _native
from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.control.network import host_identity
from halftrip.cpus import node_of, siblings_of
from halftrip.errors import HalftripError, Unavailable, UsageError
from halftrip.kernel_files import Reader
from halftrip.measure.placing import scheduled
from halftrip.memory.allocator import memory_named
from halftrip.memory.ring import Layout, layout
from halftrip.mpi import library
from halftrip.plan.configurations import PartPlans
from halftrip.plan.pairing import Schedules
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import Configuration
from halftrip.results.device import Device
from halftrip.results.memory_name import both_memories, is_of_host
from halftrip.results.patterns import uses_buffers
from halftrip.results.records import ClockInfo, Environment
from halftrip.results.threshold import Threshold
from halftrip.telemetry import environment, perf_counters, topology
from halftrip.telemetry.devices import describe, near_cores
from halftrip.telemetry.memory import available_memory
from halftrip.telemetry.process import Meter
from halftrip.telemetry.topology import machine_thresholds
from halftrip.transports.base import PairContext, ProcessContext, Transport

# The buffers of configurations that are not being measured may take this share of the memory that
# is left on a host, and no more than this at a rank, bytes.
_KEPT_SHARE = 0.25
_MOST_KEPT = 1 << 30
# With so many ranks, rank 0 is the initiator and rank 1 the responder.
_PAIR = 2


@dataclass(frozen=True)
class Setup:
    """The set-up of this rank, as `set_up` makes it.

    `hosts` and `places` are by rank; so are `environments`, which only rank 0 has, as it has the
    `thresholds` of all ranks' cores and the `devices` of their memory. `cache_bytes` is the largest
    last-level cache of all ranks and devices, and `kept_bytes` what the buffers of configurations
    that are not being measured may take at each rank. `beside` has, by rank, a core for each of its
    threads beside what is timed (None: there is none left). Ranks that are `absent` are as in
    ProcessContext; their environments are those of the processes in their places. This rank may use
    the `allowed_cores`. `poll_pause` is how many pauses lie between two polls, the same for all
    ranks of a host.
    """

    plan: Plan
    group: Group
    clock: Clock
    meter: Meter
    hosts: list[str]
    places: list[list[topology.Place]]
    environments: list[Environment]
    cache_bytes: int
    kept_bytes: int
    schedule: Schedules
    transports: dict[str, Transport]
    absent: Mapping[int, str] = field(default_factory=dict)
    thresholds: list[Threshold] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    allowed_cores: tuple[int, ...] = ()
    poll_pause: int = 1
    beside: list[list[int | None]] = field(default_factory=list)

    @property
    def clock_hosts(self) -> list[str]:
        """By rank, ranks that read the same clock: `hosts`, but that processes in the places of
        absent ranks count with rank 0. They time nothing."""
        return [
            self.hosts[0] if rank in self.absent else host for rank, host in enumerate(self.hosts)
        ]

    @property
    def is_absent(self) -> bool:
        """Whether this process only takes the place of a rank whose host was lost."""
        return self.group.rank in self.absent

    @cached_property
    def plans(self) -> PartPlans:
        """The configurations, and the plan of each."""
        return PartPlans(
            self.plan,
            {name: found.capabilities.choices for name, found in self.transports.items()},
        )

    def transport(self, configuration: Configuration) -> Transport:
        return self.transports[configuration.transport]

    def context(self, ranks: tuple[int, int], thread: int) -> PairContext:
        """The pair of these ranks, the initiator first, as this rank sees it."""
        initiator, responder = ranks
        own = self.group.rank
        core, shares = self._place_of(ranks, thread)
        return PairContext(
            peer=responder if own == initiator else initiator,
            initiates=own == initiator,
            same_host=self.hosts[initiator] == self.hosts[responder],
            shares_core=shares,
            listens=self._listens(own, ranks),
            thread=thread,
            core=core,
            allowed_cores=self.allowed_cores,
        )

    def _place_of(self, ranks: tuple[int, int], thread: int) -> tuple[int | None, bool]:
        """The core that this rank's thread has to run on, and whether either end shares its own."""
        own, flow = self.group.rank, thread - self.plan.threads
        if flow >= 0:
            return self.beside[own][flow], any(self.beside[rank][flow] is None for rank in ranks)
        core = self.places[own][thread].core if self.plan.threads > 1 else None
        return core, any(self.places[rank][thread].shared for rank in ranks)

    def _listens(self, own: int, ranks: tuple[int, int]) -> bool | None:
        """Whether this rank of a pair waits for the other's connection; None: whoever initiates."""
        if self.hosts[ranks[0]] == self.hosts[ranks[1]] or not self.group.calls_upwards:
            return None
        return own == max(ranks)

    def layout(self, configuration: Configuration) -> Layout:
        """The layout of the buffers of a configuration, the same at every rank."""
        most_verified = self.transport(configuration).most_verified
        return layout(configuration, self.cache_bytes, most_verified)

    def buffer_bytes(self, configuration: Configuration, initiates: bool) -> int:
        """How much memory the buffers of a configuration take at one end, those that it exposes
        included."""
        sends, receives = uses_buffers(configuration.pattern, initiates)
        rings = [sends, receives] if configuration.buffers == "separate" else [sends or receives]
        if configuration.is_one_sided:
            rings.append(True)
        whole = self.layout(configuration)
        # What is not used is a single buffer.
        single = whole._replace(slots=1)
        return sum((whole if used else single).bytes + configuration.align for used in rings)

    def clock_figures(self, configuration: Configuration) -> tuple[float, float]:
        """The cost of the clock readings in a sample of a configuration that this rank initiates,
        and the clock's resolution, ns."""
        own = (self.clock.cost, self.clock.resolution)
        cost, resolution = self.transport(configuration).clock_figures or own
        reads = _native.clock_reads
        if configuration.shape.each_way:
            reads = _native.clock_reads_with_receive_times
        return reads * cost, resolution

    def arrivals_cost(self, configuration: Configuration) -> float | None:
        """The cost of the clock readings in a sample in which the responder reads its clock, too,
        ns; None where messages do not take turns, or where they may be lost; and with a delay, of
        which samples do not count by how much it is too long, so that they tell no moments."""
        lossy = self.transport(configuration).capabilities.lossy
        in_turn = configuration.is_in_turn
        if lossy or configuration.delay or not in_turn:
            return None
        cost, _ = self.transport(configuration).clock_figures or (self.clock.cost, 0.0)
        return _native.clock_reads_with_arrivals * cost

    def most_iterations(self, configuration: Configuration) -> int | None:
        """How many iterations a batch may have so that each message has a buffer of its own; None
        where messages may share buffers."""
        return (
            self.layout(configuration).slots // configuration.window
            if configuration.verify
            else None
        )


def set_up(plan: Plan, group: Group, process: ProcessContext) -> Setup:
    """Sets this rank up; all ranks of the group call it. Raises UsageError or Unavailable if the
    requested cores cannot be used, UsageError if no ranks can talk, and HalftripError if a variable
    has not reached it."""
    for name, value in plan.variables.items():
        # An mpiexec may add to it, as to a path.
        if value is not None and name not in os.environ:
            raise HalftripError(f"rank {group.rank}: the variable {name} has not reached it")
    clock = Clock()
    reader = Reader()
    meter = Meter(reader, whole=plan.all_threads == 1)
    lost = process.absent.get(group.rank)
    near = tuple(_near(plan, role, reader) for role in (0, 1))
    own_view = topology.view(host_identity(), reader, near)
    if lost is not None:
        # On no host of the others, nor its machine.
        own_view = msgspec.structs.replace(own_view, host=f"lost: {lost}", machine="")
    views: list[topology.CoreView] = group.allgather(own_view, topology.CoreView)
    hosts = [view.host for view in views]
    if group.calls_upwards:
        # Ranks of a client and of a server open nothing of each other, whatever they say of their
        # hosts: the way through /proc leads to all processes of a user.
        there = group.size // 2
        hosts = [f"{host} (serving)" if rank >= there else host for rank, host in enumerate(hosts)]
    schedule, chosen = scheduled(plan, views, hosts, process.absent)
    if plan.pairs == "across" and len(set(hosts)) == 1:
        raise UsageError("--pairs across: all ranks are on one host; --hosts a,b names several")
    own = chosen[group.rank]
    if own[0].core is not None and lost is None:
        os.sched_setaffinity(0, {own[0].core})
    poll_pause = _agree_on_poll_pause(group, hosts)
    described = _environment(
        group.rank, own, own_view, clock, process, poll_pause, reader, plan.variables
    )
    here = hosts[group.rank]
    kept = int(_KEPT_SHARE * available_memory(reader) / hosts.count(here))
    cache = topology.last_level_cache(own[0].core or 0, reader)
    for device_cache, available in _device_limits(
        plan, (group.rank,) if group.size == _PAIR else (0, 1)
    ):
        cache = max(cache, device_cache)
        kept = min(kept, int(_KEPT_SHARE * available / hosts.count(here)))
    limits: list[tuple[int, int]] = group.allgather((cache, kept), tuple[int, int])
    own_thresholds = [
        msgspec.structs.replace(threshold, rank=group.rank)
        for threshold in machine_thresholds(own[0].core, reader)
    ]
    thresholds = group.gather(own_thresholds, list[Threshold]) or []
    devices = group.gather(_devices(plan, group.rank, reader), list[Device]) or []
    return Setup(
        plan=plan,
        group=group,
        clock=clock,
        meter=meter,
        hosts=hosts,
        places=chosen,
        environments=group.gather(described, Environment) or [],
        thresholds=[each for of_rank in thresholds for each in of_rank],
        devices=[each for of_rank in devices for each in of_rank],
        cache_bytes=max(cache for cache, _ in limits),
        kept_bytes=min(_MOST_KEPT, *(kept for _, kept in limits)),
        schedule=schedule,
        transports={name: TRANSPORTS.load(name)(process) for name in plan.used_transports},
        absent=process.absent,
        allowed_cores=tuple(core.number for core in own_view.allowed),
        poll_pause=poll_pause,
        beside=topology.cores_beside(views, chosen, plan.all_threads - plan.threads),
    )


def _memory_names(plan: Plan, ends: Sequence[int] = (0, 1)) -> list[str]:
    """The names of all memory of a plan, in order; or of that of some ends, as in `_near`."""
    parts = plan.part_plans
    pairs = [both_memories(text) for part in parts for text in part.memory]
    return list(dict.fromkeys(pair[end] for pair in pairs if pair is not None for end in ends))


def _devices(plan: Plan, rank: int, reader: Reader) -> list[Device]:
    """The devices of a plan's memory that this rank finds, each once, by the name of memory on it
    where the plan has any."""
    found: dict[str, Device] = {}
    for name in sorted(_memory_names(plan), key=is_of_host):
        device = describe(name, rank, reader)
        if device is not None:
            found.setdefault(device.uuid, device)
    return list(found.values())


def _device_limits(plan: Plan, ends: Sequence[int] = (0, 1)) -> list[tuple[int, int]]:
    """The cache and the memory that is left of devices whose memory the plan names for these ends,
    bytes. Those that are not here, or cannot be used, are left out: their configurations are
    skipped, with the reason. A process takes a part of each device that it asks."""
    found = []
    for name in _memory_names(plan, ends):
        if not is_of_host(name):
            with contextlib.suppress(Unavailable):
                memory = memory_named(name)
                found.append((memory.cache_bytes, memory.available()))
    return found


def _near(plan: Plan, role: int, reader: Reader) -> tuple[int, ...]:
    """The cores near the first device that the plan has memory of for one end: 0 is the initiator,
    1 the responder."""
    for part in plan.part_plans:
        for text in part.memory:
            ends = both_memories(text)
            cores = near_cores(ends[role], reader) if ends is not None else ()
            if cores:
                return tuple(cores)
    return ()


def _agree_on_poll_pause(group: Group, hosts: Sequence[str]) -> int:
    """Sets how many pauses a polling loop makes between two polls, the same for all ranks of a
    host, and returns it; `hosts` are by rank. To be called after this rank has been pinned.

    It is the largest number that a rank of the host finds: on a busy machine a pause seems longer,
    and the number too low.
    """
    calibrated: list[int] = group.allgather(_native.calibrate_poll_pause(), int)
    here = hosts[group.rank]
    pause = max(count for count, host in zip(calibrated, hosts, strict=True) if host == here)
    _native.set_poll_pause(pause)
    return pause


def _environment(
    rank: int,
    places: Sequence[topology.Place],
    view: topology.CoreView,
    clock: Clock,
    process: ProcessContext,
    poll_pause: int,
    reader: Reader,
    named: Collection[str],
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
        mitigations=environment.mitigations(reader),
        idle=environment.idle(reader),
        timer_slack=environment.timer_slack(reader),
        slow_start_after_idle=environment.slow_start_after_idle(reader),
        counters=perf_counters.missing() is None,
        machine=environment.machine(reader),
        siblings=None if core is None else siblings_of(core, reader),
        node=None if core is None else node_of(core, reader),
        mpi=library.library_version() if has_mpi else None,
        mpi_library=library.library_path() if has_mpi else None,
        variables=environment.variables(os.environ, named),
    )


@contextlib.contextmanager
def own_affinity() -> Iterator[None]:
    """Gives the caller its cores back at the end."""
    cores = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def collections_between_turns() -> Iterator[None]:
    """Collects garbage only where the runner calls for it: within a slice it would be an outlier.
    Objects that exist already are left out, as they would take 8 ms."""
    was_enabled = gc.isenabled()
    was_frozen = gc.get_freeze_count()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()
