"""Mutated run files are loaded, shown in every form, and compared: nothing but UsageError may come
of it.

    python tests/fuzz/run_files.py --inputs 1000000 --seed 1

tries so many inputs, in as many processes as there are processors, and leaves those that failed in
`cases`, where the tests find them for ever.
"""

import argparse
import contextlib
import hashlib
import io
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from halftrip import api
from halftrip.cli.comparing import Compared, compare_files
from halftrip.cli.explain import Asked as Explained
from halftrip.cli.explain import explain_run
from halftrip.cli.history import Asked, show_history
from halftrip.cli.show import Shown, show_runs
from halftrip.errors import HalftripError, UsageError
from halftrip.results.records import LostHost
from halftrip.results.threshold import Acts, Threshold

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutate import mutated
from harness import arrivals, runs

CASES = Path(__file__).parent / "cases"
GOLDEN = Path(__file__).parents[1] / "golden" / "formats"
VIEWS = ("details", "why", "flags", "tails", "cost", "layers", "matrix", "system-log")
EXPECT = "latency=1us,bandwidth=1GB/s,messages=1M/s"
# What is judged by itself.
ITSELF = "itself"
FORMS = (
    Shown(),
    *(Shown(views=[view]) for view in VIEWS),
    Shown(views=["why"], every=True),
    Shown(rtt=True, wide=True),
    *(Shown(format=name) for name in ("csv", "json", "markdown", "latex")),
    Shown(format="markdown", wide=True),
    Shown(expect=EXPECT, baseline=ITSELF),
    Shown(format="nodes", expect=EXPECT, baseline=ITSELF),
)
EXPLAINED = (Explained(), Explained(at="4K"), Explained(format="json"))
# Of several files.
FORMS_OF_SEVERAL = (Shown(), *(Shown(format=name) for name in ("csv", "json", "markdown", "latex")))
# Of a file and a copy of it, which holds the same.
COMPARED = (
    Compared(every=True),
    Compared(anyway=True, launch_spread=0.01, quantile=0.9),
    *(Compared(format=name) for name in ("csv", "json", "markdown", "junit")),
    Asked(every=True),
    Asked(format="json"),
)
# An input that takes longer, in seconds, has failed: the files are small.
SLOWEST = 10
# Bytes of address space: what takes more has failed, too.
MOST_MEMORY = 4 << 30
_FEW_LINES = 6


class SlowError(Exception):
    """An input took too long."""


class Failure(NamedTuple):
    """An input that failed, and the traceback."""

    content: bytes
    why: str

    @property
    def kind(self) -> str:
        """Where it failed, and by which exception: one failure of many inputs."""
        *_, place = re.findall(r'File "[^"]+", line \d+', self.why)
        return f"{place}: {self.why.splitlines()[-1].partition(':')[0]}"


def seeds() -> list[list[bytes]]:
    """The lines of the files that are mutated: those of every kind of record, and some with many
    records that fit each other."""
    golden = [path.read_bytes() for path in sorted(GOLDEN.glob("*.jsonl"))]
    found = [content.splitlines(keepends=True) for content in golden]
    found.append(_of_many_kinds())
    found.append(_of_arrivals())
    return found


def _of_many_kinds() -> list[bytes]:
    """A run of several slices, launches, pairs, sizes and patterns, with few samples each."""
    with tempfile.TemporaryDirectory() as folder:
        measured = [
            runs.measurement(
                transport, size, wait, samples=range(900 + 10 * n, 912 + 10 * n), slice=n % 4,
                launch=n, usage=(runs.usage(core={"others": 0.2}), runs.usage(core={})),
                iterations=iterations, pair=pair, pattern=pattern, window=window,
            )
            for transport, wait in (("shm", "spin"), ("tcp", "block:spin"))
            for size in (8, 4096, 65536)
            for pattern, window, iterations in (("pingpong", 1, 1), ("stream", 16, 10))
            for pair in ((0, 1), (1, 2))
            for n in range(2)
        ]  # fmt: skip
        hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(3))
        counted = tuple(runs.counters(host=f"n{rank}", rank=rank) for rank in range(3))
        thresholds = tuple(
            Threshold(
                rank=rank, name=acts, value=4096 << rank, header=64, acts=acts, source="a file",
                transport=transport, cores=[rank], setting="MY_LIMIT",
            )
            for acts in get_args(Acts)
            for transport in ("", "shm", "tcp")
            for rank in range(3)
        )  # fmt: skip
        lost = (LostHost(host="n3", ranks=[3], reason="rank 3 on n3 died", launch=1),)
        made = runs.run(
            *measured, environments=hosts, host_counters=counted, lost=lost, thresholds=thresholds
        )
        plan = made.header.plan | {
            "refine": True, "placement_state": "near", "system_log": True, "expect": EXPECT,
            "baseline": "earlier.jsonl", "tolerance": 0.2,
        }  # fmt: skip
        made.header.plan.update(plan)
        return runs.save(made, Path(folder) / "run").read_bytes().splitlines(keepends=True)


def _of_arrivals() -> list[bytes]:
    """A run whose messages arrive at another host, by a clock that was compared."""
    slices = [
        arrivals.block([50_000.0] * 12, [30_000.0] * 12, arrivals.BOOTED + n * arrivals.SECOND, 7)
        for n in range(6)
    ]
    compared = [
        arrivals.comparison(arrivals.BOOTED + n * arrivals.SECOND, 5 + n) for n in range(-1, 8)
    ]
    made, _ = arrivals.ping_pong(slices, compared=compared)
    with tempfile.TemporaryDirectory() as folder:
        return runs.save(made, Path(folder) / "run").read_bytes().splitlines(keepends=True)


def input_of(seed: int, number: int, files: list[list[bytes]]) -> bytes:
    """Input `number` of those that come of `seed`."""
    draw = random.Random(f"{seed} {number}")
    lines = draw.choice(files)
    if draw.random() < 0.7:
        # Few lines are as good for most mutations, and much faster.
        few = sorted(draw.sample(range(1, len(lines)), min(_FEW_LINES, len(lines) - 1)))
        lines = [lines[0], *(lines[number] for number in few)]
    return mutated(lines, draw)


def try_input(path: Path, forms: int | None = None, draw: random.Random | None = None) -> None:
    """Loads the file and shows it in all forms, or in so many that are drawn. Raises what is wrong,
    if anything is."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            loaded = api.load(path)
        except UsageError as error:
            check_line(str(error))
            return
        for line in loaded.problems:
            check_line(line)
        several = [(form, 2) for form in (*FORMS_OF_SEVERAL, *COMPARED)]
        every = [*((form, 1) for form in (*FORMS, *EXPLAINED)), *several]
        for form, files in every if draw is None else draw.sample(every, forms or 1):
            show(path, form, files)
        if draw is None:
            loaded.frame()
            loaded.frame(slices=True)


def check_line(line: str) -> None:
    assert line.isprintable(), f"cannot be printed: {line!r}"
    assert len(line) < 500, f"too long: {line}"


def show(path: Path, form: Shown | Compared | Asked | Explained, files: int) -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            if isinstance(form, Shown):
                own = str(path) if form.baseline == ITSELF else form.baseline
                show_runs([str(path)] * files, form._replace(baseline=own))
            elif isinstance(form, Explained):
                explain_run(str(path), form)
            else:
                copies = [str(_copied(path, number)) for number in range(files)]
                call = compare_files if isinstance(form, Compared) else show_history
                call(copies, form)
        except HalftripError as error:
            check_line(str(error))
    text = shown.getvalue()
    # The columns of some styles are between tabs.
    plain = text.replace("\t", "") if getattr(form, "style", None) is not None else text
    assert plain.replace("\n", "").isprintable(), f"{form} prints control characters"


def _copied(path: Path, number: int) -> Path:
    """A copy of the file: a run is not compared with itself."""
    copy = path.with_name(f"copy{number}.jsonl")
    copy.write_bytes(path.read_bytes())
    return copy


def failure_of(
    content: bytes, path: Path, forms: int | None = None, draw: random.Random | None = None
) -> Failure | None:
    """What is wrong with this input; None if nothing is."""
    path.write_bytes(content)
    try:
        with time_limit():
            try_input(path, forms, draw)
    except Exception:  # noqa: BLE001 (whatever it is, it is a failure)
        return Failure(content, traceback.format_exc(limit=-3))
    return None


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raises SlowError after SLOWEST seconds. Whoever has set this timer before has it again."""

    def stop(*_: object) -> None:
        raise SlowError(f"took more than {SLOWEST} s")

    former = signal.signal(signal.SIGALRM, stop)
    left, _ = signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, former)


def _try_range(arguments: tuple[int, int, int, int]) -> list[Failure]:
    """Tries the inputs of these numbers of a seed."""
    seed, begin, end, forms = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    os.environ["COLUMNS"] = "100"
    files = seeds()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        for number in range(begin, end):
            draw = random.Random(f"{seed} {number} forms")
            failure = failure_of(input_of(seed, number, files), path, forms, draw)
            if failure is not None:
                found.append(failure)
    return found


def keep(failure: Failure) -> Path:
    """Writes the input into `cases`."""
    CASES.mkdir(exist_ok=True)
    path = CASES / f"{hashlib.sha256(failure.content).hexdigest()[:12]}.jsonl"
    path.write_bytes(failure.content)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=1, help="what they come of")
    parser.add_argument("--forms", type=int, default=1, help="in how many forms each is shown")
    parser.add_argument("--seconds", type=float, help="no longer than this")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    part, began, tried = 250, time.monotonic(), 0
    kinds: dict[str, int] = {}
    last = options.first + options.inputs
    parts = [
        (options.seed, begin, min(begin + part, last), options.forms)
        for begin in range(options.first, last, part)
    ]
    with multiprocessing.Pool(options.processes) as pool:
        for (_, begin, end, _), found in zip(parts, pool.imap(_try_range, parts), strict=True):
            tried += end - begin
            for failure in found:
                kinds[failure.kind] = kinds.get(failure.kind, 0) + 1
                if kinds[failure.kind] == 1:
                    print(f"{keep(failure)}:\n{failure.why}", flush=True)
            if tried % 50_000 == 0:
                print(f"{tried:,} inputs, {time.monotonic() - began:.0f} s", flush=True)
            if options.seconds is not None and time.monotonic() - began > options.seconds:
                pool.terminate()
                break
    seconds = time.monotonic() - began
    print(f"{tried:,} inputs, {sum(kinds.values()):,} failed, {len(kinds)} kinds, {seconds:.0f} s")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
