"""Which copies of devices bound a row whose messages are in their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.device import DeviceCopy
from halftrip.results.memory_name import is_on_device, parse_memory
from halftrip.results.run import Run

# Copies of so many bytes are as fast as larger ones.
_LONG = 32 << 20
# The kinds of the host's memory that a device copies to and from over its link.
_OVER_LINK = ("host", "pinned")


class CopyLimit(NamedTuple):
    """The fastest copy of a kind: its bandwidth, GB/s, its size, and what copies, in words."""

    rate: float
    size: int
    what: str


def is_direct(configuration: Configuration) -> bool:
    """Whether a device's memory is part of a path that is given the buffers as they are."""
    return configuration.staging is None and any(_on_device(configuration))


def device_limit(run: Run, configuration: Configuration) -> CopyLimit | None:
    """The bound on the bandwidth of a row with memory of CUDA devices: the slowest of the copies
    that each of its messages needs. None if no such copy is known, or only copies of fewer bytes
    than a window has under way, which may be slower."""
    under_way = min(configuration.bytes_in_flight, _LONG)
    found = [
        limit
        for is_needed in _needed(run, configuration)
        if (limit := _fastest(run, is_needed, under_way)) is not None
    ]
    return min(found, default=None)


_Needed = Callable[[DeviceCopy], bool]


def _on_device(configuration: Configuration) -> list[bool]:
    return [is_on_device(end.memory) for end in configuration.ends]


def _needed(run: Run, configuration: Configuration) -> Iterator[_Needed]:
    """The kinds of copies that every message needs one of."""
    on_device = _on_device(configuration)
    uuids = [
        uuid_of(run, rank, end.memory) if on else None
        for rank, end, on in zip(configuration.pair, configuration.ends, on_device, strict=True)
    ]
    if is_direct(configuration):
        if all(on_device):
            if None not in uuids:
                yield partial(_is_between, run, frozenset(uuids))
            return
        kinds = [parse_memory(end.memory).kind for end in configuration.ends]
        # It is not known over which link managed memory and that of plug-ins is reached.
        if not any(kind in _OVER_LINK for kind in kinds):
            return
    for uuid in uuids:
        if uuid is not None:
            yield partial(_is_over_link, run, uuid)


def _is_between(run: Run, devices: frozenset[str | None], copy: DeviceCopy) -> bool:
    """Whether a copy is within the memory of one device, or between that of two."""
    if copy.direction != "device to device":
        return False
    ends = [copy.memory, copy.peer or copy.memory]
    return devices == {uuid_of(run, copy.rank, end) for end in ends}


def _is_over_link(run: Run, uuid: str, copy: DeviceCopy) -> bool:
    """Whether it is from or to page-locked memory, as stages are."""
    return copy.host == "pinned" and uuid_of(run, copy.rank, copy.memory) == uuid


def _fastest(run: Run, is_needed: _Needed, under_way: int) -> CopyLimit | None:
    copies = [copy for copy in run.device_copies if not copy.both_ways and is_needed(copy)]
    if max((copy.size for copy in copies), default=-1) < under_way:
        return None
    fastest = max(copies, key=lambda copy: copy.size / copy.ns)
    where = f"to {fastest.peer}" if fastest.peer else fastest.direction
    return CopyLimit(fastest.size / fastest.ns, fastest.size, f"{fastest.memory} copies {where}")


def uuid_of(run: Run, rank: int, memory: str) -> str | None:
    """The device that a rank's memory of a name is on; None where the run does not say."""
    name = parse_memory(memory).device
    # Two names may stand for one device, whose record has the first.
    known = (each for each in run.devices if each.rank == rank)
    return next(
        (each.uuid for each in known if each.memory == memory or each.is_called(name)), None
    )
