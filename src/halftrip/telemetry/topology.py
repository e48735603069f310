"""Which core each rank runs on: one per physical core, sharing a last-level cache where
possible."""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from halftrip.cpus import CPUS, parse_list
from halftrip.errors import Unavailable, UsageError
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.threshold import Threshold
from halftrip.telemetry import environment
from halftrip.units import parse_size

_DEFAULT_CACHE_BYTES = 32 << 20


# The kernel gives this one what any could do: most interrupts, and its own housekeeping.
_BUSIEST = 0


class Core(msgspec.Struct, frozen=True):
    """One logical processor: which physical core it is part of, and which cache it shares."""

    number: int
    physical: str
    cache: str


class CoreView(msgspec.Struct, frozen=True):
    """The cores of a host, as one of its ranks sees it: those that it may use, and all present;
    and, as an initiator and as a responder, those near the devices that its memory is in. Hosts
    that are containers of one `machine` have the same cores; empty: it is not known."""

    host: str
    allowed: tuple[Core, ...]
    present: tuple[int, ...]
    near: tuple[tuple[int, ...], ...] = ()
    machine: str = ""

    @property
    def where(self) -> str:
        """The same for all ranks whose cores are the same."""
        return self.machine or self.host

    def near_of(self, role: int) -> tuple[Core, ...]:
        """The cores that it may use near its devices in a role; all, where there are none."""
        numbers = self.near[role] if role < len(self.near) else ()
        return tuple(core for core in self.allowed if core.number in numbers) or self.allowed

    def caches(self, places: Sequence[Place]) -> set[tuple[str, str]]:
        """The last-level caches of these places, which belong to the machine; of threads without a
        core of their own, any."""
        chosen = {place.core for place in places}
        return {(self.where, core.cache) for core in self.allowed if {core.number, None} & chosen}


class Place(msgspec.Struct, frozen=True):
    """Where a thread of a rank runs. `core` None: the scheduler decides. `shared`: another thread
    of this run has the same core, or may get it."""

    core: int | None
    shared: bool


def view(
    host: str, reader: Reader = HOST_FILES, near: tuple[tuple[int, ...], ...] = ()
) -> CoreView:
    """The view of this process. Where the kernel does not tell, each core is a physical core, and
    all share a cache."""
    allowed = sorted(os.sched_getaffinity(0))
    present = tuple(parse_list(reader.line(f"{CPUS}/present") or "")) or tuple(allowed)
    cores = tuple(core_of(number, reader) for number in allowed)
    return CoreView(host, cores, present, near, environment.machine(reader) or "")


def core_of(number: int, reader: Reader = HOST_FILES) -> Core:
    """What the kernel tells of a core."""
    directory = f"{CPUS}/cpu{number}"
    package = reader.line(f"{directory}/topology/physical_package_id")
    core = reader.line(f"{directory}/topology/core_id")
    physical = f"{package}:{core}" if core is not None else str(number)
    caches = cache_directories(reader, number)
    shared = reader.line(f"{caches[-1]}/shared_cpu_list") if caches else None
    return Core(number, physical, shared or package or "")


def cache_directories(reader: Reader, core: int) -> list[str]:
    """The directories of a core's caches, by level."""
    directory = f"{CPUS}/cpu{core}/cache"
    caches = [f"{directory}/{name}" for name in reader.names(directory) if "index" in name]
    return sorted(caches, key=lambda cache: reader.line(f"{cache}/level") or "")


def last_level_cache(core: int, reader: Reader = HOST_FILES) -> int:
    """The size of a core's last-level cache, bytes; 32 MiB where the kernel does not tell."""
    sizes = []
    for cache in cache_directories(reader, core):
        level, size = reader.line(f"{cache}/level"), reader.line(f"{cache}/size")
        try:
            sizes.append((int(level or ""), parse_size(size or "")))
        except (ValueError, UsageError):
            continue
    return max(sizes)[1] if sizes else _DEFAULT_CACHE_BYTES


def place(
    views: Sequence[CoreView],
    requested: Sequence[int] | Literal["none"] | None = None,
    order: Sequence[int] | None = None,
    threads: int = 1,
    roles: Sequence[int] = (),
) -> list[Place]:
    """A core for every thread of every rank. `views` and `requested`, the cores of --cores, are by
    slot: rank * `threads` + thread.

    Where there are fewer cores than slots, neighbours in `order` get different ones. With "none"
    threads get no core of their own. `roles` are those of `CoreView.near_of`, by slot: as many
    cores as are needed are taken near the devices of all, if there are so many.

    Raises UsageError for a core that does not exist, Unavailable for one that a rank may not use.
    """
    if requested == "none":
        return [Place(None, _is_crowded(seen, views)) for seen in views]
    chosen = list(requested) if requested is not None else [0] * len(views)
    if requested is not None:
        for slot, (core, seen) in enumerate(zip(requested, views, strict=True)):
            _check(slot // threads, core, seen)
    else:
        for machine in dict.fromkeys(seen.where for seen in views):
            here = [slot for slot in order or range(len(views)) if views[slot].where == machine]
            cores = _choose_near(
                [views[slot] for slot in here], [_role(roles, slot) for slot in here]
            )
            for slot, core in zip(here, cores, strict=True):
                chosen[slot] = core
    taken = [(seen.where, core) for seen, core in zip(views, chosen, strict=True)]
    return [Place(core, taken.count((where, core)) > 1) for where, core in taken]


def beside(allowed: Sequence[Core], timed: Sequence[Core]) -> set[int]:
    """The cores, of those `allowed`, where what is not timed disturbs the `timed` cores least:
    other physical cores, or else their other processors; all that are allowed, where no other is
    left."""
    numbers = {core.number for core in timed}
    physical = {core.physical for core in timed}
    others = [core for core in allowed if core.number not in numbers]
    apart = [core for core in others if core.physical not in physical]
    return {core.number for core in apart or others or allowed}


def cores_beside(
    views: Sequence[CoreView], timed: Sequence[Sequence[Place]], flows: int
) -> list[list[int | None]]:
    """A core for each of so many threads of each rank that run beside the `timed` ones, by rank:
    those of other physical cores first; None where none is left, or the scheduler decides."""
    taken = {
        (seen.where, place.core) for seen, own in zip(views, timed, strict=True) for place in own
    }
    physical = {
        (seen.where, core.physical)
        for seen in views
        for core in seen.allowed
        if (seen.where, core.number) in taken
    }
    found: list[list[int | None]] = [[] for _ in views]
    for _ in range(flows):
        for seen, own in zip(views, found, strict=True):
            free = [
                ((seen.where, core.physical) in physical, core.number)
                for core in seen.allowed
                if (seen.where, core.number) not in taken and (seen.where, None) not in taken
            ]
            own.append(min(free)[1] if free else None)
            if free:
                taken.add((seen.where, own[-1]))
    return found


def _is_crowded(seen: CoreView, views: Sequence[CoreView]) -> bool:
    """Whether the machine of the view `seen` has fewer cores for its ranks than ranks."""
    allowed = [other.allowed for other in views if other.where == seen.where]
    return len({core.number for cores in allowed for core in cores}) < len(allowed)


def _check(rank: int, core: int, seen: CoreView) -> None:
    if core not in seen.present:
        present = ", ".join(str(number) for number in seen.present)
        raise UsageError(f"--cores: there is no core {core} (there are {present})")
    if core not in [other.number for other in seen.allowed]:
        allowed = ", ".join(str(other.number) for other in seen.allowed)
        raise Unavailable(f"rank {rank} may not use core {core} (allowed: {allowed})")


def _role(roles: Sequence[int], slot: int) -> int:
    return roles[slot] if slot < len(roles) else 0


def _choose_near(views: Sequence[CoreView], roles: Sequence[int]) -> list[int]:
    """A core for each slot of one machine, near its devices, if there are as many as that takes."""
    near = [view.near_of(role) for view, role in zip(views, roles, strict=True)]
    return _best(near) or _choose([view.allowed for view in views])


def _best(allowed: Sequence[Sequence[Core]]) -> list[int] | None:
    """A core of its own for each rank of one host, by the best way of sharing out that serves all
    of them; None if none does."""
    return next((match for slots in _ways(allowed) if (match := _match(slots))), None)


def _choose(allowed: Sequence[Sequence[Core]]) -> list[int]:
    """A core for each rank of one host."""
    match = _best(allowed)
    if match is not None:
        return match
    # More ranks than cores: in turn.
    return [cores[rank % len(cores)].number for rank, cores in enumerate(allowed)]


def _ways(allowed: Sequence[Sequence[Core]]) -> Iterator[list[dict[str, int]]]:
    """Ways of sharing out the cores, best first: for each rank the slots that it may take, and the
    core of each slot. Only one rank may take a slot."""
    caches = dict.fromkeys(core.cache for cores in allowed for core in cores)
    first = {core.physical for cores in allowed for core in cores if core.number == _BUSIEST}
    others = [[core for core in cores if core.physical not in first] for cores in allowed]
    # Physical cores that share a last-level cache, then physical cores anywhere.
    for within in (tuple(caches), (None,)):
        for possible, cache in itertools.product((others, allowed), within):
            yield [_physical(cores, cache) for cores in possible]
    # Logical processors.
    yield [{str(core.number): core.number for core in cores} for cores in allowed]


def _physical(cores: Sequence[Core], cache: str | None) -> dict[str, int]:
    """The physical cores, those of one cache or (None) all, each with its first processor."""
    slots: dict[str, int] = {}
    for core in cores:
        if cache is None or core.cache == cache:
            slots.setdefault(core.physical, core.number)
    return slots


def _match(choices: list[dict[str, int]]) -> list[int] | None:
    """A different slot for every rank (bipartite matching by augmenting paths), or None."""
    holder: dict[str, int] = {}

    def give(rank: int, seen: set[str]) -> bool:
        # Free slots first, then slots whose holder would have to move.
        for slot in sorted(choices[rank], key=lambda slot: slot in holder):
            if slot not in seen:
                seen.add(slot)
                if slot not in holder or give(holder[slot], seen):
                    holder[slot] = rank
                    return True
        return False

    if not all(give(rank, set()) for rank in range(len(choices))):
        return None
    slot_of = {rank: slot for slot, rank in holder.items()}
    return [choices[rank][slot_of[rank]] for rank in range(len(choices))]


_HUGE_PAGE = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"


def machine_thresholds(core: int | None, reader: Reader = HOST_FILES) -> list[Threshold]:
    """Those of the core that a rank runs on (None: any, so that of its caches nothing is known)."""
    found = [] if core is None else _caches(core, reader)
    page = Threshold(name="the page", value=mmap.PAGESIZE, acts="page", source="sysconf")
    huge = reader.number(_HUGE_PAGE)
    if huge:
        found.append(
            Threshold(name="the huge page", value=huge, acts="page", source="hpage_pmd_size")
        )
    return [*found, page]


def _caches(core: int, reader: Reader) -> list[Threshold]:
    """The caches of a core that hold data, from the first level to the last."""
    found = []
    for directory in cache_directories(reader, core):
        level, kind = reader.line(f"{directory}/level"), reader.line(f"{directory}/type")
        if kind == "Instruction":
            continue
        try:
            size = parse_size(reader.line(f"{directory}/size") or "")
        except UsageError:
            continue
        found.append(
            Threshold(
                name=f"the L{level} cache",
                value=size,
                acts="cache",
                source=f"{directory.rpartition('/')[2]} of cpu{core}",
                cores=parse_list(reader.line(f"{directory}/shared_cpu_list") or "") or [core],
            )
        )
    return found
