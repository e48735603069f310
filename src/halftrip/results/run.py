"""A run: everything that a run file holds; and base and new of a run against an earlier one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.counts import CountedSlice, HostCounters
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.names import Names
from halftrip.results.network_path import Connection
from halftrip.results.records import (
    Again,
    Aggregate,
    ClockComparison,
    CopyTime,
    Environment,
    Failure,
    Header,
    Launch,
    LaunchFailure,
    LostHost,
    Measurement,
    Notice,
    RunEnd,
    Skip,
)
from halftrip.results.reported import BASE, NEW, SIDE, Source, Variant
from halftrip.results.threshold import Threshold
from halftrip.stats.slices import medians

_Slice = TypeVar("_Slice", Measurement, CountedSlice)


class Sides(NamedTuple):
    """What both sides have measured, each a run of its own whose configurations do not say which
    side they are of, so that they are equal where the same was measured. `rounds` has the round of
    each launch: the launches of one round stand beside each other in time, one of each side (and
    of each variant, where the plan varies something else, too). `against` is what was asked: the
    name of the base's run `file`, and what is different about its launches, as far as that was
    said: `env` (names and values), `mpiexec`, `command`."""

    base: Run
    new: Run
    rounds: Mapping[int, int]
    against: Mapping[str, Any]


class Run(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a run file holds. `problems` are lines about what could not be read of it."""

    header: Header
    sources: tuple[Source, ...] = ()
    environments: tuple[Environment, ...] = ()
    skips: tuple[Skip, ...] = ()
    launches: tuple[Launch, ...] = ()
    launch_failures: tuple[LaunchFailure, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    again: tuple[Again, ...] = ()
    lost: tuple[LostHost, ...] = ()
    failures: tuple[Failure, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    connections: tuple[Connection, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    clock_comparisons: tuple[ClockComparison, ...] = ()
    copy_times: tuple[CopyTime, ...] = ()
    devices: tuple[Device, ...] = ()
    device_copies: tuple[DeviceCopy, ...] = ()
    device_latencies: tuple[DeviceLatency, ...] = ()
    host_counters: tuple[HostCounters, ...] = ()
    counted_slices: tuple[CountedSlice, ...] = ()
    notices: tuple[Notice, ...] = ()
    end: RunEnd | None = None
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Without the samples: there may be millions.
        configurations, taken = len(self.by_configuration), len(self.measurements)
        return f"Run({self.header.started}, {configurations} configurations, {taken} measurements)"

    @property
    def interrupted(self) -> str | None:
        """Why this run is not complete, or None if it is."""
        if self.end is None:
            return "the run ended without saying why"
        return self.end.reason

    @property
    def lost_hosts(self) -> dict[str, str]:
        """The hosts that were lost and have not come back in a later launch, and why."""
        later = {(each.host, each.launch) for each in self.environments}
        return {
            each.host: each.reason
            for each in self.lost
            if not any(host == each.host and launch > each.launch for host, launch in later)
        }

    @cached_property
    def variant_of(self) -> dict[int, Variant]:
        """What each launch had of what is varied, by its number."""
        return {launch.number: launch.variant for launch in self.launches}

    @cached_property
    def carriers_between(self) -> dict[tuple[str, frozenset[int]], list[Carrier]]:
        """What has carried the messages of a transport between two ranks."""
        found: dict[tuple[str, frozenset[int]], list[Carrier]] = {}
        for each in self.carriers:
            found.setdefault((each.transport, frozenset((each.rank, each.peer))), []).append(each)
        return found

    @cached_property
    def failed_launches(self) -> list[LaunchFailure]:
        """The launches that failed, but for those that a later one of the same round and variant
        has made up for."""
        failed = {failure.launch for failure in self.launch_failures}
        known = {launch.number: (launch.round, launch.variant) for launch in self.launches}
        good = {known[number]: number for number in sorted(known.keys() - failed)}
        return [
            failure
            for failure in self.launch_failures
            if failure.launch not in known or good.get(known[failure.launch], -1) < failure.launch
        ]

    @cached_property
    def sides(self) -> Sides | None:
        """Base and new, each as a run of its own, of a run against an earlier one that has
        measured both; else None."""
        return _sides(self)

    @property
    def base_file(self) -> str | None:
        """The name of the run file that this run was measured against; None: against none."""
        asked = self.header.plan.get("against")
        file = asked.get("file") if isinstance(asked, dict) else None
        return file if isinstance(file, str) else None

    @cached_property
    def first_environments(self) -> dict[Variant, list[Environment]]:
        """The environments of all ranks in the first launch of each variant; of a run that varies
        nothing, those of its first launch."""
        found: dict[Variant, list[Environment]] = {}
        for each in self.environments:
            known = found.setdefault(self.variant_of.get(each.launch, ()), [])
            if not known or known[0].launch == each.launch:
                known.append(each)
        return found

    @property
    def first_ranks(self) -> list[Environment]:
        """The environments of all ranks in the first launch that has any."""
        return next(iter(self.first_environments.values()), [])

    @cached_property
    def fastest_copy(self) -> CopyTime | None:
        """The memcpy of a rank with the largest bandwidth; None where none was measured."""
        known = [each for each in self.copy_times if each.ns > 0 and not each.by_kernel]
        return max(known, key=_speed, default=None)

    @cached_property
    def _environments_of(self) -> dict[int, list[tuple[int, Environment]]]:
        """The environments of each rank, with their places in the file: there may be thousands of
        ranks, and rows ask for those of two."""
        found: dict[int, list[tuple[int, Environment]]] = {}
        for place, each in enumerate(self.environments):
            found.setdefault(each.rank, []).append((place, each))
        return found

    def ranks_of(self, configuration: Configuration) -> list[Environment]:
        """The environments of the two ranks of a configuration, in all launches of its variant, in
        the order of the file."""
        variant_of, variant = self.variant_of, configuration.variant
        of_both = [self._environments_of.get(rank, []) for rank in {*configuration.pair}]
        return [
            each
            for _, each in sorted(chain(*of_both), key=itemgetter(0))
            if variant_of.get(each.launch, variant) == variant
        ]

    @cached_property
    def names(self) -> Names:
        """What its ranks are called."""
        if self.sources and not self.environments:
            return Names(dict(enumerate(self.sources[0].hosts)))
        return Names.of(self.environments)

    @cached_property
    def source_of(self) -> dict[Configuration, Source]:
        """The source of each configuration that was imported: the table with its variant, and of
        several the one in whose lines it is."""
        of_variant: dict[Variant, list[Source]] = {}
        for source in sorted(self.sources, key=lambda each: each.place):
            of_variant.setdefault(source.variant, []).append(source)
        found = {}
        for configuration, measurements in self.by_configuration.items():
            sources = of_variant.get(configuration.variant, [])
            reported = measurements[0].reported
            if reported is not None and reported.source is not None:
                if reported.source < len(self.sources):
                    found[configuration] = self.sources[reported.source]
                continue
            place = 0 if reported is None else reported.place
            above = [source for source in sources if source.place <= place] or sources[:1]
            if above:
                found[configuration] = above[-1]
        return found

    @property
    def measured(self) -> str | None:
        """When it was measured, ISO 8601; None where it was imported, and nothing says when."""
        is_known = not self.sources or any(source.date is not None for source in self.sources)
        return self.header.started if is_known else None

    @cached_property
    def core_to_core_of(self) -> dict[tuple[int, int], list[float]]:
        """The core-to-core round trips of each pair of ranks that was probed, ns: the median of
        each slice."""
        probed = [(each, rtts) for each in self.measurements if (rtts := each.core_to_core_rtts)]
        middles = medians(rtts for _, rtts in probed)
        found: dict[tuple[int, int], list[float]] = {}
        for (each, _), middle in zip(probed, middles, strict=True):
            found.setdefault(each.configuration.pair, []).append(middle)
        return found

    @cached_property
    def by_configuration(self) -> dict[Configuration, list[Measurement]]:
        """The measurements of each configuration that count, in the order of the file, which is
        that of launch and slice; configurations in the order of their first measurement."""
        return self._that_count(self.measurements)

    @cached_property
    def counted_by_configuration(self) -> dict[Configuration, list[CountedSlice]]:
        """The same of slices that were counted, not timed."""
        return self._that_count(self.counted_slices)

    def _that_count(self, found: Iterable[_Slice]) -> dict[Configuration, list[_Slice]]:
        configurations: dict[Configuration, list[_Slice]] = {}
        for each in found:
            configurations.setdefault(each.configuration, []).append(each)
        for again in self.again:
            for configuration, slices in configurations.items():
                newer = [each for each in slices if each.launch >= again.launch]
                configurations[configuration] = newer or slices
        return configurations


def _speed(copy: CopyTime) -> tuple[float, int, str]:
    return copy.size / copy.ns, copy.size, str(copy.rank)


def _sides(run: Run) -> Sides | None:
    if not any(SIDE in dict(launch.variant) for launch in run.launches):
        return None
    asked = run.header.plan.get("against")
    return Sides(
        base=_of_side(run, BASE),
        new=_of_side(run, NEW),
        rounds={launch.number: launch.round for launch in run.launches},
        against=asked if isinstance(asked, dict) else {},
    )


# What belongs to a launch, and so to a side; all else is of the whole run.
_OF_LAUNCHES = (
    *("environments", "launch_failures", "measurements", "lost", "failures", "aggregates"),
    *("connections", "clock_comparisons", "host_counters", "counted_slices", "notices"),
)


def _of_side(run: Run, side: str) -> Run:
    launches = [each for each in run.launches if dict(each.variant).get(SIDE) == side]
    numbers = {launch.number for launch in launches}
    skips = [each for each in run.skips if dict(each.variant).get(SIDE) in (None, side)]
    found: dict[str, Iterable[Any]] = {
        name: [each for each in getattr(run, name) if each.launch in numbers]
        for name in _OF_LAUNCHES
    }
    found |= {"launches": launches, "skips": skips}
    return msgspec.structs.replace(
        run, **{name: tuple(map(_without_side, records)) for name, records in found.items()}
    )


def _without_side(record: Any) -> Any:
    """A record or a configuration that does not say of which side it is."""
    changed: dict[str, Any] = {}
    if hasattr(record, "variant"):
        changed["variant"] = tuple(each for each in record.variant if each[0] != SIDE)
    if hasattr(record, "configuration"):
        changed["configuration"] = _without_side(record.configuration)
    if hasattr(record, "configurations"):
        changed["configurations"] = [*map(_without_side, record.configurations)]
    return msgspec.structs.replace(record, **changed) if changed else record
