"""What a run went over: the network between two hosts, and devices, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from halftrip.analysis.flags.flag import counted
from halftrip.analysis.losses import HostLosses, losses
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.memory_name import parse_memory
from halftrip.results.network_path import (
    MADE_UP_SPEEDS,
    Connection,
    Interface,
    NetworkPath,
    datagram_rate,
    payload_rate,
)
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import format_size, significant

# The paths of more pairs than these are counted by kind.
_MOST_PAIRS = 3
# Of more hosts than these that have lost something, those are named that lost most.
_MOST_HOSTS = 5
# What UDP carries at most is said for datagrams of the largest size that needs no fragments.
_HEADERS = {"ipv4": 28, "ipv6": 48}


def lines(run: Run) -> list[str]:
    """Which way the pairs took: a line for each of a few pairs, else one for each kind of way; and
    what the link leaves for payload; and what hosts have lost on the way."""
    hosts = {each.rank: each.host for each in run.environments}
    launch = min((each.launch for each in run.connections), default=0)
    first = [each for each in run.connections if each.launch == launch and each.thread == 0]
    by_pair: dict[tuple[int, int], dict[tuple[int, str], Connection]] = {}
    for each in first:
        pair = (min(each.rank, each.peer), max(each.rank, each.peer))
        by_pair.setdefault(pair, {})[each.rank, each.transport] = each
    if len(by_pair) <= _MOST_PAIRS:
        said = [_of_pair(pair, found, hosts) for pair, found in by_pair.items()]
    else:
        counts: dict[str, int] = {}
        for found in by_pair.values():
            kind = _kind(next(iter(found.values())).path)
            counts[kind] = counts.get(kind, 0) + 1
        said = [f"network: {_pairs(count)}: {kind}" for kind, count in counts.items()]
    return [*said, *_bounds(first), *_losses(losses(run))]


def _losses(found: Sequence[HostLosses]) -> list[str]:
    """What each host has lost or sent again, a line for each that has."""
    lossy = sorted(found, key=lambda each: -each.total)
    lines = [
        f"losses: {each.host}: {', '.join(said)}" for each in lossy if (said := [*_of_host(each)])
    ]
    more = counted(len(lines) - _MOST_HOSTS, "more host")
    return lines[:_MOST_HOSTS] + [f"losses: and {more}, with less"] * (len(lines) > _MOST_HOSTS)


def _of_host(lost: HostLosses) -> Iterator[str]:
    for each in lost.interfaces:
        if each in lost.dropping:
            of = each.packets + each.dropped
            yield f"{each.name} dropped {each.dropped:,} of {of:,} packets"
        if each.errors:
            yield f"{each.name} had {counted(each.errors, 'error')}"
    if lost.resent_many:
        yield f"tcp sent {lost.resent:,} of {counted(lost.segments, 'segment')} again"
    if lost.no_room:
        yield f"udp had no room for {counted(lost.no_room, 'datagram')}"
    if lost.refused:
        yield f"{counted(lost.refused, 'connection')} found a listener's queue full"
    if lost.softnet:
        yield f"{counted(lost.softnet, 'packet')} found a processor's queue full"


def _of_pair(
    pair: tuple[int, int],
    found: Mapping[tuple[int, str], Connection],
    hosts: Mapping[int, str],
) -> str:
    """The way between two ranks, both ends of it, as TCP knows it, if that was measured."""
    ends = []
    paths = []
    for rank in pair:
        of_rank = [each for (number, _), each in found.items() if number == rank]
        best = next((each for each in of_rank if each.path.tcp is not None), None)
        best = best or next(iter(of_rank), None)
        if best is not None:
            paths.append(best.path)
            interface = f" {best.path.interface.name}" if best.path.interface else ""
            ends.append(f"{hosts.get(rank, f'rank {rank}')}{interface} {best.path.local}")
    kinds = list(dict.fromkeys(map(_kind, paths)))
    return f"network: {' to '.join(ends)}: {' and '.join(kinds)}{_round_trip(paths)}"


def _round_trip(paths: Sequence[NetworkPath]) -> str:
    """The shortest round trip that the kernel has timed at either end, if it has."""
    known = [each.tcp.min_rtt_us for each in paths if each.tcp and each.tcp.min_rtt_us]
    return f", round trip {min(known):,} us by the kernel" if known else ""


def _kind(path: NetworkPath) -> str:
    """What two paths of the same kind have in common."""
    parts = []
    if path.interface is not None:
        parts.append(_interface(path.interface))
    mtu = path.path_mtu or path.route_mtu
    if mtu:
        parts.append(f"MTU {mtu:,}")
    parts.append("one link" if path.gateway is None else f"by gateway {path.gateway}")
    if path.tcp is not None:
        if path.tcp.snd_mss:
            parts.append(f"MSS {path.tcp.snd_mss:,}")
        if path.congestion:
            parts.append(path.congestion)
    return ", ".join(parts)


def _interface(interface: Interface) -> str:
    speed = ""
    if interface.speed and interface.driver not in MADE_UP_SPEEDS:
        speed = f"{significant(interface.speed / 1e9, 3)} Gbit/s "
    return f"{speed}{interface.driver or interface.kind or interface.name}"


def _bounds(connections: Sequence[Connection]) -> list[str]:
    """What the slowest interface leaves for payload, where its speed is known."""
    tcp = [rate for each in connections if (rate := payload_rate(each.path)) is not None]
    udp = [rate for each in connections if (rate := _datagrams(each.path)) is not None]
    said = [
        f"{name} {significant(min(rates) / 1e6, 4)}"
        for name, rates in (("tcp", tcp), ("udp", udp))
        if rates
    ]
    return [f"bound: the link leaves for payload, MB/s: {', '.join(said)}"] if said else []


def _datagrams(path: NetworkPath) -> float | None:
    if path.protocol != "udp" or path.path_mtu is None:
        return None
    return datagram_rate(path, path.path_mtu - _HEADERS[path.family])


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


# Devices and their own limits.

STAND_IN = (
    "the CUDA driver of this run is a stand-in for tests: its figures say nothing of a device"
)


def stand_in(run: Run) -> list[str]:
    """That the driver is none, where it is none."""
    return [STAND_IN] if any(device.stand_in for device in run.devices) else []


def devices(run: Run) -> list[str]:
    """A line for each device, as the first rank and launch have found it, and one for each that was
    found in another state."""
    lines_ = stand_in(run)
    of_hosts = {each.rank: each.host for each in run.environments}
    several = len(set(of_hosts.values())) > 1
    for device in run.devices:
        host = f" on {of_hosts[device.rank]}" if several and device.rank in of_hosts else ""
        lines_.append(f"{device.memory}{host}: {_described(device)}")
    return [*dict.fromkeys(lines_), *_in_turn(run)]


def _in_turn(run: Run) -> list[str]:
    """Of each device in whose memory both ends of a pair have their buffers: that it works for one
    process at a time, where processes do not share a context. Seen on an H200: 8 bytes by cuda-ipc
    take 149 us, with MPS 12."""
    known = {(each.rank, each.memory): each for each in run.devices}
    names: dict[str, str] = {}
    for configuration in run.by_configuration:
        ends = zip(configuration.pair, configuration.ends, strict=True)
        own, other = (known.get((rank, end.memory)) for rank, end in ends)
        if own is None or other is None or own.uuid != other.uuid or own.mps is not False:
            continue
        if {parse_memory(end.memory).kind for end in configuration.ends} == {"cuda"}:
            names[own.uuid] = own.memory
    return [
        f"{name}: both ranks use it without MPS: it works for one process at a time, and a message "
        "may wait until it has switched; nvidia-cuda-mps-control -d starts MPS"
        for name in names.values()
    ]


def _described(device: Device) -> str:
    said = [device.name, device.pci, *_link(device)]
    if device.numa_node is not None and device.numa_node >= 0:
        said.append(f"NUMA node {device.numa_node}")
    said.append(f"driver {device.driver or '?'}, CUDA {device.cuda}")
    if device.power_limit is not None:
        said.append(f"{device.power_limit:.0f} W at most")
    if device.ecc is False:
        said.append("no ECC")
    if device.mig:
        said.append("MIG")
    if device.compute_mode != "default":
        said.append(f"compute mode {device.compute_mode}")
    return ", ".join(said)


def _link(device: Device) -> list[str]:
    """The link to the host, and the best that it may be where it is less."""
    generation, width = device.link_generation, device.link_width
    if generation is None or width is None:
        return []
    text = f"PCIe {generation} x{width}"
    best = (device.link_generation_max or generation, device.link_width_max or width)
    if best != (generation, width):
        text += f" (at most {best[0]} x{best[1]})"
    return [text]


def device_bounds(run: Run) -> list[str]:
    """The copies of each device, a line for each kind below that of the sizes, and what it takes to
    wait for it."""
    whose = _whose(run)
    by_device: dict[str, list[DeviceCopy]] = {}
    for copy in run.device_copies:
        by_device.setdefault(whose(copy), []).append(copy)
    lines_ = []
    for name, copies in by_device.items():
        sizes = sorted({copy.size for copy in copies})
        lines_.append(
            f"bound: copies of {name}, GB/s, of {', '.join(format_size(size) for size in sizes)}:"
        )
        by_kind: dict[str, list[DeviceCopy]] = {}
        for copy in copies:
            by_kind.setdefault(_kind_of_copy(copy), []).append(copy)
        lines_ += [f"{_INDENT}{kind}: {_rates(sizes, each)}" for kind, each in by_kind.items()]
    waits: dict[str, list[DeviceLatency]] = {}
    for latency in run.device_latencies:
        waits.setdefault(whose(latency), []).append(latency)
    return [*lines_, *(_wait(name, found) for name, found in waits.items())]


_INDENT = "    "


def _whose(run: Run) -> Callable[[DeviceCopy | DeviceLatency], str]:
    """The name of a device, with the rank that has measured it where several ranks have: the same
    name may stand for another device there."""
    ranks = {each.rank for each in run.device_copies}
    several = len(ranks | {each.rank for each in run.device_latencies}) > 1
    return lambda each: f"{each.memory} of {run.names.rank(each.rank)}" if several else each.memory


def _kind_of_copy(copy: DeviceCopy) -> str:
    where = f"to {copy.peer}" if copy.peer else copy.direction
    parts = [where, copy.host, "both ways at once" if copy.both_ways else ""]
    return ", ".join(filter(None, parts))


def _rates(sizes: Iterable[int], copies: Iterable[DeviceCopy]) -> str:
    """The median bandwidth of the copies of each size, in one direction."""
    times: dict[int, list[float]] = {}
    for copy in copies:
        times.setdefault(copy.size, []).append(copy.ns)
    return ", ".join(
        significant(size / median(times[size]), 3) if size in times else "?" for size in sizes
    )


def _wait(name: str, found: Sequence[DeviceLatency]) -> str:
    said = f"bound: {name}: {_median_us([each.synchronize for each in found])} for an idle stream"
    kernels = [each.kernel for each in found if each.kernel is not None]
    if kernels:
        return f"{said}, {_median_us(kernels)} for an empty kernel"
    refused = next((each.refused for each in found if each.refused), "")
    return f"{said}; no kernel was launched: {refused}" if refused else said


def _median_us(times: Sequence[float]) -> str:
    return f"{significant(median(times) / 1e3, 3)} us"
