"""Several launches of one plan, each of fresh processes, in one file."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from halftrip.errors import Interrupted
from halftrip.job.deaths import HostsLost
from halftrip.job.limit import Limit
from halftrip.job.resumption import Done, Resumption, whole_in
from halftrip.job.view import View
from halftrip.plan.plan import FEWEST_UNTIL_CI, Plan
from halftrip.results.configuration import Configuration
from halftrip.results.records import Failure, LostHost, Measurement, RunEnd
from halftrip.results.run_file import RunFile, decode, encode, load
from halftrip.stats.series import Series, configuration_times, summarize_configuration
from halftrip.stats.summary import relative_width
from halftrip.transports.refusals import plans_of

# How the lines of some records begin.
_SKIP = b'{"record":"skip"'
_MEASURED = (b'{"record":"measurement"', b'{"record":"failure"')


class Intervals:
    """The confidence intervals of all configurations, while launches go on. It keeps times only
    with --until-ci: they take as much memory as the file takes on disk."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._series: dict[Configuration, list[Series]] = {}
        self._failed: set[Configuration] = set()

    def take(self, line: bytes) -> None:
        """Takes a line of the run file."""
        if not self._plan.until_ci or not line.startswith(_MEASURED):
            return
        record = decode(line)
        if isinstance(record, Measurement):
            self._series.setdefault(record.configuration, []).append(record.series)
        elif isinstance(record, Failure):
            self._failed.add(record.configuration)

    def are_narrow(self, launches: int) -> bool:
        """Whether --until-ci ends the run after this many launches: every row's interval is as
        narrow as requested."""
        plan = self._plan
        if not plan.until_ci or plan.ci is None or launches < max(plan.launches, FEWEST_UNTIL_CI):
            return False
        if not self._failed <= self._series.keys():
            return False
        return all(_width(series) <= plan.ci for series in self._series.values())


def _width(series: list[Series]) -> float:
    """The relative width of a configuration's interval; infinite before FEWEST_UNTIL_CI
    launches."""
    times = configuration_times(series)
    if len(times.by_launch) < FEWEST_UNTIL_CI:
        return float("inf")
    return relative_width(summarize_configuration(times))


class LaunchRecords:
    """Writes the records of one launch into the file of all launches. The launch's `end` is kept
    back, since others may follow, and a skip is written only once."""

    def __init__(self, run_file: RunFile, skips: set[bytes], intervals: Intervals) -> None:
        self.end = RunEnd(reason=None)
        self._run_file = run_file
        self._skips = skips
        self._intervals = intervals

    def append(self, lines: bytes, last: bool = False) -> None:
        if last:
            self.end = msgspec.json.decode(lines, type=RunEnd)
            return
        kept = [line for line in lines.splitlines(keepends=True) if self._is_new(line)]
        if kept:
            self._run_file.append(b"".join(kept))
        for line in kept:
            self._intervals.take(line)

    def _is_new(self, line: bytes) -> bool:
        """Whether it is not a skip that is in the file already."""
        if not line.startswith(_SKIP):
            return True
        is_new = line not in self._skips
        self._skips.add(line)
        return is_new


class LaunchView:
    """Adds the number of the launch to all that is shown, and shows a printed line only once. So
    many launches will be taken `later`, as far as that is known."""

    def __init__(
        self, view: View, launch: int, launches: int, quoted: set[str], later: int = 0
    ) -> None:
        self.visible = view.visible
        self.takes_warnings = view.takes_warnings
        self._view = view
        self._quoted = quoted
        self._name = f"launch {launch + 1} of {launches}" if launches > 1 else ""
        self._later = later

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        shown = f"{self._name} · {what}" if self._name else what
        self._view.update(done, total, shown, self._later)

    def warn(self, lines: list[str]) -> None:
        self._view.warn(lines)

    def quote(self, who: str, lines: list[str]) -> None:
        new = [line for line in lines if line not in self._quoted]
        self._quoted.update(new)
        if new:
            self._view.quote(f"{self._name}: {who}" if self._name else who, new)


def launch_all(
    plan: Plan,
    run_file: RunFile,
    view: View,
    launch: Callable[[int, Done, LaunchRecords, View, Limit | None], None],
    left: Resumption,
    limit: Limit | None = None,
) -> None:
    """Calls `launch(number, done, records, view, limit)` for every launch that is left, with its
    part of the run's `limit`, and ends the file. One that raises HostsLost is followed by one that
    measures what it lacks, and the run is not complete."""
    number, done = left.first, left.done
    lost: list[str] = []
    ends: list[RunEnd] = []
    skips: set[bytes] = set()
    quoted: set[str] = set()
    intervals = Intervals(plan)
    most = plan.max_launches if plan.until_ci else left.launches
    fewest = min(max(plan.launches, FEWEST_UNTIL_CI), most) if plan.until_ci else most
    short: str | None = None
    durations: list[float] = []
    while not ends or (len(ends) < most and not intervals.are_narrow(len(ends))):
        if limit is not None and ends and not limit.has_room(min(durations)):
            if len(ends) < fewest:
                short = f"{limit.error()} after {len(ends)} of {fewest} launches"
            break
        records = LaunchRecords(run_file, skips, intervals)
        of_launch = None if limit is None else limit.launch(fewest - len(ends))
        later = max(0, fewest - len(ends) - 1)
        shown = LaunchView(view, number, number + most - len(ends), quoted, later)
        began = time.monotonic()
        try:
            launch(number, done, records, shown, of_launch)
        except HostsLost as error:
            names = ", ".join(sorted(error.hosts))
            view.warn([f"{error}; going on without {names}"])
            for host, ranks in error.hosts.items():
                gone = LostHost(host=host, ranks=list(ranks), reason=str(error), launch=number)
                run_file.append(encode(gone))
            lost.append(f"without {names}: {error}")
            number, done = _after_loss(plan, run_file, number, done, error)
            continue
        number, done = number + 1, frozenset()
        durations.append(time.monotonic() - began)
        ends.append(records.end)
        if records.end.reason is not None:
            break
    if left.end is not None:
        ends.insert(0, left.end)
    run_file.end(
        RunEnd(
            reason=ends[-1].reason or short or "; ".join(lost) or None,
            seconds=_sum([end.seconds for end in ends]),
            timed=_sum([end.timed for end in ends]),
            logged=_sum([end.logged for end in ends]),
            clock_drift=_worst([end.clock_drift for end in ends]),
        )
    )


def _after_loss(
    plan: Plan, run_file: RunFile, number: int, done: Done, error: HostsLost
) -> tuple[int, Done]:
    """The number of the launch that follows one in which hosts were lost, and what it leaves out.
    Raises an error if that cannot be known."""
    run = load(run_file.path)
    if all(each.launch != number for each in run.environments):
        # It had not begun.
        return number, done
    if plan.refine:
        unknown = "which sizes a run with refine lacks is not known"
        raise Interrupted(f"{error}; {unknown}") from None
    return number + 1, done | whole_in(run, number, plans_of(plan))


def _worst(drifts: list[list[float] | None]) -> list[float] | None:
    """The largest drift of each rank in any launch."""
    known = [launch for launch in drifts if launch]
    return [max(ranks, key=abs) for ranks in zip(*known, strict=False)] or None


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
