"""What everything that observes a run, or that its other rows do, adds to timed slices.

    python benchmarks/observers.py
    python benchmarks/observers.py --only usage,arrivals --launches 10

Each observer is switched on and off in turn: two runs with the same plan take turns slice by slice
on the same cores (taking_turns.py), A B, B A, in several launches. A ratio is that of two slices,
on / off; the table has the medians of the ratios with their 95 % intervals. `p99` is known where
samples are single messages, and there are 200 of them. An observer has `met` its row's limits, 1.01
of the median and 1.05 of p99, if both intervals are within them, and has `missed` them if one lies
wholly beyond. Otherwise it is `not told`.

Not here: `tails`, an option of ``halftrip show``, which nothing of a run depends on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import halftrip
from halftrip.control.network import host_identity
from halftrip.errors import HalftripError
from halftrip.job.bare_loops import no_idle_core
from halftrip.results.records import Measurement
from halftrip.telemetry import topology
from halftrip.units import parse_duration
from taking_turns import (
    Failed,
    Row,
    Span,
    Task,
    Turns,
    Worker,
    by_row,
    figures,
    patched,
    pingpongs,
    take_turns,
    verdict,
    work,
)

LAUNCHES = 4
SLICES = 8
SECONDS = 0.03
# TCP begins with a small window after a silence of its retransmission timeout, 200 ms at least.
SILENCE_SECONDS = 0.3
# Of a block, the first samples that are compared with its others, and how many others there are.
BEGINNING, FEWEST_OTHERS = 3, 20


@dataclass(frozen=True)
class Switch:
    """How a run is set up: the keys of its plan, what all of its processes do first, as Python and
    as a library in C that is loaded before others, and whether it has a progress line, or the first
    screen after that. `pin`: the launcher's process is moved to the core of this rank."""

    plan: dict[str, Any] = field(default_factory=dict)
    patch: str = ""
    library: str = ""
    line: bool = False
    screen: bool = False
    pin: int | None = None


AS_IT_IS = Switch()


@dataclass(frozen=True)
class Observer:
    """Something that observes, with what is on and what is off, and the rows that it is looked at
    in; `launches`, `slices` and `seconds` of a slice, where others are wanted than usual. `silent`:
    what is on is that a row was silent before a slice; each row has a run of its own then. `hosts`:
    it is there between hosts only, which are made out of network namespaces; `delay`: that of
    packets each way, ns."""

    rows: tuple[Row, ...]
    on: Switch = AS_IT_IS
    off: Switch = AS_IT_IS
    launches: int = LAUNCHES
    slices: int = SLICES
    seconds: float = SECONDS
    silent: bool = False
    hosts: bool = False
    delay: int = 0


# One host has neither: the kernel tells of an end that dies, and loses nothing. Ten times as often
# as in a run (every 2 and 3 s), so that every slice meets one: in a run one slice in fifty does.
HEARTBEAT = """
from halftrip.job import connected
from halftrip.transports.native import stall_guard
connected._PING_SECONDS, connected._MOST_UNANSWERED = {}, 1 << 30
stall_guard.StallGuard.__init__.__defaults__ = ({},)
"""
EVERY_SCREEN = """
from halftrip.cli import live
live._LEAST_SECONDS, live._MOST_SHARE = 0.0, 1e9
"""
NO_USAGE = """
from halftrip.telemetry.process import Meter
Meter.read = Meter.since = Meter.watch_core = lambda *_: None
Meter.spent = lambda self, call, iterations: (call(), None)
"""
NO_ARRIVALS = """
from halftrip.measure.batch import Arrivals
Arrivals.are_wanted = lambda *_: False
"""
# A socket that has no timeout waits for ever where a datagram is lost: then the worker is ended.
NO_TIMEOUT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

int setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  if (level == SOL_SOCKET && name == SO_RCVTIMEO) return 0;
  int (*next)(int, int, int, const void*, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");
  return next(fd, level, name, value, length);
}
"""

# That of the wheel, an Open MPI, which has such an option.
MPIEXEC = shlex.quote(str(Path(sys.executable).with_name("mpiexec")))
STREAM = Row("tcp", "stream", 8)
OBSERVERS = {
    # What other rows of a plan do to one: it is silent meanwhile.
    "slow-start": Observer(pingpongs("tcp 262144", "tcp 1048576"), silent=True),
    "slow-start-delay": Observer(
        pingpongs("tcp 262144"), slices=3, seconds=0.3, silent=True, hosts=True, delay=1_000_000
    ),
    # halftrip lets an mpiexec bind nothing, and each rank pins itself once MPI has started.
    "mpi-binding": Observer(
        pingpongs("mpi 8", "mpi 65536", "mpi 1048576"),
        on=Switch(plan={"mpiexec": MPIEXEC}),
        off=Switch(plan={"mpiexec": f"{MPIEXEC} --bind-to core"}),
        launches=10,
        slices=2,
    ),
    "heartbeat": Observer(
        pingpongs("tcp 8"),
        on=Switch(patch=HEARTBEAT.format(0.2, 0.3)),
        off=Switch(patch=HEARTBEAT.format(1e6, 1e6)),
        seconds=0.3,
        hosts=True,
    ),
    # Both are drawn by the launcher's process before a slice, while the ranks wait: here before
    # most slices, in a run before few.
    "progress": Observer((*pingpongs("pipe 8", "tcp 65536"), STREAM), on=Switch(line=True)),
    "screen": Observer(
        (*pingpongs("shm 8", "pipe 8", "tcp 65536"), STREAM),
        on=Switch(screen=True, patch=EVERY_SCREEN),
    ),
    # The launcher sleeps while a slice is timed, and writes what has been measured before the next.
    "parent": Observer(pingpongs("shm 8", "tcp 8"), on=Switch(pin=0), off=Switch(pin=1)),
    "udp-timeout": Observer(pingpongs("udp 8"), off=Switch(library=NO_TIMEOUT)),
    "mpi-in-process": Observer(
        pingpongs("shm 8", "pipe 8", "tcp 65536"),
        on=Switch(plan={"launcher": "mpiexec"}),
        off=Switch(plan={"launcher": "local"}),
    ),
    # Only where a sample is one message that takes long beside a reading of the clock.
    "arrivals": Observer(pingpongs("pipe 8", "tcp 8", "tcp 65536"), off=Switch(patch=NO_ARRIVALS)),
    "usage": Observer((*pingpongs("pipe 8", "tcp 65536"), STREAM), off=Switch(patch=NO_USAGE)),
    "system-log": Observer(
        (*pingpongs("pipe 8", "tcp 65536"), STREAM),
        on=Switch(plan={"system_log": True}),
        off=Switch(plan={"system_log": False}),
    ),
}
# Has no switch, and a table of its own.
BLOCK_BEGIN = "block-begin"
BLOCK_ROWS = pingpongs("pipe 8", "tcp 8", "udp 8", "shm 8", "mpi 8")


class Place(NamedTuple):
    """Where runs are: keys of their plan, and what is put before the command of a worker."""

    plan: dict[str, Any]
    prefix: tuple[str, ...] = ()


def two_cores() -> list[int]:
    places = topology.place([topology.view(host_identity())] * 2)
    cores = {each.core for each in places if each.core is not None}
    assert len(cores) == 2, "two ends need two cores"
    return sorted(cores)


@contextlib.contextmanager
def place(observer: Observer) -> Iterator[Place]:
    """The two cores that a run takes; or two hosts, each with one of them."""
    if not observer.hosts:
        yield Place({"cores": ",".join(map(str, two_cores()))})
        return
    # The tests make such hosts.
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from lab.hosts import cabled, relayed
    from lab.relay import Rule

    made = relayed if observer.delay else cabled
    with tempfile.TemporaryDirectory() as directory, made(Path(directory)) as lab:
        if observer.delay:
            lab.relay.rule(Rule(delay=observer.delay))
        here, there = (host.name for host in lab.hosts)
        yield Place({"hosts": f"{here},{there}", "ssh": str(lab.agent)}, lab.hosts[0].prefix())


def plan_of(rows: Sequence[Row], slices: int, seconds: float) -> dict[str, Any]:
    names = ("transport", "pattern", "sizes")
    parts = [dict(zip(names, map(str, row), strict=True)) for row in rows]
    whole = {"slices": slices, "time": f"{slices * seconds:g}s", "ci": "none", "retest": 0}
    return {"part": parts, **whole}


class Pair:
    """Launches of the rows of an observer, on and off in turn. `ratios` has what was found so far,
    by row and figure; a slice on and one off give one of each."""

    def __init__(self, observer: Observer, rows: Sequence[Row], where: Place) -> None:
        self.ratios: dict[Row, dict[str, list[float]]] = {row: {} for row in rows}
        self._observer = observer
        self._rows = rows
        self._where = where
        self._per_turn = 2 if observer.silent else 1

    def launch(self, number: int) -> None:
        """Raises Failed and HalftripError."""
        observer, switches = self._observer, (self._observer.on, self._observer.off)
        turns = Turns(
            observer.slices * len(self._rows),
            observer.seconds,
            number % 2,
            SILENCE_SECONDS if observer.silent else None,
        )
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="halftrip-"))
            files = [os.path.join(directory, f"{name}.jsonl") for name in ("on", "off")]
            workers = []
            # One after the other: each calibrates its clock, and counts what a reading costs.
            for switch, file in zip(switches, files, strict=True):
                variables = stack.enter_context(self._variables(switch, number, directory))
                worker = Worker(self._task(switch, file), variables, self._where.prefix)
                stack.callback(worker.close)
                workers.append(worker)
            take_turns((workers[0], workers[1]), turns)
            on, off = (by_row(file) for file in files)
        for row in self._rows:
            self._compare(row, on.get(row, {}), off.get(row, {}))

    def _task(self, switch: Switch, file: str) -> Task:
        slices = self._per_turn * self._observer.slices + 1
        plan = plan_of(self._rows, slices, self._observer.seconds)
        pin = None
        if switch.pin is not None:
            pin = int(self._where.plan["cores"].split(",")[switch.pin])
        whole = {**plan, **self._where.plan, **switch.plan}
        return Task(whole, file, pin, switch.line or switch.screen, switch.screen)

    @contextlib.contextmanager
    def _variables(self, switch: Switch, number: int, directory: str) -> Iterator[dict[str, str]]:
        with patched(switch.patch, number) as variables:
            if switch.library:
                library = os.path.join(directory, "first.so")
                command = ("cc", "-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", library)
                subprocess.run(command, input=switch.library, text=True, check=True)
                variables["LD_PRELOAD"] = library
            yield variables

    def _compare(self, row: Row, on: dict[int, Measurement], off: dict[int, Measurement]) -> None:
        each = self._per_turn
        for number in range(each - 1, each * self._observer.slices, each):
            # A slice that failed is not there.
            if number in on and number in off:
                with_it, without = figures(on[number]), figures(off[number])
                for name in with_it.keys() & without.keys():
                    found = self.ratios[row].setdefault(name, [])
                    found.append(with_it[name] / without[name])


def cell(span: Span | None) -> str:
    return "" if span is None else f"{span.middle:.3f} ({span.low:.3f} to {span.high:.3f})"


def print_row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def print_title(*cells: str) -> None:
    print_row(*cells)
    print_row(*["---"] * len(cells))


def compare(name: str, observer: Observer) -> None:
    """Prints the rows of an observer."""
    together = [[row] for row in observer.rows] if observer.silent else [observer.rows]
    for rows in together:
        failure = ""
        with place(observer) as where:
            pair = Pair(observer, rows, where)
            try:
                for number in range(observer.launches):
                    pair.launch(number)
            except (Failed, HalftripError) as error:
                failure = f"not measured: {error}"
        for row in rows:
            spans = {figure: Span.of(ratios) for figure, ratios in pair.ratios[row].items()}
            cells = [cell(spans.get(each)) for each in ("median", "p99", "maximum", "messages/s")]
            print_row(name, row, *cells, failure or verdict(spans))


def print_beginnings(observer: Observer) -> None:
    """How the first samples of blocks compare with the others of their blocks."""
    places = ("first", "second", "third")
    slowest = (f"{each} slowest %" for each in places)
    print_title("row", *(f"{each} / rest" for each in places), *slowest, "blocks")
    ratios: dict[Row, list[list[float]]] = {row: [] for row in observer.rows}
    # How many blocks have their first, second, third sample among their slowest hundredth.
    slow = {row: np.zeros(BEGINNING) for row in observer.rows}
    with (
        place(Observer(BLOCK_ROWS)) as where,
        tempfile.TemporaryDirectory(prefix="halftrip-") as directory,
    ):
        plan = {**plan_of(observer.rows, observer.slices, observer.seconds), **where.plan}
        for number in range(observer.launches):
            run = halftrip.run(plan, output=os.path.join(directory, f"{number}.jsonl"))
            for each, slices in run.by_configuration.items():
                row = Row(each.transport, each.pattern, each.size)
                blocks = [block.times for measured in slices for block in measured.blocks]
                for times in blocks:
                    if times.size >= BEGINNING + FEWEST_OTHERS:
                        first = times[:BEGINNING]
                        ratios[row].append(list(first / np.median(times[BEGINNING:])))
                        slow[row] += first > np.quantile(times, 0.99)
    for row, of_blocks in ratios.items():
        spans = [Span.of(each) for each in zip(*of_blocks, strict=True)] or [None] * BEGINNING
        shares = [f"{100 * each / max(1, len(of_blocks)):.1f}" for each in slow[row]]
        print_row(row, *map(cell, spans), *shares, len(of_blocks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*OBSERVERS, BLOCK_BEGIN]
    parser.add_argument("--only", default=",".join(names), help="names, with commas between them")
    parser.add_argument("--launches", type=int, help="of both runs; else as each is given")
    parser.add_argument("--slices", type=int, help="of each row in a launch; else as each is given")
    parser.add_argument("--time", help="that a slice samples for; else as each is given")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.worker)
        return
    chosen = options.only.split(",")
    if unknown := set(chosen).difference(names):
        parser.error(f"--only: {min(unknown)!r} is not known; allowed: {', '.join(names)}")
    seconds = None if options.time is None else parse_duration(options.time)
    given = {"launches": options.launches, "slices": options.slices, "seconds": seconds}
    wanted = {key: value for key, value in given.items() if value is not None}
    if chosen != [BLOCK_BEGIN]:
        print_title("observer", "row", "median", "p99", "maximum", "messages/s", "verdict")
    # How long an idle core takes to wake would hide what is looked for.
    with no_idle_core(two_cores()):
        for name in chosen:
            if name in OBSERVERS:
                compare(name, replace(OBSERVERS[name], **wanted))
        if BLOCK_BEGIN in chosen:
            print()
            print_beginnings(replace(Observer(BLOCK_ROWS), **wanted))
    print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
