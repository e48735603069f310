"""Does a run repeat? The same plan is measured again and again, and the intervals are compared.

python benchmarks/repeat.py                               # ten runs, a minute apart
python benchmarks/repeat.py --runs 5 --every 10 -- -t shm -s 8,64K --slices 20
python benchmarks/repeat.py --keep DIRECTORY              # also keeps the run files
python benchmarks/repeat.py --of a.jsonl b.jsonl c.jsonl  # of runs that exist
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from halftrip.analysis.rows import rows
from halftrip.results.configuration import Configuration
from halftrip.results.run_file import load
from halftrip.stats.summary import Summary
from halftrip.units import format_size

HALFTRIP = Path(sys.executable).with_name("halftrip")
PLAN = ["-t", "shm,tcp,unix,pipe,mpi", "-s", "8,1K,64K"]
# What is wanted of the share of overlapping intervals, and of the spread over the half-width: two
# medians whose 95 % intervals are right have a spread of 1 / 1.96.
LEAST_OVERLAP = 0.9
MOST_SPREAD = 0.6


class Repeated(NamedTuple):
    """A row in all runs: the share of pairs of runs whose intervals overlap, the standard deviation
    of its medians between runs, and the median half-width of its intervals, both as shares."""

    overlap: float
    spread: float
    half_width: float

    @property
    def ratio(self) -> float:
        return self.spread / self.half_width


def measure(runs: int, every: float, plan: Sequence[str], directory: Path) -> list[Path]:
    """The files of `runs` runs of a plan, which begin `every` seconds after one another."""
    paths = []
    for number in range(runs):
        began = time.monotonic()
        path = directory / f"{number}.jsonl"
        subprocess.run(
            [HALFTRIP, "run", "--no-config", *plan, "-q", "-o", path], check=True, stdout=sys.stderr
        )
        paths.append(path)
        if number + 1 < runs:
            time.sleep(max(0.0, every - (time.monotonic() - began)))
    return paths


def summaries(paths: Sequence[Path]) -> dict[Configuration, list[Summary]]:
    """The summaries of each row that all runs have."""
    found: dict[Configuration, list[Summary]] = {}
    for path in paths:
        for row in rows(load(path)):
            found.setdefault(row.configuration, []).append(row.summary)
    return {
        configuration: of_runs
        for configuration, of_runs in found.items()
        if len(of_runs) == len(paths)
    }


def compare(of_runs: Sequence[Summary]) -> Repeated:
    pairs = list(itertools.combinations(of_runs, 2))
    overlapping = sum(one.low <= two.high and two.low <= one.high for one, two in pairs)
    medians = [each.latency for each in of_runs]
    widths = [(each.high - each.low) / 2 / each.latency for each in of_runs]
    return Repeated(
        overlap=overlapping / len(pairs),
        spread=statistics.stdev(medians) / statistics.mean(medians),
        half_width=statistics.median(widths),
    )


def print_table(repeated: dict[Configuration, Repeated]) -> None:
    print("| row | overlap | sd between runs | half-width | ratio |\n|---|---|---|---|---|")
    for configuration, row in repeated.items():
        name = f"{configuration.transport} {format_size(configuration.size)}"
        print(
            f"| {name} | {row.overlap:.0%} | {row.spread:.1%} | {row.half_width:.1%} "
            f"| {row.ratio:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--every", type=float, default=60.0, help="seconds")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--of", type=Path, nargs="+", default=[])
    parser.add_argument("plan", nargs="*", default=PLAN)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.keep or Path(temporary)
        paths = arguments.of or measure(arguments.runs, arguments.every, arguments.plan, directory)
        repeated = {
            configuration: compare(found) for configuration, found in summaries(paths).items()
        }
    print_table(repeated)
    overlap = statistics.mean(row.overlap for row in repeated.values())
    ratio = statistics.median(row.ratio for row in repeated.values())
    print(
        f"\nintervals of two runs overlap: {overlap:.0%} of row pairs (wanted: {LEAST_OVERLAP:.0%})"
        f"\nsd between runs / half-width: {ratio:.2f}, median over rows (wanted: {MOST_SPREAD})"
    )


if __name__ == "__main__":
    main()
