"""Two runs of halftrip that take turns, slice by slice, on the same cores; see observers.py.

Each is measured by a process of its own, a worker, which asks before every slice whether it may
begin. While the one measures, the ranks of the other sleep, so that slices which are compared are
some 50 ms apart, and meet the same machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from halftrip import api
from halftrip.analysis.expectation import Expectations
from halftrip.cli.live import LiveScreen
from halftrip.plan.layers import make_plan, python_layer
from halftrip.report.progress import ProgressLine
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.stats.interval import between_medians
from halftrip.units import format_size

_WORKER = Path(__file__).with_name("observers.py")
# How long a run may take to start, and a slice beyond its time, s.
_START_SECONDS = 60.0
_SLICE_SECONDS = 20.0
# Set by a `sitecustomize` that has done all that it was to do.
_PATCHED = "patched"
# Each run would draw an order of its rows for itself, pass by pass, and one of them might give up
# a row whose slices take long: then they would not be in step.
_IN_STEP = """
import random, types
from halftrip.measure import walk
from halftrip.control.protocol import Progress
walk.random = types.SimpleNamespace(Random=lambda: random.Random({}))
Progress.is_late = lambda *_: False
"""
# The ratios that are allowed, and of fewer samples no 99th percentile is told.
LIMITS = {"median": 1.01, "p99": 1.05}
FEWEST_FOR_P99 = 200


class Task(NamedTuple):
    """What a worker measures: a plan, into a file. `pin`: the core that its process, which is the
    launcher of the ranks, is moved to when these have started. `line`: there is a progress line.
    `screen`: there is the first screen, too."""

    plan: dict[str, Any]
    file: str
    pin: int | None = None
    line: bool = False
    screen: bool = False


class Failed(Exception):
    """A run did not come to its end, and why."""


# The worker.


class _View:
    """Lets each slice wait for a line of standard input. At the end of that no more slices wait.

    Progress is shown before that, while no rank of either run measures."""

    paces = True
    takes_warnings = False

    def __init__(self, shown: ProgressLine | LiveScreen | None, pin: int | None) -> None:
        self.visible = shown is not None
        self._shown = shown
        self._pin = pin

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        if self._shown is not None:
            self._shown.update(done, total, what, later)

    def before_slice(self, setting: Configuration) -> None:
        if self._pin is not None:
            # Now: ranks would inherit it.
            os.sched_setaffinity(0, {self._pin})
            self._pin = None
        # Not by `print`: what is printed beside a progress line goes where that is.
        os.write(1, b"\n")
        sys.stdin.readline()

    def warn(self, lines: list[str]) -> None:
        pass

    def quote(self, who: str, lines: list[str]) -> None:
        pass


def work(task: str) -> None:
    """What a worker does."""
    if not getattr(sys.modules.get("sitecustomize"), _PATCHED, False):
        raise SystemExit("sitecustomize was not read, or failed: nothing is switched")
    plan, file, pin, with_line, with_screen = Task(*json.loads(task))
    shown: ProgressLine | LiveScreen | None = None
    with contextlib.ExitStack() as stack:
        if with_line:
            console = Console(stderr=True)
            shown = line = ProgressLine(console)
            assert line.visible, "there is no terminal"
            if with_screen:
                shown = LiveScreen(line, console, Path(file), Expectations({}))
            stack.enter_context(shown)
        api.measure(make_plan(python_layer(plan)), Path(file), _View(shown, pin), sys.argv)


# Who lets workers take turns.


class Worker:
    """A worker, from `prefix`, a command that runs others, with these `variables` added to its
    environment. It waits before its first slice when this has returned."""

    def __init__(
        self, task: Task, variables: Mapping[str, str], prefix: Sequence[str] = ()
    ) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        words = (*prefix, sys.executable, str(_WORKER), "--worker", json.dumps(task))
        terminal, other_end = os.openpty() if task.line else (None, self._said.fileno())
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=other_end,
            env=os.environ | variables,
        )
        if terminal is not None:
            os.close(other_end)
            threading.Thread(target=self._read, args=(terminal,), daemon=True).start()
        try:
            self._await(_START_SECONDS)
        except BaseException:
            self.close()
            raise

    def _read(self, terminal: int) -> None:
        """What a terminal does: it takes what is written."""
        # EIO: nobody has the other end any more.
        with contextlib.suppress(OSError, ValueError):
            while written := os.read(terminal, 4096):
                self._said.write(written)
        os.close(terminal)

    def slice(self, seconds: float) -> None:
        """Lets it measure a slice, which samples for so long; it waits for the next at the end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("it has ended") from None
        # As long as its batches may take in all (measure/slice_run.py), and some more.
        self._await(_SLICE_SECONDS + 5 * seconds)

    def leave(self) -> None:
        """Lets it measure all that is left."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def end(self) -> None:
        """Returns when it has ended."""
        try:
            status = self._process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._failure("it does not end") from None
        if status:
            raise self._failure(f"it ended with status {status}")

    def close(self) -> None:
        """Ends it if it runs: halftrip ends its ranks when it is told to stop."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _await(self, seconds: float) -> None:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            raise self._failure(f"nothing came for {seconds:.0f} s")
        if not os.read(self._process.stdout.fileno(), 1):
            raise self._failure("it ended before its last slice")

    def _failure(self, what: str) -> Failed:
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        last = [line.strip() for line in lines if line.strip()][-1:]
        return Failed(": ".join([what, *last]))


@contextlib.contextmanager
def patched(text: str, seed: int) -> Iterator[dict[str, str]]:
    """The variables with which every Python does first what the text says: that of ranks, too,
    which are forks of another process, or are started by an mpiexec or on another host. The order
    of the rows of a run is that of the `seed`."""
    with tempfile.TemporaryDirectory(prefix="halftrip-") as directory:
        whole = f"{_IN_STEP.format(seed)}{text}\n{_PATCHED} = True\n"
        Path(directory, "sitecustomize.py").write_text(whole)
        before = os.environ.get("PYTHONPATH")
        paths = [directory, *([before] if before else [])]
        # As `halftrip` sets it before numpy is loaded, which a patch may do sooner.
        threads = {"OPENBLAS_NUM_THREADS": "1"}
        # Of the wheel's Open MPI: ranks start a second sooner if it does not look for networks.
        one_host = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}
        yield {"PYTHONPATH": os.pathsep.join(paths)} | threads | one_host


class Turns(NamedTuple):
    """How two runs take turns: so many, each a slice of `seconds`. With `silence`, each turn is two
    slices, of which the second counts; it follows on the first of these runs after so long, s, and
    on the other at once. `first`: which of them begins, 0 or 1; they take turns at that as well."""

    total: int
    seconds: float
    first: int
    silence: float | None = None


def take_turns(workers: tuple[Worker, Worker], turns: Turns) -> None:
    """Lets both measure, until they have ended. They have one more slice of each row than are
    compared: the end of a run must not meet a slice of the other."""
    for number in range(turns.total):
        first = (number + turns.first) % 2
        for which in (first, 1 - first):
            workers[which].slice(turns.seconds)
            if turns.silence is not None:
                time.sleep(0.0 if which else turns.silence)
                workers[which].slice(turns.seconds)
    for worker in workers:
        worker.leave()
    for worker in workers:
        worker.end()


# What is compared.


class Row(NamedTuple):
    """A row of halftrip."""

    transport: str
    pattern: str
    size: int

    def __str__(self) -> str:
        return f"{self.transport} {self.pattern} {format_size(self.size)}"


def pingpongs(*paths: str) -> tuple[Row, ...]:
    """Rows by the names of transports with a size, as ``tcp 8``."""
    named = (path.split() for path in paths)
    return tuple(Row(transport, "pingpong", int(size)) for transport, size in named)


class Span(NamedTuple):
    """The median of ratios, with its 95 % interval."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Span | None:
        found = between_medians(np.sort(np.array(ratios))) if len(ratios) > 1 else None
        return None if found is None else cls(float(np.median(ratios)), *found)

    def verdict(self, limit: float) -> str:
        if self.high <= limit:
            return "met"
        return "missed" if self.low > limit else "not told"


def by_row(file: str) -> dict[Row, dict[int, Measurement]]:
    """The slices of each row of a run, by their numbers. Raises Failed if a row has none."""
    run = api.load(file)
    for skip in run.skips:
        raise Failed(f"{skip.transport}: {skip.reason}")
    return {
        Row(each.transport, each.pattern, each.size): {slice_.slice: slice_ for slice_ in slices}
        for each, slices in run.by_configuration.items()
    }


def figures(measured: Measurement) -> dict[str, float]:
    """What is compared of a slice."""
    times = np.concatenate(measured.one_way_blocks)
    found = {"median": float(np.median(times))}
    if measured.iterations == 1 and times.size >= FEWEST_FOR_P99:
        found |= {"p99": float(np.quantile(times, 0.99)), "maximum": float(times.max())}
    if measured.configuration.pattern != "pingpong":
        found["messages/s"] = 1e9 / float(times.mean())
    return found


def verdict(spans: Mapping[str, Span | None]) -> str:
    """Of both limits; the figure that is named is the one that is not met."""
    known = {name: spans.get(name) for name in LIMITS}
    found = {name: span.verdict(LIMITS[name]) for name, span in known.items() if span is not None}
    for word in ("missed", "not told"):
        names = [name for name, each in found.items() if each == word]
        if names:
            return f"{word} ({', '.join(names)})"
    return "met" if "median" in found else "not told"
