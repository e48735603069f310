"""Several launches of one plan, each of fresh processes, in one file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from halftrip.analysis.summaries import case_times, summarize_times
from halftrip.job.supervisor import View
from halftrip.plan.plan import FEWEST_UNTIL_CI, Plan
from halftrip.results.records import End
from halftrip.results.run_file import RunFile, load
from halftrip.stats.summary import relative_width

# How the line of a skip begins.
_SKIP = b'{"record":"skip"'


class LaunchRecords:
    """What one launch has to say, into the file of all of them: its end is kept back, since others
    may follow, and nothing is said twice."""

    def __init__(self, run_file: RunFile, said: set[bytes]) -> None:
        self.end = End(reason=None)
        self._run_file = run_file
        self._said = said

    def append(self, line: bytes, last: bool = False) -> None:
        if last:
            self.end = msgspec.json.decode(line, type=End)
            return
        # Nothing else is the same twice; and measurements are too long to be remembered.
        if line.startswith(_SKIP):
            if line in self._said:
                return
            self._said.add(line)
        self._run_file.append(line)


class LaunchView:
    """Progress, with the number of the launch; and what else is printed, once."""

    def __init__(self, view: View, launch: int, launches: int, quoted: set[str]) -> None:
        self.visible = view.visible
        self._view = view
        self._quoted = quoted
        self._before = f"launch {launch + 1}/{launches} " if launches > 1 else ""

    def update(self, done: int, total: int, what: str) -> None:
        self._view.update(done, total, self._before + what)

    def quote(self, who: str, lines: list[str]) -> None:
        new = [line for line in lines if line not in self._quoted]
        self._quoted.update(new)
        if new:
            self._view.quote(self._before + who, new)


def launch_all(
    plan: Plan,
    run_file: RunFile,
    view: View,
    launch: Callable[[int, LaunchRecords, View], None],
) -> None:
    """Calls `launch(number, records, view)` as often as the plan asks for, and ends the file."""
    ends: list[End] = []
    said: set[bytes] = set()
    quoted: set[str] = set()
    most = plan.max_launches if plan.until_ci else plan.launches
    while not ends or (len(ends) < most and not _content(plan, len(ends), run_file)):
        records = LaunchRecords(run_file, said)
        launch(len(ends), records, LaunchView(view, len(ends), most, quoted))
        ends.append(records.end)
    run_file.end(
        End(
            reason=next((end.reason for end in ends if end.reason is not None), None),
            seconds=_sum([end.seconds for end in ends]),
            timed=_sum([end.timed for end in ends]),
            logged=_sum([end.logged for end in ends]),
            clock_drift=_worst([end.clock_drift for end in ends]),
        )
    )


def _content(plan: Plan, launches: int, run_file: RunFile) -> bool:
    """Whether --until-ci has what it waits for: every row's interval is as narrow as was asked."""
    if not plan.until_ci or launches < max(plan.launches, FEWEST_UNTIL_CI):
        return False
    target = plan.ci
    run = load(run_file.path)
    if target is None or any(case not in run.by_case for case in {f.case for f in run.failures}):
        return target is None
    known = [case_times(measurements) for measurements in run.by_case.values()]
    return all(
        len({m.launch for m, t in zip(those.measurements, those.steady, strict=True) if t.size})
        >= FEWEST_UNTIL_CI
        and relative_width(summarize_times(those)) <= target
        for those in known
    )


def _worst(drifts: list[list[float] | None]) -> list[float] | None:
    """By rank, the drift of the launch in which it was the largest."""
    known = [launch for launch in drifts if launch]
    return [max(ranks, key=abs) for ranks in zip(*known, strict=False)] or None


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
