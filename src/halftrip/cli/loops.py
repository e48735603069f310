"""``halftrip doctor --loops``: what halftrip adds to a loop that somebody writes by hand, here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from halftrip import api
from halftrip.analysis.loop_ratios import LoopRatio, Row, Turn, loop_ratio
from halftrip.analysis.summaries import summarize_configuration
from halftrip.cli.output import screen, writing
from halftrip.control.hosts import host_identity
from halftrip.errors import HalftripError, Unavailable, UsageError
from halftrip.job.bare_loops import LARGEST_DATAGRAM, PATHS, WITHOUT_STREAM, BareLoops
from halftrip.report.loops import content, render
from halftrip.telemetry import topology

SIZES = (8, 32768, 4 << 20)
WINDOW = 16
TURNS = 6
# For each row of either in each turn.
SECONDS = 0.03
# Of fewer samples no 99th percentile is told.
_FEWEST_FOR_P99 = 200

# Of one turn: the median and the 99th percentile (None: not known), ns.
_Times = Mapping[Row, tuple[float, float | None]]


def examine_loops(transports: str | None, as_json: bool) -> int:
    """Prints the ratios of all paths that are here, or of those that `transports` names, and
    returns the exit status: 1 if halftrip adds something to one of them, or none is known. Raises
    UsageError for a path that has no bare loop."""
    names = PATHS if transports is None else _named(transports)
    ratios, missing = compare(names)
    with writing():
        if as_json:
            found = content(ratios, missing)
            print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        else:
            console = screen()
            console.print(render(ratios, missing, console.width), soft_wrap=True)
    return int(not ratios or any(each.word == "slower" for each in ratios))


def _named(transports: str) -> tuple[str, ...]:
    names = dict.fromkeys(name.strip() for name in transports.split(","))
    for name in names:
        if name not in PATHS:
            known = ", ".join(PATHS)
            raise UsageError(f"-t: {name!r} has no bare loop; allowed: {known}")
    return tuple(names)


def compare(
    paths: Sequence[str], turns: int = TURNS, seconds: float = SECONDS
) -> tuple[list[LoopRatio], dict[str, str]]:
    """The ratios of these paths, and the reasons of those that are not here. The bare loops run
    before and after each of so many runs of halftrip, on the same two cores; a row takes about
    `seconds` each time."""
    cores = _cores()
    loops: dict[str, BareLoops] = {}
    missing: dict[str, str] = {}
    bare: list[_Times] = []
    halftrip: list[_Times] = []
    for path in paths:
        try:
            loops[path] = BareLoops(path, cores, SIZES, WINDOW)
        except HalftripError as error:
            missing[path] = str(error)
    for turn in range(turns + 1):
        bare.append(dict(_by_bare_loops(loops, missing, seconds)))
        if turn < turns and loops:
            halftrip.append(dict(_by_halftrip(list(loops), missing, cores, seconds)))
        for path in missing:
            loops.pop(path, None)
    return list(_ratios(bare, halftrip)), missing


def _cores() -> list[int]:
    """The two cores that a run takes."""
    places = topology.place([topology.view(host_identity())] * 2)
    cores = [place.core for place in places if place.core is not None]
    if len(set(cores)) < 2:
        raise Unavailable("two ends need two cores: on one, a loop measures the scheduler")
    return cores


def _by_bare_loops(
    loops: Mapping[str, BareLoops], missing: dict[str, str], seconds: float
) -> Iterator[tuple[Row, tuple[float, float | None]]]:
    for path, each in loops.items():
        try:
            for timed in each.run(seconds):
                p99 = timed.p99 if timed.samples >= _FEWEST_FOR_P99 else None
                yield Row(path, timed.pattern, timed.size), (timed.median, p99)
        except Unavailable as error:
            missing[path] = str(error)


def _by_halftrip(
    paths: Sequence[str], missing: dict[str, str], cores: Sequence[int], seconds: float
) -> Iterator[tuple[Row, tuple[float, float | None]]]:
    with tempfile.TemporaryDirectory(prefix="halftrip-") as directory:
        run = api.run(_plan(paths, cores, seconds), output=os.path.join(directory, "run.jsonl"))
    for skip in run.skips:
        missing.setdefault(skip.transport, skip.reason)
    for configuration, measurements in run.by_configuration.items():
        summary = summarize_configuration(measurements)
        is_single = all(each.iterations == 1 for each in measurements)
        enough = is_single and summary.samples >= _FEWEST_FOR_P99
        row = Row(configuration.transport, configuration.pattern, configuration.size)
        yield row, (summary.latency, summary.p99.value if enough else None)


def _plan(paths: Sequence[str], cores: Sequence[int], seconds: float) -> dict[str, Any]:
    """What the bare loops do, as a plan: its settings are halftrip's own but for these."""
    streams = [path for path in paths if path not in WITHOUT_STREAM]
    parts: list[dict[str, Any]] = []
    if streams:
        parts.append({"transport": streams, "pattern": ["pingpong", "stream"], "sizes": SIZES})
    if "udp" in paths:
        sizes = [size for size in SIZES if size <= LARGEST_DATAGRAM]
        parts.append({"transport": ["udp"], "pattern": ["pingpong"], "sizes": sizes})
    every = [{**part, "sizes": ",".join(map(str, part["sizes"]))} for part in parts]
    return {
        "part": every,
        "window": WINDOW,
        # A bare loop has one buffer for each direction.
        "places": "same",
        "cores": ",".join(map(str, cores)),
        "slices": 1,
        "ci": "none",
        "time": f"{seconds:g}s",
    }


def _ratios(bare: Sequence[_Times], halftrip: Sequence[_Times]) -> Iterator[LoopRatio]:
    around = list(zip(bare, halftrip, bare[1:], strict=False))
    rows = dict.fromkeys(row for before, _, _ in around for row in before)
    for row in rows:
        found = [each for each in around if all(row in times for times in each)]
        if not found:
            continue
        turns = [Turn(*(times[row][0] for times in each)) for each in found]
        tails = [
            Turn(*(float(p99) for p99 in each_p99 if p99 is not None))
            for each, turn in zip(found, turns, strict=True)
            if turn.is_steady and None not in (each_p99 := [times[row][1] for times in each])
        ]
        yield loop_ratio(row, turns, tails)
