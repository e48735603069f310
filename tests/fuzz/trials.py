"""Inputs that nobody would write, each drawn by a seed and a number, which give it again.

    python tests/fuzz/run_files.py --inputs 1000000 --seed 1

tries so many, in as many processes as there are processors, and leaves those that failed in
`cases`, where the tests find them for ever.
"""

import argparse
import contextlib
import functools
import hashlib
import multiprocessing
import os
import random
import re
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

_CASES = Path(__file__).with_name("cases")
# Bytes of address space: what takes more has failed.
_MOST_MEMORY = 4 << 30


class SlowError(Exception):
    """An input took too long."""


class Input(NamedTuple):
    """What is tried, and what it is said to be: the suffix of its file, if it is kept."""

    what: str
    content: bytes


class Failure(NamedTuple):
    """An input that failed, and the traceback."""

    input: Input
    why: str

    @property
    def kind(self) -> str:
        """Where it failed, and by which exception: one failure of many inputs."""
        *_, place = re.findall(r'File "[^"]+", line \d+', self.why)
        return f"{place}: {self.why.splitlines()[-1].partition(':')[0]}"


class Harness(NamedTuple):
    """What draws inputs, and tries them. `attempt` has an input, a folder, and what draws the form
    in which it is shown, or None for all forms; it returns whether the input was accepted, and
    raises what is wrong."""

    name: str
    draw: Callable[[random.Random], Input]
    attempt: Callable[[Input, Path, random.Random | None], bool]
    # Seconds of the processor: an input that takes longer has failed.
    slowest: float = 10.0

    def input_of(self, seed: int, number: int) -> Input:
        return self.draw(random.Random(f"{seed} {number}"))

    def outcome(
        self, tried: Input, folder: Path, draw: random.Random | None = None
    ) -> Failure | bool:
        """What is wrong with this input; whether it was accepted, if nothing is."""
        try:
            with _time_limit(self.slowest):
                return self.attempt(tried, folder, draw)
        except Exception:  # noqa: BLE001 (whatever it is, it is a failure)
            return Failure(tried, traceback.format_exc(limit=-3))

    def outcomes(self, seed: int, begin: int, end: int, folder: Path) -> list[Failure | bool]:
        """The outcomes of the inputs of these numbers, each shown in one form."""
        return [
            self.outcome(
                self.input_of(seed, number), folder, random.Random(f"{seed} {number} form")
            )
            for number in range(begin, end)
        ]

    def cases(self) -> list[Path]:
        return sorted((_CASES / self.name).glob("*.*"))

    def keep(self, tried: Input) -> Path:
        digest = hashlib.sha256(tried.content).hexdigest()[:12]
        path = _CASES / self.name / f"{digest}.{tried.what}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tried.content)
        return path


def case(path: Path) -> Input:
    """The input that was kept there."""
    return Input(path.suffix.removeprefix("."), path.read_bytes())


def check_line(line: str) -> None:
    assert line.isprintable(), f"cannot be printed: {line!r}"
    assert len(line) < 500, f"too long: {line}"


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raises SlowError after so many seconds of the processor."""

    def stop(*_: object) -> None:
        raise SlowError(f"took more than {seconds} s")

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, former)


def _try_part(harness: Harness, seed: int, part: range) -> list[Failure | bool]:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    os.environ["COLUMNS"] = "100"
    with tempfile.TemporaryDirectory() as folder:
        return harness.outcomes(seed, part.start, part.stop, Path(folder))


def main(harness: Harness) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, help="what they come of")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    began, tried, accepted = time.monotonic(), 0, 0
    kinds: dict[str, int] = {}
    last = options.first + options.inputs
    parts = [range(n, min(n + 250, last)) for n in range(options.first, last, 250)]
    try_part = functools.partial(_try_part, harness, options.seed)
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        for outcomes in pool.imap(try_part, parts):
            tried += len(outcomes)
            accepted += outcomes.count(True)
            for failure in outcomes:
                if isinstance(failure, Failure):
                    kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
                    if kinds[failure.kind] == 1:
                        print(f"{harness.keep(failure.input)}:\n{failure.why}", flush=True)
            if tried % 50_000 == 0:
                print(f"{tried:,} inputs, {time.monotonic() - began:.0f} s", flush=True)
    print(
        f"{tried:,} inputs, {accepted:,} accepted, {sum(kinds.values()):,} failed, "
        f"{len(kinds)} kinds, {time.monotonic() - began:.0f} s"
    )
    return 1 if kinds else 0
