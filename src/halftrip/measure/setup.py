"""What is set up before anything is measured: every rank on its core, every pair with what it
shares, and which of the plan's cases can be had."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.control.hosts import host_identity
from halftrip.measure.connection import Pair
from halftrip.memory import host as host_memory
from halftrip.mpi import library
from halftrip.plan.cases import expand, outlasts
from halftrip.plan.pairing import rounds
from halftrip.plan.plan import Plan
from halftrip.results.case import Case, Wait
from halftrip.results.records import ClockInfo, Environment, Skip
from halftrip.telemetry import environment, topology
from halftrip.telemetry.kernel_files import Reader
from halftrip.telemetry.process import Meter
from halftrip.transports.base import Scene, Transport

if TYPE_CHECKING:
    from mpi4py import MPI

_OFFSET_TRIES = 10

# Cases that are measured at the same time, each between two ranks of its own.
Round = tuple[Case, ...]
Path = tuple[tuple[int, int], int]


class Stage:
    """Made by every rank of the group together. `communicator` is for timed messages; where it is
    None, `no_mpi` says why.

    Raises UsageError or Unavailable if the ranks cannot have the cores that were asked for.
    """

    def __init__(
        self,
        plan: Plan,
        group: Group,
        token: str,
        communicator: MPI.Intracomm | None,
        no_mpi: str,
        launch: int = 0,
    ) -> None:
        self.clock = Clock()
        self.reader = Reader()
        self.meter = Meter(self.reader, whole=plan.threads == 1)
        self.pairs: dict[Path, Pair] = {}
        self._plan = plan
        self._launch = launch
        self._group = group
        self._token = token
        self._mpi = communicator
        self._no_mpi = no_mpi
        self._skips: list[Skip] = []
        self._rounds = rounds(group.size, plan.pairs, plan.pairs_at_once)
        identity = host_identity()
        views: list[topology.View] = group.allgather(topology.view(identity), topology.View)
        self.hosts = [seen.host for seen in views]
        self._places = self._place(views)
        own = self._places[group.rank]
        if own[0].core is not None:
            os.sched_setaffinity(0, {own[0].core})
        self.environments: list[Environment] = group.allgather(
            self._environment(own, views[group.rank]), Environment
        )
        self.cache_bytes: int = max(
            group.allgather(host_memory.last_level_cache(own[0].core or 0), int)
        )
        for ends in dict.fromkeys(pair for pairs in self._rounds for pair in pairs):
            for thread in range(plan.threads):
                self.pairs[ends, thread] = self._open_pair(ends, thread)
        self._waits = self._look_for_transports()

    def _place(self, views: Sequence[topology.View]) -> list[list[topology.Place]]:
        """The places of every rank's threads, by rank."""
        threads = self._plan.threads
        order = [
            rank * threads + thread
            for pair in self._rounds[0]
            for thread in range(threads)
            for rank in pair
        ]
        rest = [slot for slot in range(len(views) * threads) if slot not in order]
        places = topology.place(
            [seen for seen in views for _ in range(threads)], self._plan.cores, [*order, *rest]
        )
        return [places[rank * threads : (rank + 1) * threads] for rank in range(len(views))]

    def _environment(self, places: Sequence[topology.Place], seen: topology.View) -> Environment:
        place = places[0]
        return Environment(
            rank=self._group.rank,
            host=environment.host(),
            pid=os.getpid(),
            core=place.core,
            thread_cores=[each.core for each in places] if len(places) > 1 else None,
            allowed_cores=[allowed.number for allowed in seen.allowed],
            oversubscribed=any(each.shared for each in places),
            processor=environment.processor(),
            kernel=environment.kernel(),
            python=platform.python_version(),
            clock=ClockInfo(
                source=self.clock.source,
                hertz=self.clock.hertz,
                cost=self.clock.cost,
                resolution=self.clock.resolution,
            ),
            thp=environment.thp(),
            governor=environment.governor(place.core),
            hypervisor=environment.hypervisor(),
            mpi=library.library_version() if self._mpi is not None else None,
            mpi_library=library.library_path() if self._mpi is not None else None,
            variables=environment.variables(os.environ),
        )

    def _open_pair(self, ends: tuple[int, int], thread: int) -> Pair:
        rank = self._group.rank
        core = self._places[rank][thread].core
        scene = Scene(
            rank=rank,
            peer=ends[1] if rank == ends[0] else ends[0],
            same_host=self.hosts[ends[0]] == self.hosts[ends[1]],
            yields=any(self._places[end][thread].shared for end in ends),
            token=self._token,
            mpi=self._mpi,
            no_mpi=self._no_mpi,
            threads=self._plan.threads,
            thread=thread,
            core=core if self._plan.threads > 1 else None,
            timeout=self._plan.timeout,
            simulated=self._plan.simulated,
            launch=self._launch,
        )
        return Pair(self._group, ends, scene, self.clock)

    def _look_for_transports(self) -> dict[str, tuple[Wait, ...]]:
        """The transports that some pair has, and how each can wait; the others are skipped."""
        waits = {}
        self._lacking: dict[str, dict[Path, str]] = {}
        for name in self._plan.transport:
            missing = {path: pair.missing(name) for path, pair in self.pairs.items()}
            lacking = {path: why for path, why in missing.items() if why is not None}
            if len(lacking) == len(self.pairs):
                self._skips.append(Skip(transport=name, reason=next(iter(lacking.values()))))
            else:
                waits[name] = next(iter(self.pairs.values())).transport(name).waits
                self._lacking[name] = lacking
        return waits

    def clock_offsets(self) -> list[int]:
        """By how much the clock of every rank, CLOCK_MONOTONIC_RAW, is ahead of rank 0's, ns; on
        rank 0, elsewhere it is empty.

        As good as half of the shortest of several round trips through the group; exactly 0
        on rank 0's own host, whose ranks share the clock.
        """
        if len(set(self.hosts)) == 1:
            return [0] * len(self.hosts)
        best = [(math.inf, 0)] * len(self.hosts)
        for _ in range(_OFFSET_TRIES):
            asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            self._group.broadcast(None, None)
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            answers = self._group.gather(now, int)
            told = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            if answers is None:
                continue
            middle = (asked + told) // 2
            for rank, answer in enumerate(answers):
                best[rank] = min(best[rank], (told - asked, answer - middle))
        here = self.hosts[0]
        return [
            0 if host == here else offset
            for host, (_, offset) in zip(self.hosts, best, strict=True)
        ]

    @property
    def rounds(self) -> list[Round]:
        """All that the plan asks for, of the transports that are there."""
        return expand(self._plan, self._group.size, self._waits)

    def possible(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds without the cases that a rank refuses, which become skips."""
        cases = [case for round_ in rounds for case in round_]
        refused: dict[int, str] = {}
        for index, case in enumerate(cases):
            reason = self._refusal(case)
            if reason is not None:
                refused[index] = reason
        for other in self._group.allgather(refused, dict[int, str]):
            refused |= other
        self._skips += _skips(cases, refused)
        left = iter(index not in refused for index in range(len(cases)))
        kept = [tuple(case for case in round_ if next(left)) for round_ in rounds]
        return [in_company(round_) for round_ in kept if round_]

    def _refusal(self, case: Case) -> str | None:
        """Why this rank refuses a case, or None; of others' pairs it has nothing to say."""
        path = (case.pair, case.thread)
        pair = self.pairs[path]
        if not pair.member:
            return None
        lacking = self._lacking[case.transport].get(path)
        if lacking is not None:
            return lacking
        reason = pair.transport(case.transport).refuses(case) or self._unplaceable(case)
        if reason is not None:
            return reason
        lay = host_memory.geometry(case, self.cache_bytes)
        refusal = host_memory.refuses(case, lay, self._ends_here(case))
        return refusal or outlasts(self._plan, case)

    def _unplaceable(self, case: Case) -> str | None:
        """Why --placement-state cannot be kept to, or None."""
        scene = self.pairs[case.pair, case.thread].scene
        if self._plan.placement_state is None or self.virtual(case):
            return None
        why = None
        if scene.segment is None:
            why = scene.no_segment
        elif scene.yields:
            why = "the ranks share a core"
        elif self._plan.threads > 1:
            why = "where threads run is not looked at, only where ranks do"
        return None if why is None else f"--placement-state: there is no line to tell by: {why}"

    def lossy(self, case: Case) -> bool:
        """Whether every exchange of a case is a sample by itself."""
        return self._transport(case).lossy

    def virtual(self, case: Case) -> bool:
        """Whether a case takes no time but in what its transport says of itself."""
        return self._transport(case).virtual

    def clock_figures(self, case: Case) -> tuple[float, float]:
        """What looking at the clock costs that times a case, and its step, ns."""
        clock = self.environments[case.pair[0]].clock
        return self._transport(case).clock_figures or (clock.cost, clock.resolution)

    def probe_line(self, case: Case) -> float | None:
        """The cache-line round trip between the ranks of a case right now, ns, on rank 0; None
        where there is none. All ranks call it."""
        pair = self.pairs[case.pair, case.thread]
        if self.virtual(case):
            line = self._transport(case).line() if pair.initiates else None
        elif pair.has_line:
            line = pair.probe()
        else:
            return None
        gathered = self._group.gather(line, float | None)
        return None if gathered is None else gathered[pair.ranks[0]]

    def survey_line(self, case: Case, probes: int, seconds: float) -> list[float]:
        """So many probes of the line, spread over a while; none on ranks other than 0, and where
        there is no line. All ranks call it."""
        found = []
        for _ in range(probes):
            line = self.probe_line(case)
            if line is not None:
                found.append(line)
            self._rest(case, seconds / probes)
        return found

    def _rest(self, case: Case, seconds: float) -> None:
        if self.virtual(case):
            self._transport(case).rest(seconds)
        else:
            time.sleep(seconds)

    def _transport(self, case: Case) -> Transport:
        return self.pairs[case.pair, case.thread].transport(case.transport)

    def most_exchanges(self, case: Case) -> int | None:
        """How many exchanges of a case there is a buffer of its own for each message of; None where
        buffers are used again and again."""
        if not case.verify:
            return None
        return host_memory.geometry(case, self.cache_bytes).slots // case.window

    def _ends_here(self, case: Case) -> int:
        """How many ends of the case's company are on this host, as far as that can be told."""
        here = self.hosts[self._group.rank]
        return sum(self.hosts[rank] == here for rank in case.pair) * case.company

    def take_skips(self) -> list[Skip]:
        """What has been skipped since this was last called."""
        skips, self._skips = self._skips, []
        return skips

    def close(self) -> None:
        for pair in self.pairs.values():
            pair.close()


def in_company(round_: Sequence[Case]) -> Round:
    """Cases that are measured at the same time, each with how many these are."""
    return tuple(msgspec.structs.replace(case, company=len(round_)) for case in round_)


def _skips(cases: Sequence[Case], refused: Mapping[int, str]) -> list[Skip]:
    """The refused cases, by number, put together where transport and reason are the same."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for index, reason in sorted(refused.items()):
        groups.setdefault((cases[index].transport, reason), []).append(cases[index])
    skips = []
    for (transport, reason), those in groups.items():
        gone = set(those)
        left = [case for case in cases if case.transport == transport and case not in gone]
        skips.append(
            Skip(
                transport=transport,
                reason=reason,
                sizes=_telling([c.size for c in those], [c.size for c in left]),
                pairs=_telling([c.pair for c in those], [c.pair for c in left]),
                patterns=_telling([c.pattern for c in those], [c.pattern for c in left]),
                modes=_telling([c.mode for c in those], [c.mode for c in left]),
            )
        )
    return skips


_Value = TypeVar("_Value", int, str, tuple[int, int])


def _telling(gone: Sequence[_Value], left: Sequence[_Value]) -> list[_Value] | None:
    """The values of a field among those that are gone, each once, if they tell these from those
    that are left, else None."""
    values = sorted(set(gone))
    return values if left and values != sorted(set(left)) else None
