"""Which core each rank runs on: one per physical core, sharing a last-level cache where
possible."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from halftrip.errors import Unavailable, UsageError
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.units import parse_size

_CPUS = "/sys/devices/system/cpu"
_USUAL_CACHE = 32 << 20


class Core(msgspec.Struct, frozen=True):
    """One logical processor: which physical core it is part of, and which cache it shares."""

    number: int
    physical: str
    cache: str


class View(msgspec.Struct, frozen=True):
    """What one rank sees of its host: the cores that it may use, and all there are."""

    host: str
    allowed: tuple[Core, ...]
    present: tuple[int, ...]


class Place(msgspec.Struct, frozen=True):
    """Where a rank goes; `core` is None where that is the scheduler's business. `shared`: another
    rank of this run has the same core, or may have to."""

    core: int | None
    shared: bool


def view(host: str, reader: Reader = HOST_FILES) -> View:
    """What this process sees. Where the kernel does not tell, every core is one of its own, and all
    share a cache."""
    allowed = sorted(os.sched_getaffinity(0))
    present = tuple(parse_list(reader.line(f"{_CPUS}/present") or "")) or tuple(allowed)
    return View(host, tuple(_core(reader, number) for number in allowed), present)


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel list such as ``0-3,8``."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _core(reader: Reader, number: int) -> Core:
    directory = f"{_CPUS}/cpu{number}"
    package = reader.line(f"{directory}/topology/physical_package_id")
    core = reader.line(f"{directory}/topology/core_id")
    physical = f"{package}:{core}" if core is not None else str(number)
    caches = _caches(reader, number)
    shared = reader.line(f"{caches[-1]}/shared_cpu_list") if caches else None
    return Core(number, physical, shared or package or "")


def _caches(reader: Reader, core: int) -> list[str]:
    """The directories of a core's caches, by level."""
    directory = f"{_CPUS}/cpu{core}/cache"
    caches = [f"{directory}/{name}" for name in reader.names(directory) if "index" in name]
    return sorted(caches, key=lambda cache: reader.line(f"{cache}/level") or "")


def last_level_cache(core: int, reader: Reader = HOST_FILES) -> int:
    """The size of a core's last cache, bytes; 32 MiB where the kernel does not tell."""
    sizes = []
    for cache in _caches(reader, core):
        level, size = reader.line(f"{cache}/level"), reader.line(f"{cache}/size")
        try:
            sizes.append((int(level or ""), parse_size(size or "")))
        except (ValueError, UsageError):
            continue
    return max(sizes)[1] if sizes else _USUAL_CACHE


def place(
    views: Sequence[View],
    wanted: Sequence[int] | Literal["none"] | None = None,
    order: Sequence[int] | None = None,
) -> list[Place]:
    """A core for every rank; `views` in order of rank, `wanted` the cores that were asked for.

    Where there are fewer cores than ranks, those that stand side by side in `order` get different
    ones. With "none" ranks get no core of their own.

    Raises UsageError for a core that does not exist, Unavailable for one that a rank may not use.
    """
    if wanted == "none":
        return [Place(None, _is_crowded(seen, views)) for seen in views]
    chosen = list(wanted) if wanted is not None else [0] * len(views)
    if wanted is not None:
        for rank, (core, seen) in enumerate(zip(wanted, views, strict=True)):
            _check(rank, core, seen)
    else:
        for host in dict.fromkeys(seen.host for seen in views):
            ranks = [rank for rank in order or range(len(views)) if views[rank].host == host]
            cores = _choose([views[rank].allowed for rank in ranks])
            for rank, core in zip(ranks, cores, strict=True):
                chosen[rank] = core
    taken = [(seen.host, core) for seen, core in zip(views, chosen, strict=True)]
    return [Place(core, taken.count((host, core)) > 1) for host, core in taken]


def _is_crowded(seen: View, views: Sequence[View]) -> bool:
    """Whether the host that is `seen` has fewer cores for its ranks than ranks."""
    allowed = [other.allowed for other in views if other.host == seen.host]
    return len({core.number for cores in allowed for core in cores}) < len(allowed)


def _check(rank: int, core: int, seen: View) -> None:
    if core not in seen.present:
        there = ", ".join(str(number) for number in seen.present)
        raise UsageError(f"--cores: there is no core {core} (there are {there})")
    if core not in [allowed.number for allowed in seen.allowed]:
        there = ", ".join(str(allowed.number) for allowed in seen.allowed)
        raise Unavailable(f"rank {rank} may not use core {core} (allowed: {there})")


def _choose(allowed: Sequence[Sequence[Core]]) -> list[int]:
    """A core for each rank of one host: the first way of sharing out that serves them all."""
    for slots in _ways(allowed):
        match = _match(slots)
        if match is not None:
            return match
    # More ranks than cores: in turn.
    return [cores[rank % len(cores)].number for rank, cores in enumerate(allowed)]


def _ways(allowed: Sequence[Sequence[Core]]) -> Iterator[list[dict[str, int]]]:
    """Ways of sharing out, best first. Each gives every rank its choice: a slot that only one rank
    may have, and the core that it stands for."""
    caches = dict.fromkeys(core.cache for cores in allowed for core in cores)
    # Cores of their own that share a last-level cache, then cores of their own anywhere.
    for cache in (*caches, None):
        yield [_physical(cores, cache) for cores in allowed]
    # Logical processors of their own.
    yield [{str(core.number): core.number for core in cores} for cores in allowed]


def _physical(cores: Sequence[Core], cache: str | None) -> dict[str, int]:
    slots: dict[str, int] = {}
    for core in cores:
        if cache is None or core.cache == cache:
            slots.setdefault(core.physical, core.number)
    return slots


def _match(choices: list[dict[str, int]]) -> list[int] | None:
    """A different slot for every rank (bipartite matching by augmenting paths), or None."""
    holder: dict[str, int] = {}

    def give(rank: int, seen: set[str]) -> bool:
        # A free slot before one that somebody else would have to leave.
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
