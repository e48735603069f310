"""Several launches of one plan, each of fresh processes, in one file."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from halftrip.errors import HalftripError, Interrupted, Stopped, UsageError
from halftrip.job.deaths import HostsLost
from halftrip.job.intervals import Intervals
from halftrip.job.limit import TimeLimit
from halftrip.job.printed import first_sentence
from halftrip.job.resumption import Due, Resumption, finished_in, rounds
from halftrip.job.view import RunView
from halftrip.measure.progress import Earlier
from halftrip.plan.launches import plan_of_launch
from halftrip.plan.plan import FEWEST_UNTIL_CI, Plan
from halftrip.plan.vary import label
from halftrip.results.configuration import Configuration
from halftrip.results.records import (
    Launch,
    LaunchFailure,
    LostHost,
    Notice,
    RunEnd,
)
from halftrip.results.reported import Variant, variant_text
from halftrip.results.run_file import RunFile, encode, load
from halftrip.transports.refusals import plans_of

# Of what is printed in a launch, so much is kept.
_MOST_LINES, _LONGEST_LINE = 50, 300
# How the line of a skip begins.
_SKIP = b'{"record":"skip"'


class LaunchRecords:
    """Writes the records of one launch into the file of all launches. The launch's `end` is kept
    back, since others may follow, and a skip is written only once."""

    def __init__(
        self, run_file: RunFile, skips: set[bytes], intervals: Intervals, number: int
    ) -> None:
        self.end = RunEnd(reason=None)
        self._number = number
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

    def quote(self, who: str, lines: Sequence[str]) -> None:
        """Writes what a program and its ranks have printed, at least a line, as far as there is
        room."""
        kept = [line[:_LONGEST_LINE] for line in lines[:_MOST_LINES]]
        # Its process is another in each launch.
        name = who.partition(" (")[0]
        sentence = (first_sentence(kept) or "")[:_LONGEST_LINE]
        notice = Notice(
            rank=0,
            host=socket.gethostname(),
            text=f"{name} or its ranks printed: {sentence}",
            kind="printed",
            launch=self._number,
            lines=kept,
        )
        self._run_file.append(encode(notice))

    def _is_new(self, line: bytes) -> bool:
        """Whether it is not a skip that is in the file already."""
        if not line.startswith(_SKIP):
            return True
        is_new = line not in self._skips
        self._skips.add(line)
        return is_new


class LaunchView:
    """Adds the `name` of the launch to all that is shown. So many launches will be taken `later`,
    as far as that is known."""

    def __init__(self, view: RunView, name: str, later: int = 0) -> None:
        self.visible = view.visible
        self.takes_warnings = view.takes_warnings
        self.paces = view.paces
        self._view = view
        self._name = name
        self._later = later

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        shown = f"{self._name} · {what}" if self._name else what
        self._view.update(done, total, shown, self._later)

    def before_slice(self, setting: Configuration) -> None:
        self._view.before_slice(setting)

    def warn(self, lines: list[str]) -> None:
        self._view.warn(lines)


class LaunchTask(NamedTuple):
    """A launch to be taken: its number, what is due in it, where its records go, who shows its
    progress, until when it has to be over, and what launches before it have found."""

    number: int
    due: Due
    records: LaunchRecords
    view: RunView
    limit: TimeLimit | None
    earlier: Sequence[Earlier] = ()


# Starts the ranks of a launch, and has them measure it.
TakeLaunch = Callable[[LaunchTask], None]


def launch_all(
    plan: Plan,
    run_file: RunFile,
    view: RunView,
    launch: TakeLaunch,
    left: Resumption,
    limit: TimeLimit | None = None,
) -> None:
    """Calls `launch` for every launch that is left, with its part of the run's `limit`, and ends
    the file. One that raises HostsLost is followed by one that
    measures what it lacks, and the run is not complete.

    Where the plan varies something, a launch that raises another error than Stopped is recorded as
    failed, and the others go on; a variant that has failed in its first launch gets no other. If
    all of them fail by a UsageError, that is raised.
    """
    _Launches(plan, run_file, view, launch, left, limit).run()


class _Launches:
    """All launches that are left of a run."""

    def __init__(
        self,
        plan: Plan,
        run_file: RunFile,
        view: RunView,
        launch: TakeLaunch,
        left: Resumption,
        limit: TimeLimit | None,
    ) -> None:
        self._plan = plan
        self._run_file = run_file
        self._view = view
        self._launch = launch
        self._left = left
        self._limit = limit
        self._number = left.first
        self._ends: list[RunEnd] = []
        self._durations: list[float] = []
        self._began: float | None = None
        self._lost: list[str] = []
        # The variants that have been measured in a launch, and why others have not.
        self._measured: set[Variant] = set()
        self._failed: dict[Variant, HalftripError] = {}
        self._skips: set[bytes] = set()
        self._intervals = Intervals(plan)
        self._variants = left.variants_of(plan)
        self._most = plan.max_launches if plan.until_ci else left.launches
        self._fewest = self._most
        if plan.until_ci:
            self._fewest = min(max(plan.launches, FEWEST_UNTIL_CI), self._most)
        self._short: str | None = None
        # The variants of which a launch has measured everything.
        self._whole = set(left.whole)

    def run(self) -> None:
        for over, of_round in enumerate(rounds(self._plan, self._left), 1):
            may_go_on = self._round(of_round, over - 1)
            if not may_go_on or over >= self._most or self._intervals.are_narrow(over):
                break
        self._end()

    def _round(self, of_round: Sequence[Due], over: int) -> bool:
        """Takes the launches of a round, after so many others. Returns whether there may be
        another."""
        alive = [due for due in of_round if due.variant not in self._failed]
        for place, due in enumerate(alive):
            # With this one, in this round and later ones.
            others = len(self._variants) - len(self._failed)
            here = len(alive) - place
            most = here + (self._most - over - 1) * others
            fewest = max(here + (self._fewest - over - 1) * others, 1)
            if self._limit is not None and not self._has_room(self._limit):
                taken = len(self._ends)
                if over < self._fewest and not self._needs_no_more:
                    of = f"after {taken} of {taken + fewest} launches"
                    self._short = f"{self._limit.error()} {of}"
                return False
            if not self._take(due, most, fewest):
                return False
        return len(self._failed) < len(self._variants)

    def _has_room(self, limit: TimeLimit) -> bool:
        """Whether there is time for another launch; there always is for the first. One that has
        to follow is begun if any has been as short."""
        longest = max if self._needs_no_more else min
        return not self._durations or limit.has_room(longest(self._durations))

    @property
    def _needs_no_more(self) -> bool:
        """Whether all rows have been measured, and other launches only make intervals narrower:
        where slices are dealt, each launch measures all rows."""
        needed = set(self._variants) - self._failed.keys()
        return self._plan.dealt and needed <= self._whole

    def _take(self, due: Due, most: int, fewest: int) -> bool:
        """Takes a launch, after which at least `fewest` and at most `most` are left, this one
        included. Returns whether another one may follow."""
        of_launch = None if self._limit is None else self._limit.launch(fewest)
        earlier: Sequence[Earlier] = ()
        if self._plan.dealt:
            due = due._replace(done=due.done | self._intervals.narrow())
            earlier = self._intervals.earlier(due)
        total = self._number + most
        count = f"launch {self._number + 1} of {total}" if total > 1 else ""
        name = " · ".join(filter(None, (count, variant_text(due.variant))))
        while True:
            records = LaunchRecords(self._run_file, self._skips, self._intervals, self._number)
            shown = LaunchView(self._view, name, fewest - 1)
            if due.variant:
                begun = Launch(number=self._number, round=due.round, variant=due.variant)
                self._run_file.append(encode(begun))
            began = time.monotonic()
            self._began = self._began or began
            try:
                self._launch(LaunchTask(self._number, due, records, shown, of_launch, earlier))
                break
            except HostsLost as error:
                due = self._lose(due, error)
            except Stopped as error:
                if self._needs_no_more and error.args == _limit_error(self._limit):
                    # The end of the time came sooner than the launches before it had told.
                    return False
                raise
            except HalftripError as error:
                if not due.variant:
                    raise
                self._fail(due, error, is_last=most == 1)
                return True
        self._number += 1
        self._durations.append(time.monotonic() - began)
        return self._end_launch(due, records)

    def _end_launch(self, due: Due, records: LaunchRecords) -> bool:
        """Notes how a launch has ended. Returns whether it has measured everything."""
        self._measured.add(due.variant)
        whole = records.end.reason is None
        if self._needs_no_more:
            # A launch that the end of the time cuts short only adds to those before it.
            records.end = msgspec.structs.replace(records.end, reason=None)
        if whole:
            self._whole.add(due.variant)
        self._ends.append(records.end)
        return whole

    def _lose(self, due: Due, error: HostsLost) -> Due:
        """Records that hosts were lost; the launch that follows."""
        names = ", ".join(sorted(error.hosts))
        self._view.warn([f"{error}; going on without {names}"])
        for host, ranks in error.hosts.items():
            gone = LostHost(host=host, ranks=list(ranks), reason=str(error), launch=self._number)
            self._run_file.append(encode(gone))
        self._lost.append(f"without {names}: {error}")
        run = load(self._run_file.path)
        if not due.variant and all(each.launch != self._number for each in run.environments):
            # It had not begun.
            return due
        if self._plan.refine:
            unknown = "which sizes a run with refine lacks is not known"
            raise Interrupted(f"{error}; {unknown}") from None
        whole = finished_in(run, [self._number], plans_of(plan_of_launch(self._plan)))
        self._number += 1
        return due._replace(done=due.done | whole)

    def _fail(self, due: Due, error: HalftripError, is_last: bool) -> None:
        """Records that a launch has failed; the others go on."""
        of = ", ".join(f"{label(name)}={value}" for name, value in due.variant)
        failure = LaunchFailure(launch=self._number, variant=due.variant, reason=str(error))
        self._run_file.append(encode(failure))
        others = "" if is_last else "; going on with the others"
        self._view.warn([f"launch {self._number + 1} of {of}: {error}{others}"])
        self._number += 1
        if due.variant not in self._measured:
            self._failed[due.variant] = error

    def _end(self) -> None:
        errors = self._failed.values()
        is_mistake = bool(errors) and all(isinstance(error, UsageError) for error in errors)
        if is_mistake and not self._ends and self._left.end is None:
            # Nothing of what was asked for is possible.
            said = [f"{variant_text(variant)}: {error}" for variant, error in self._failed.items()]
            raise UsageError("; ".join(said))
        ends = [end for end in (self._left.end, *self._ends) if end is not None]
        reason = self._ends[-1].reason if self._ends else None
        self._run_file.end(
            RunEnd(
                reason=reason or self._short or "; ".join(self._lost) or None,
                seconds=self._seconds(ends),
                timed=_sum([end.timed for end in ends]),
                logged=_sum([end.logged for end in ends]),
                clock_drift=_worst([end.clock_drift for end in ends]),
            )
        )

    def _seconds(self, ends: list[RunEnd]) -> float | None:
        """How long the launches took, s; of several in this command, with their starts."""
        measured = _sum([end.seconds for end in ends])
        if len(self._ends) < 2 or measured is None or self._began is None:
            return measured
        before = self._left.end.seconds if self._left.end is not None else None
        return max(measured, (before or 0.0) + time.monotonic() - self._began)


def _limit_error(limit: TimeLimit | None) -> tuple[str, ...] | None:
    """The arguments of the error with which a run is ended whose time is over."""
    return None if limit is None else limit.error().args


def _worst(drifts: list[list[float] | None]) -> list[float] | None:
    """The largest drift of each rank in any launch."""
    known = [launch for launch in drifts if launch]
    return [max(ranks, key=abs) for ranks in zip(*known, strict=False)] or None


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
