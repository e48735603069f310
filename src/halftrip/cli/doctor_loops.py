"""``halftrip doctor --loops``: what halftrip adds to a loop that somebody writes by hand, here."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from rich.console import Console

from halftrip import api
from halftrip.analysis.loop_ratios import LoopRatio, LoopRow, LoopTimes, loop_ratio
from halftrip.cli.output import in_job, put_view
from halftrip.control.network import host_identity
from halftrip.errors import HalftripError, Interrupted, Unavailable, UsageError
from halftrip.job.bare_loops import (
    BETWEEN_HOSTS,
    LARGEST_DATAGRAM,
    PATHS,
    WITHOUT_STREAM,
    BareLoops,
    BareTimes,
    OtherHost,
    no_idle_core,
)
from halftrip.job.launchers.ssh import SshLauncher, is_this_host
from halftrip.job.signals import catching, interrupt
from halftrip.job.view import NoView, RunView
from halftrip.plan.layers import make_plan, python_layer
from halftrip.report.progress import ProgressLine
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import STREAM
from halftrip.results.records import Measurement
from halftrip.telemetry import topology
from halftrip.telemetry.load import Load, look
from halftrip.views.doctor import loops

# By size, the window of a stream of so large messages: what takes milliseconds needs no more.
WINDOWS = {8: 16, 32768: 16, 4 << 20: 2}
# So many fresh processes of either have so many slices each of every row: the 95 % interval of 12
# ratios leaves out the two lowest and the two highest.
LAUNCHES = 4
SLICES = 3
# A slice of either, without its warm-up, s.
SECONDS = 0.01
# On a busy machine there are fewer launches, so that all of them take no longer than this, s.
LONGEST = 60.0
# Of fewer samples no 99th percentile is told.
_FEWEST_FOR_P99 = 200


def examine_loops(transports: str | None, format_: str, hosts: str | None, ssh: str | None) -> int:
    """Prints the ratios of all paths that are here, or of those that `transports` names, in a
    format, and returns the exit status: 1 if halftrip adds something to one of them, or none is
    known. With `hosts`, two of them, the paths are those between these. Raises UsageError for a
    path that has no bare loop, for hosts that cannot be, and in a job; and what ended the
    measurement early, after printing what it had."""
    if in_job():
        raise UsageError("--loops: starts ranks of its own; call it outside of a job")
    between = None if hosts is None else _between(hosts, ssh)
    possible = PATHS if between is None else BETWEEN_HOSTS
    names = possible if transports is None else _named(transports, possible)
    with ProgressLine(Console(stderr=True)) as line:
        found = compare(names, between=between, view=line)
    ended = found.ended
    if ended is None or found.ratios:
        said = "" if ended is None else str(ended)
        put_view(loops(found.ratios, found.missing, found.load, said), format_)
    if ended is not None:
        raise ended
    return int(not found.ratios or any(each.word == "slower" for each in found.ratios))


def _named(transports: str, possible: Sequence[str]) -> tuple[str, ...]:
    names = dict.fromkeys(filter(None, map(str.strip, transports.split(","))))
    known = ", ".join(possible)
    if not names:
        raise UsageError(f"-t: names no path; allowed: {known}")
    for name in names:
        if name not in possible:
            between = "" if possible is PATHS else " between hosts"
            raise UsageError(f"-t: {name!r} has no bare loop{between}; allowed: {known}")
    return tuple(names)


class Between(NamedTuple):
    """Two hosts, of which the first is this one, as plans have them, and the second for the bare
    loops."""

    keys: dict[str, str]
    other: OtherHost


def _between(hosts: str, ssh: str | None) -> Between:
    keys = {"hosts": hosts} | ({} if ssh is None else {"ssh": ssh})
    plan = make_plan(python_layer(keys))
    launcher = SshLauncher(msgspec.structs.replace(plan, ranks=2))
    names = list(dict.fromkeys(launcher.hosts))
    if len(names) != 2 or not is_this_host(names[0]):
        raise UsageError(f"--hosts: {hosts}: two are compared, of which this one is the first")
    return Between(keys, OtherHost(names[1], launcher.ssh))


class Compared(NamedTuple):
    """The ratios of paths, and the reasons of those that are not here; who had the cores meanwhile,
    and what ended the measurement early."""

    ratios: list[LoopRatio]
    missing: dict[str, str]
    load: str = ""
    ended: Interrupted | None = None


def compare(
    paths: Sequence[str],
    launches: int = LAUNCHES,
    slices: int = SLICES,
    seconds: float = SECONDS,
    between: Between | None = None,
    view: RunView | None = None,
) -> Compared:
    """Compares these paths. Before or after each slice of halftrip the bare loop of its row runs
    for as long, on the same two cores. There are fewer launches than asked for where more would
    take longer than a minute. `view` shows the progress. Raises HalftripError if the ranks fail; a
    signal, or a death, leaves what was measured before."""
    missing: dict[str, str] = {}
    turns: dict[LoopRow, list[LoopTimes]] = {}
    looks: list[Load] = []
    ended = None
    known: dict[str, str] = {}
    try:
        with catching(interrupt):
            cores = _cores() if between is None else _cores_between(between)
            other, here = None, cores
            if between is not None:
                other, here = between.other, cores[:1]
            began = time.monotonic()
            for launch in range(launches):
                gone = time.monotonic() - began
                if launch and gone + gone / launch > LONGEST:
                    break
                known = dict(missing)
                looks.append(look(cores=here))
                beside = _Beside(cores, seconds, missing, view or NoView(), (launch, launches))
                with no_idle_core(cores, other), beside:
                    beside.start([path for path in paths if path not in missing], other)
                    if not beside.paths:
                        break
                    keys = _plan(beside.paths, slices, seconds)
                    keys |= {"cores": ",".join(map(str, cores))}
                    keys |= {} if between is None else between.keys
                    _measure(beside, keys, missing, turns)
            looks.append(look(cores=here))
    except Interrupted as error:
        # A signal of the terminal ends bare loops, too, which are then no paths that are not here.
        ended, missing = error, known
    rows = sorted(turns, key=lambda row: (list(paths).index(row.path), *row[1:]))
    found = [row for row in rows if len(turns[row]) > 1 and row.path not in missing]
    ratios = [loop_ratio(row, turns[row]) for row in found]
    return Compared(ratios, missing, _load(looks), ended)


def _load(looks: Sequence[Load]) -> str:
    """Who had the cores when nothing of halftrip's ran; empty where nobody had much of one."""
    used = [(each, lines) for each in looks if (lines := each.lines(each.allowed))]
    if not used:
        return ""
    worst, lines = max(used, key=lambda each: sum(core.busy for core in each[0].cores))
    said = f"in {len(used)} of {len(looks)} looks between launches others had these cores"
    return f"{said}: {'; '.join(lines)}; {worst.advice(worst.allowed)}"


def _cores() -> list[int]:
    """The two cores that a run takes."""
    places = topology.place([topology.view(host_identity())] * 2)
    cores = [place.core for place in places if place.core is not None]
    if len(set(cores)) < 2:
        raise Unavailable("two ends need two cores: on one, a loop measures the scheduler")
    return cores


def _cores_between(between: Between) -> list[int]:
    """The core that a rank on each host takes."""
    run, ended = _run({**between.keys, "transport": "tcp", "sizes": "8", "iterations": 1}, NoView())
    if ended is not None:
        raise ended
    cores = {each.rank: each.core for each in run.environments}
    return [core for _, core in sorted(cores.items()) if core is not None]


class _Beside(NoView):
    """Runs the bare loops between the slices of a launch of halftrip, each before or after that of
    its row, in turn: what comes first may find another machine than what comes second. `launch`:
    its number, and how many there are."""

    paces = True

    def __init__(
        self,
        cores: Sequence[int],
        seconds: float,
        missing: dict[str, str],
        view: RunView,
        launch: tuple[int, int],
    ) -> None:
        self.visible = view.visible
        self._view = view
        self._launch, self._launches = launch
        self.timed: dict[LoopRow, list[BareTimes]] = {}
        self._cores = cores
        self._seconds = seconds
        self._missing = missing
        self._loops: dict[str, BareLoops] = {}
        self._seen: Counter[LoopRow] = Counter()
        # The row whose loop is to run after the slice that is being measured.
        self._due: LoopRow | None = None

    def __enter__(self) -> _Beside:
        return self

    def __exit__(self, *raised: object) -> None:
        for each in self._loops.values():
            each.close()

    @property
    def paths(self) -> list[str]:
        return [path for path in self._loops if path not in self._missing]

    def start(self, paths: Sequence[str], other: OtherHost | None) -> None:
        """Starts the loops of these paths, where there are any."""
        for path in paths:
            try:
                self._loops[path] = BareLoops(path, self._cores, other)
            except HalftripError as error:
                self._missing[path] = str(error)
        for path in self.paths:
            self._try(path, BareLoops.wait)

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        name = f"launch {self._launch + 1} of {self._launches}"
        self._view.update(done, total, f"{name} · {what}", self._launches - self._launch - 1)

    def before_slice(self, setting: Configuration) -> None:
        self.finish()
        row = LoopRow(setting.transport, setting.pattern, setting.size)
        if (self._seen[row] + self._launch) % 2:
            self._due = row
        else:
            self._time(row)
        self._seen[row] += 1

    def finish(self) -> None:
        """Runs the loop that is due after the last slice."""
        due, self._due = self._due, None
        if due is not None:
            self._time(due)

    def _time(self, row: LoopRow) -> None:
        def work(loops: BareLoops) -> None:
            window = WINDOWS[row.size] if row.pattern == STREAM else 0
            timed = loops.time(window, row.size, self._seconds)
            self.timed.setdefault(row, []).append(timed)

        if row.path not in self._missing:
            self._try(row.path, work)

    def _try(self, path: str, work: Callable[[BareLoops], None]) -> None:
        try:
            work(self._loops[path])
        except Unavailable as error:
            self._missing[path] = str(error)
            # One that hangs may poll on the cores of the others.
            self._loops[path].close()


def _measure(
    beside: _Beside,
    keys: dict[str, Any],
    missing: dict[str, str],
    turns: dict[LoopRow, list[LoopTimes]],
) -> None:
    """Adds the turns of one launch of the plan with these keys, or of what was measured of it.
    Raises what ended it early."""
    run, ended = _run(keys, beside)
    if ended is None:
        beside.finish()
    for skip in run.skips:
        missing.setdefault(skip.transport, skip.reason)
    for configuration, measurements in run.by_configuration.items():
        row = LoopRow(configuration.transport, configuration.pattern, configuration.size)
        bare = beside.timed.get(row, [])
        # A slice that failed has no measurement, and ends the row.
        of_row = [_turn(bare[m.slice], m) for m in measurements if m.slice < len(bare)]
        turns.setdefault(row, []).extend(of_row)
    if ended is not None:
        raise ended


def _run(keys: dict[str, Any], view: RunView) -> tuple[api.Run, Interrupted | None]:
    """The run, and what ended it early. Raises that where it has not begun."""
    plan = make_plan(python_layer(keys))
    with tempfile.TemporaryDirectory(prefix="halftrip-") as directory:
        path, ended = Path(directory) / "run.jsonl", None
        try:
            api.measure(plan, path, view, sys.argv)
        except Interrupted as error:
            if not path.exists():
                raise
            ended = error
        return api.load(path), ended


def _turn(bare: BareTimes, measurement: Measurement) -> LoopTimes:
    times = np.concatenate(measurement.one_way_blocks)
    # Of batches, there is no percentile of messages.
    enough = min(bare.samples, times.size) >= _FEWEST_FOR_P99 and measurement.iterations == 1
    p99 = (bare.p99, float(np.quantile(times, 0.99))) if enough else None
    return LoopTimes(bare.median, float(np.median(times)), p99)


def _plan(paths: Sequence[str], slices: int, seconds: float) -> dict[str, Any]:
    """What the bare loops do, as the keys of a plan: others are as users get them."""
    streams = [path for path in paths if path not in WITHOUT_STREAM]
    parts: list[dict[str, Any]] = [
        {"transport": streams, "pattern": STREAM, "sizes": str(size), "window": window}
        for size, window in WINDOWS.items()
        if streams
    ]
    for path in paths:
        sizes = [size for size in WINDOWS if path != "udp" or size <= LARGEST_DATAGRAM]
        parts.append({"transport": [path], "sizes": ",".join(map(str, sizes))})
    return {
        "part": parts,
        # A bare loop has one buffer for each direction.
        "places": "same",
        "slices": slices,
        # Each is a run of its own.
        "launches": 1,
        "retest": 0,
        "ci": "none",
        "time": f"{slices * seconds:g}s",
    }
