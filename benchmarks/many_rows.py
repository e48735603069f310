"""What it takes to look at runs of many rows: of 1,000 pairs x 100 sizes, and of a year of runs.

    .venv/bin/python benchmarks/many_rows.py [--slices 6] [--rows 100000] [--only show,history]

Prints, for each command, the seconds from its start to its end, its CPU time and the most memory
that it had, and the size of the report. The runs are made here; nothing is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations, islice
from pathlib import Path

import msgspec
import numpy as np

from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.run_file import load
from pages import HALFTRIP, measured, write

_LIKE = Path(__file__).parents[1] / "tests" / "golden" / "formats" / "1.jsonl"
_SIZES = 100
_SAMPLES = 40
# A default run has so many rows of so many slices.
_DEFAULT_ROWS, _DEFAULT_SLICES = 137, 10
_RUNS = 365


def of_pairs(run: Run, rows: int, slices: int) -> Iterator[Measurement]:
    """So many rows, a hundred for each pair."""
    generator = np.random.default_rng(1)
    for pair in islice(combinations(range(46), 2), rows // _SIZES):
        for size in range(8, 8 + _SIZES):
            yield from _row(run, generator, slices, pair=pair, size=size)


def of_a_default_run(run: Run, number: int) -> Iterator[Measurement]:
    generator = np.random.default_rng(number)
    for place in range(_DEFAULT_ROWS):
        transport = ("mpi", "shm", "tcp")[place % 3]
        yield from _row(run, generator, _DEFAULT_SLICES, transport=transport, size=1 + place // 3)


def _row(
    run: Run, generator: np.random.Generator, slices: int, **changes: object
) -> Iterator[Measurement]:
    like = run.measurements[0].configuration
    row: Configuration = msgspec.structs.replace(like, variant=(), **changes)
    return measured(run, generator, row, _SAMPLES, slices)


def year(directory: Path, run: Run) -> Path:
    """A directory with a run of each night."""
    directory.mkdir()
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(_RUNS):
        started = (began + timedelta(days=number)).isoformat()
        header = msgspec.structs.replace(run.header, started=started)
        dated = msgspec.structs.replace(run, header=header)
        write(directory / f"{number:03}.jsonl", dated, of_a_default_run(run, number))
    return directory


def taken(command: Sequence[str | Path]) -> str:
    """What a command took."""
    began = time.monotonic()
    with subprocess.Popen([HALFTRIP, *command], stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    cpu, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    ended = "" if process.returncode == 0 else f", status {process.returncode}"
    return f"{seconds:.1f} s, CPU {cpu:.1f} s, {mib:,.0f} MiB{ended}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--slices", type=int, default=6)
    parser.add_argument("--only", default="show,report,history")
    asked = parser.parse_args()
    only, run = asked.only.split(","), load(_LIKE)
    with tempfile.TemporaryDirectory() as directory:
        path, page = Path(directory, "many.jsonl"), Path(directory, "many.html")
        if {"show", "report"} & {*only}:
            write(path, run, of_pairs(run, asked.rows, asked.slices))
            size = path.stat().st_size / 1e6
            print(f"{asked.rows:,} rows of {asked.slices} slices, {size:,.0f} MB", flush=True)
        if "show" in only:
            print(f"show: {taken(['show', path])}", flush=True)
            print(f"show --details: {taken(['show', path, '--details'])}", flush=True)
        if "report" in only:
            took = taken(["report", path, "-o", page])
            print(f"report: {took}, page {page.stat().st_size / 1e6:.1f} MB", flush=True)
        if "history" in only:
            nights = year(Path(directory, "nights"), run)
            print(f"history of {_RUNS} runs: {taken(['history', nights])}", flush=True)


if __name__ == "__main__":
    main()
