"""Packets that the hosts of a run lost, or sent again, while it lasted, by their own counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halftrip.results.counts import HostCounters
from halftrip.results.run import Run

# The interface over which a host talks to itself.
_LOOPBACK = "lo"
# A smaller share that is dropped, or sent again, is usual: of a full queue now and then.
FEW_LOST = 1e-4


class InterfaceLosses(NamedTuple):
    """How many packets an interface received and sent, dropped (0: hardly any, or none that a
    socket of the run missed), and had errors in."""

    name: str
    packets: int
    dropped: int
    errors: int


class HostLosses(NamedTuple):
    """What `host` counted in all launches, whoever caused it.

    `interfaces` are those over which its ranks talked, or, where that is not known, as with an MPI,
    all but lo. `resent` is how many of the `segments` of TCP were sent again, `no_room` how many
    datagrams found a full receive buffer, `refused` how many connections found a full queue of a
    listener, and `softnet` how many packets found a full queue of a processor.
    """

    host: str
    interfaces: tuple[InterfaceLosses, ...]
    segments: int
    resent: int
    no_room: int
    refused: int
    softnet: int

    @property
    def total(self) -> int:
        """All that was lost or sent again; 0 where nothing was."""
        of_interfaces = sum(each.dropped + each.errors for each in self.interfaces)
        return of_interfaces + self.resent + self.no_room + self.refused + self.softnet


def losses(run: Run) -> list[HostLosses]:
    """The losses of each host of a run over several, in the order of their ranks. A run on one host
    has none, nor has a launch that was interrupted."""
    by_host: dict[tuple[int, str], list[HostCounters]] = {}
    for record in run.host_counters:
        if record.phase == "launch":
            by_host.setdefault((record.rank, record.host), []).append(record)
    return [_of_host(host, records, run) for (_, host), records in sorted(by_host.items())]


def _of_host(host: str, records: list[HostCounters], run: Run) -> HostLosses:
    counts = _sum(record.counts for record in records)
    softnet = _sum(counted for record in records for counted in record.softnet.values())
    used = {
        each.path.interface.name
        for each in run.connections
        if run.names.hosts.get(each.rank) == host and each.path.interface is not None
    }
    # A frame of a protocol that nobody asked for is dropped, too: no socket of the run missed it
    # where TCP sent nothing again, and no datagram was lost.
    lost = any(m.delivery is not None and m.delivery.lost for m in run.measurements)
    missed = lost or counts.get("tcp_retransmits", 0) or not counts.get("tcp_segments_out", 0)
    names = dict.fromkeys(name for record in records for name in record.interfaces)
    chosen = [name for name in names if (name in used if used else name != _LOOPBACK)]
    return HostLosses(
        host=host,
        interfaces=tuple(
            _of_interface(
                name, [record.interfaces.get(name, {}) for record in records], bool(missed)
            )
            for name in chosen
        ),
        segments=counts.get("tcp_segments_out", 0),
        resent=counts.get("tcp_retransmits", 0),
        no_room=counts.get("udp_receive_buffer_full", 0),
        refused=counts.get("tcp_listen_overflows", 0),
        softnet=softnet.get("dropped", 0),
    )


def _of_interface(name: str, counted: list[dict[str, int]], missed: bool) -> InterfaceLosses:
    counts = _sum(counted)

    def both(kind: str) -> int:
        return counts.get(f"{kind}_in", 0) + counts.get(f"{kind}_out", 0)

    few = both("drops") <= FEW_LOST * both("packets")
    dropped = both("drops") if missed and not few else 0
    return InterfaceLosses(name, both("packets"), dropped, both("errors"))


def _sum(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of each count. A counter that fell is wrong, and counts as 0."""
    total: dict[str, int] = {}
    for counts in counted:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + max(0, count)
    return total
