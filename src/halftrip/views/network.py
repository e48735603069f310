"""The network between two hosts that a run went over, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from halftrip.analysis.flags.flag import counted
from halftrip.analysis.losses import HostLosses, losses
from halftrip.results.network_path import (
    MADE_UP_SPEEDS,
    Interface,
    NetworkPath,
    datagram_rate,
    payload_rate,
)
from halftrip.results.records import Connection
from halftrip.results.run import Run
from halftrip.units import significant

# The paths of more pairs than these are counted by kind.
_MOST_PAIRS = 3
# Of more hosts than these that have lost something, those are named that lost most.
_MOST_HOSTS = 5
# A smaller share of segments sent again is usual: of a full queue now and then.
_FEW_RESENT = 1e-4
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
        if each.dropped:
            of = each.packets + each.dropped
            yield f"{each.name} dropped {each.dropped:,} of {of:,} packets"
        if each.errors:
            yield f"{each.name} had {counted(each.errors, 'error')}"
    if lost.resent > _FEW_RESENT * lost.segments:
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
