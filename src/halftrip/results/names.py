"""What the ranks of a run are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from halftrip.results.records import Environment


@dataclass(frozen=True)
class Names:
    """The names of ranks by the `hosts` that they ran on: where each has a host of its own that is
    called like no other, by that; else by their numbers, or, in a map of `cores`, by these."""

    hosts: Mapping[int, str]
    cores: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, environments: Iterable[Environment]) -> Names:
        """The names of these ranks, by where each ran first."""
        hosts: dict[int, str] = {}
        for each in environments:
            hosts.setdefault(each.rank, each.host)
        return cls(hosts)

    @cached_property
    def _different(self) -> int:
        """How many hosts there are: every row asks, and there may be thousands of ranks."""
        return len(set(self.hosts.values()))

    @property
    def are_hosts(self) -> bool:
        """Whether ranks are called by their hosts."""
        return len(self.hosts) == self._different > 1

    def host(self, rank: int) -> str:
        """The host of a rank, or, where that is not known, its number."""
        return self.hosts.get(rank, f"rank {rank}")

    def rank(self, rank: int) -> str:
        """``node1``, ``rank 3 of node1`` where that one has several, or ``rank 3`` on one host."""
        if self.are_hosts and rank in self.hosts:
            return self.hosts[rank]
        if rank in self.cores:
            return f"core {self.cores[rank]}"
        return f"rank {rank}{self.of_host(rank)}"

    def of_host(self, rank: int) -> str:
        """What to put after what belongs to the host of a rank, as a core: `` of node1``; nothing
        where there is one host."""
        return f" of {self.hosts[rank]}" if self._different > 1 and rank in self.hosts else ""

    def pair(self, pair: tuple[int, int]) -> str:
        """``node1 to node2``, or ``0-1`` where ranks are called by their numbers, or by those of
        their cores."""
        if self.are_hosts:
            return " to ".join(map(self.rank, pair))
        return "-".join(str(self.cores.get(rank, rank)) for rank in pair)

    def pairs(self, pairs: Iterable[tuple[int, int]]) -> str:
        """``node1 to node2, node3 to node4``, or ``ranks 0-1, 2-3``."""
        said = ", ".join(dict.fromkeys(map(self.pair, pairs)))
        return said if self.are_hosts else f"{'cores' if self.cores else 'ranks'} {said}"
