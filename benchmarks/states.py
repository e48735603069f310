"""Whether the states of a machine are found, and whether the figures of rows in each hold.

    .venv/bin/python benchmarks/states.py [--runs N] [--traces DIR] [--processes N]

Compares three ways to get the level of a row in a state, on machines of known states: the slices in
that state alone; all slices, with the round trip as a control variate; and the slices in the state
with the round trip as a control variate. --traces: also on core-to-core-1.csv.gz and
core-to-core-2.csv.gz there, medians of the round trip in each millisecond. What is promised of the
first is checked by truth.py (--only states).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np

from claims import Claim, Score
from halftrip import __version__
from halftrip.analysis.flags.flag import Evidence, evidence, typical_rtts
from halftrip.analysis.states import run_states
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration, EndSettings
from halftrip.results.reading import FORMAT
from halftrip.results.records import Header, Measurement, RunEnd
from halftrip.results.run import Run
from halftrip.stats.adjustment import adjusted
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.slices import slice_times
from machines import Line, Machine, SeenRun, jumping, recorded, seen, wandering

# Rows that follow the round trip as shared memory and an MPI do, and one that does not.
SHM, MPI, PIPE = Line(10.0, 0.5), Line(40.0, 1.5), Line(40_000.0, 0.0)
LINES = (SHM, MPI, PIPE)
_NOISE = 0.02
# Samples of a slice, which vary by _NOISE; and how many round trips one holds.
_SAMPLES, _ITERATIONS = 8, 1000
_END = EndSettings(wait="spin")

TWO = (90.0, 280.0)
JUMPING = tuple(jumping(TWO, dwell) for dwell in (0.02, 0.1, 1.0, 10.0, 60.0, 300.0))
CLOSE = jumping((460.0, 508.0), 2.0, spread=0.01)
THREE = tuple(jumping((90.0, 180.0, 300.0), dwell) for dwell in (0.1, 1.0, 10.0))
ONE_STATE = (
    jumping((90.0,), 1.0),
    *(wandering(65.0, 180.0, seconds) for seconds in (0.1, 1.0, 5.0, 20.0, 60.0)),
)


def traces(folder: Path) -> list[Machine]:
    """The recorded machines."""
    return [
        recorded(folder / "core-to-core-1.csv.gz", [(130, 100, 250), (790, 600, 900)]),
        recorded(folder / "core-to-core-2.csv.gz", [(460, 400, 484), (508, 485, 600)]),
    ]


def run_of(found: SeenRun, seed: int, paths: Sequence[str] = ()) -> Run:
    """A run whose first rows have these slices, of these `paths` (default: of one); the round trips
    of all others are those of one more row, so that the run has seen as much of the machine."""
    random = np.random.default_rng([seed, 1])
    measurements = []
    own = [probe for row in found.rows for pair in row.probes for probe in pair]
    left = iter(_others(found.probes, own))
    for place, row in enumerate(found.rows):
        for number, (launch, probes, median) in enumerate(
            zip(row.launches, row.probes, row.medians, strict=True)
        ):
            noise = np.exp(_NOISE * random.normal(size=_SAMPLES))
            times = np.rint(2 * _ITERATIONS * median * noise).astype(np.int64)
            path = paths[place] if paths else "shm"
            measurements.append(_measurement(place, number, launch, times, probes, path))
    one = np.full(1, 2 * _ITERATIONS * 1000, dtype=np.int64)
    measurements += [
        _measurement(len(found.rows), number, 0, one, probes)
        for number, probes in enumerate(zip(left, left, strict=True))
    ]
    header = Header(version=FORMAT, halftrip=__version__, started="", command=[], plan={})
    return Run(header=header, measurements=tuple(measurements), end=RunEnd(reason=None))


def _others(probes: Sequence[float], own: Sequence[float]) -> list[float]:
    known = set(own)
    return [probe for probe in probes if probe not in known]


def _measurement(
    place: int,
    number: int,
    launch: int,
    times: np.ndarray,
    probes: tuple[float, float],
    path: str = "shm",
) -> Measurement:
    configuration = Configuration(transport=path, size=8 << place, initiator=_END, responder=_END)
    return Measurement(
        configuration=configuration,
        slice=number,
        launch=launch,
        at=None,
        first=None,
        warm_up=None,
        iterations=_ITERATIONS,
        stopped="time",
        blocks=[Block(times=times, core_to_core_rtt=RoundTrips(*probes))],
    )


def judged(run: Run, rows: int) -> list[Evidence]:
    """The evidence of its first rows."""
    states, typical = run_states(run), typical_rtts(run)
    first = [*run.by_configuration.items()][:rows]
    return [
        evidence(run, each, found, typical, states, slice_times(found)) for each, found in first
    ]


class Setting(NamedTuple):
    """Of what a run consists, and by how much its launches differ."""

    launches: int = 10
    slices: int = 2
    spread: float = 0.0

    def see(self, machine: Machine, seed: int, lines: Sequence[Line] = LINES) -> SeenRun:
        return seen(
            machine,
            lines,
            seed,
            launches=self.launches,
            slices=self.slices,
            launch_spread=self.spread,
            noise=_NOISE,
        )

    @property
    def words(self) -> str:
        launches = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        return f"{launches}, spread {self.spread:.0%}"


def _nearest(machine: Machine, value: float) -> int:
    return min(
        range(len(machine.levels)), key=lambda n: abs(math.log(machine.levels[n][0] / value))
    )


def covers(machine: Machine, setting: Setting, seed: int) -> Score:
    """How many intervals of rows in a state contain the true level there: for whoever repeats the
    run, or of a single launch, in this launch. Where a run has seen one state only, rows are in
    that."""
    found = setting.see(machine, seed, (SHM, MPI))
    run = run_of(found, seed)
    hits = of = 0
    for row, line, slices in zip(judged(run, 2), (SHM, MPI), found.rows, strict=True):
        for each in (row, *row.others):
            if each.state is not None:
                value = each.state.value
            elif len(run_states(run).hosts[0].levels) == 1:
                value = run_states(run).hosts[0].levels[0].middle
            else:
                # Of both together nothing is promised.
                continue
            level = _nearest(machine, value)
            # A recorded level wanders: it is what was seen of it.
            rtt = value if "recorded" in machine.name else machine.levels[level][0]
            factor = slices.factors[level] if setting.launches == 1 else 1.0
            if not math.isnan(each.summary.low):
                hits += each.summary.low <= line.at(rtt) * factor <= each.summary.high
                of += 1
    return Score(hits, of)


def told_by_state(machine: Machine, setting: Setting, seed: int) -> Score:
    """How many rows that go with the state are told by it, of those of runs that have seen all of
    them for a tenth of the time."""
    run = run_of(setting.see(machine, seed, (SHM, MPI)), seed)
    levels = run_states(run).hosts[0].levels
    if len(levels) < len(machine.levels) or min(level.share for level in levels) < 0.1:
        return Score(0, 0)
    return Score(sum(row.state is not None for row in judged(run, 2)), 2)


def split(machine: Machine, setting: Setting, seed: int) -> Score:
    """Whether a row is split that does not go with the state."""
    (row,) = judged(run_of(setting.see(machine, seed, (PIPE,)), seed), 1)
    return Score(int(bool(row.others)), 1)


def several_seen(machine: Machine, setting: Setting, seed: int) -> Score:
    """Whether a machine of one state seems to have several."""
    return Score(int(bool(run_states(run_of(setting.see(machine, seed), seed)).hosts[0].states)), 1)


def states() -> list[Claim]:
    """What is promised of them. An interval ends at the second launch from each end of ten, which
    covers 97.9 %, and of six or seven at the last, which covers 96.9 to 98.4 %."""
    claims = []
    for machine in (*JUMPING, *THREE, CLOSE):
        for setting in (
            Setting(),
            Setting(spread=0.05),
            Setting(spread=0.4),
            Setting(launches=1, slices=20, spread=0.4),
        ):
            trial = partial(covers, machine, setting)
            where = f"{machine.name}; {setting.words}"
            claims.append(Claim("states", "interval in a state", where, trial, 0.93, 0.99))
    for machine in (*JUMPING[1:4], *THREE[1:]):
        for setting in (Setting(spread=0.05), Setting(launches=1, slices=20)):
            trial = partial(told_by_state, machine, setting)
            where = f"{machine.name}; {setting.words}"
            claims.append(Claim("states", "rows told by state", where, trial, 0.85, 1.0))
    for machine in (JUMPING[1], JUMPING[3], THREE[1]):
        for setting in (Setting(), Setting(spread=0.4), Setting(launches=1, slices=20)):
            trial = partial(split, machine, setting)
            where = f"{machine.name}; {setting.words}"
            claims.append(Claim("states", "a row that does not care, split", where, trial, 0, 0.05))
    for machine in ONE_STATE:
        trial = partial(several_seen, machine, Setting())
        claims.append(Claim("states", "one state, split", machine.name, trial, 0.0, 0.05))
    return claims


# Which way is best.


class _Way(NamedTuple):
    hits: int
    width: float


def _ways(machine: Machine, setting: Setting, seed: int) -> list[list[_Way | None]]:
    """Of both rows in each level that a run has seen: of each of the three ways, whether its
    interval covers, and its wider side as a share; None where it has none."""
    run = run_of(setting.see(machine, seed, (SHM, MPI)), seed)
    (host,) = run_states(run).hosts
    found = []
    for row, line in zip(judged(run, 2), (SHM, MPI), strict=True):
        whole = _all_times(row, run)
        for level in host.levels:
            own = next(
                (e for e in (row, *row.others) if e.state and e.state.level == level),
                row if len(host.levels) == 1 else None,
            )
            true = line.at(level.middle)
            alone = None if own is None else own.summary
            both = None if own is None else _controlled(own.times, level.middle)
            found.append(
                [
                    None if alone is None else _way(alone.latency, alone.low, alone.high, true),
                    _way_of(_controlled(whole, level.middle), true),
                    _way_of(both, true),
                ]
            )
    return found


def _all_times(row: Evidence, run: Run) -> ConfigurationTimes:
    from halftrip.analysis.summaries import configuration_times

    return configuration_times(run.by_configuration[row.configuration])


def _controlled(times: ConfigurationTimes, rtt: float) -> tuple[float, float, float] | None:
    repeats = times.repeats
    found = adjusted([each for each, _ in repeats], [time for _, time in repeats], rtt)
    return None if found is None else found[:3]


def _way_of(found: tuple[float, float, float] | None, true: float) -> _Way | None:
    return None if found is None else _way(*found, true)


def _way(value: float, low: float, high: float, true: float) -> _Way | None:
    if math.isnan(low):
        return None
    return _Way(int(low <= true <= high), max(high - value, value - low) / value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    known = traces(arguments.traces) if arguments.traces else []
    print("Covered, and the median wider side of the interval; -: no interval in most cases.\n")
    print("| machine | launches | state alone | control variate | both |\n|---|---|---|---|---|")
    with Pool(arguments.processes) as pool:
        for machine in (*known, *JUMPING, *THREE, CLOSE, *ONE_STATE):
            for setting in (Setting(), Setting(spread=0.05), Setting(spread=0.4)):
                made = pool.map(partial(_ways, machine, setting), range(1, arguments.runs + 1))
                every = [each for of_run in made for each in of_run]
                cells = [_cell([each[way] for each in every]) for way in range(3)]
                print(f"| {machine.name} | {setting.words} | {' | '.join(cells)} |", flush=True)


def _cell(found: Sequence[_Way | None]) -> str:
    known = [each for each in found if each is not None]
    if not known:
        return "-"
    width = float(np.median([math.inf if each is None else each.width for each in found]))
    covered = sum(each.hits for each in known) / len(known)
    said = "-" if math.isinf(width) else f"± {width:.1%}"
    return f"{covered:.1%}, {said}"


if __name__ == "__main__":
    main()
