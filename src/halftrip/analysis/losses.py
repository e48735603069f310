"""Packets that the hosts of a run lost, or sent again, while it lasted, by their own counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from halftrip.results.counts import HostCounters
from halftrip.results.run import Run

# The interface over which a host talks to itself.
_LOOPBACK = "lo"
# A smaller share of packets dropped, or of segments sent again, is usual: of a full queue now and
# then, and interfaces count frames of protocols that nobody here speaks as dropped.
_FEW = 1e-4


class InterfaceLosses(NamedTuple):
    """How many packets an interface received and sent, dropped, and had errors in."""

    name: str
    packets: int
    dropped: int
    errors: int

    @property
    def dropped_many(self) -> bool:
        return self.dropped > _FEW * (self.packets + self.dropped)


class HostLosses(NamedTuple):
    """What `host` counted in all launches, whoever caused it.

    `interfaces` are those over which its ranks talked, or, where that is not known, as with an MPI,
    all but lo. `resent` is how many of the `segments` of TCP were sent again, `no_room` how many
    datagrams found a full receive buffer, `refused` how many connections found a full queue of a
    listener, and `softnet` how many packets found a full queue of a processor. `missed` is how many
    segments and datagrams the sockets of all hosts lacked meanwhile; None where no host tells.
    """

    host: str
    interfaces: tuple[InterfaceLosses, ...]
    segments: int
    resent: int
    no_room: int
    refused: int
    softnet: int
    missed: int | None = None

    @property
    def total(self) -> int:
        """All that was lost or sent again; 0 where nothing was."""
        of_interfaces = sum(each.dropped + each.errors for each in self.interfaces)
        return of_interfaces + self.resent + self.no_room + self.refused + self.softnet

    @property
    def dropping(self) -> list[InterfaceLosses]:
        """The interfaces whose drops are of account: they are many, and some socket lacked what was
        dropped, or nothing tells."""
        return [each for each in self.interfaces if each.dropped_many and self.missed != 0]

    @property
    def resent_many(self) -> bool:
        return self.resent > _FEW * self.segments


def losses(run: Run) -> list[HostLosses]:
    """The losses of each host of a run over several, in the order of their ranks. A run on one host
    has none, nor has a launch that was interrupted."""
    by_host: dict[tuple[int, str], list[HostCounters]] = {}
    for record in run.host_counters:
        if record.phase == "launch":
            by_host.setdefault((record.rank, record.host), []).append(record)
    found = [_of_host(host, records, run) for (_, host), records in sorted(by_host.items())]
    missed = _missed(run, [record for records in by_host.values() for record in records])
    return [each._replace(missed=missed) for each in found]


def _missed(run: Run, records: Sequence[HostCounters]) -> int | None:
    """What sockets lacked: segments that were sent again, datagrams without room, and those that
    this run itself did not receive."""
    if not any("tcp_retransmits" in record.counts for record in records):
        return None
    counts = _sum(record.counts for record in records)
    delivered = [each.delivery for each in run.measurements if each.delivery is not None]
    in_vain = sum(each.lost for each in delivered)
    return counts.get("tcp_retransmits", 0) + counts.get("udp_receive_buffer_full", 0) + in_vain


def _of_host(host: str, records: list[HostCounters], run: Run) -> HostLosses:
    counts = _sum(record.counts for record in records)
    softnet = _sum(counted for record in records for counted in record.softnet.values())
    used = {
        each.path.interface.name
        for each in run.connections
        if run.names.hosts.get(each.rank) == host and each.path.interface is not None
    }
    names = dict.fromkeys(name for record in records for name in record.interfaces)
    chosen = [name for name in names if (name in used if used else name != _LOOPBACK)]
    return HostLosses(
        host=host,
        interfaces=tuple(
            _of_interface(name, [record.interfaces.get(name, {}) for record in records])
            for name in chosen
        ),
        segments=counts.get("tcp_segments_out", 0),
        resent=counts.get("tcp_retransmits", 0),
        no_room=counts.get("udp_receive_buffer_full", 0),
        refused=counts.get("tcp_listen_overflows", 0),
        softnet=softnet.get("dropped", 0),
    )


def _of_interface(name: str, counted: list[dict[str, int]]) -> InterfaceLosses:
    counts = _sum(counted)

    def both(kind: str) -> int:
        return counts.get(f"{kind}_in", 0) + counts.get(f"{kind}_out", 0)

    return InterfaceLosses(name, both("packets"), both("drops"), both("errors"))


def _sum(counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of each count. A counter that fell is wrong, and counts as 0."""
    total: dict[str, int] = {}
    for counts in counted:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + max(0, count)
    return total
