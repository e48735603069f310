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
from collections.abc import Iterator, Sequence
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
# Levels that are no farther apart are those of one state, as `halftrip compare` has it.
LIKE = 1.25
# A state that fewer runs saw tells nothing of their spread.
FEWEST = 3


class Repeated(NamedTuple):
    """A row in one state of the machine: how many pairs of runs there are, the share of those whose
    intervals overlap, the standard deviation of its medians between runs, and the median half-width
    of its intervals, both as shares."""

    pairs: int
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


def summaries(paths: Sequence[Path]) -> dict[str, list[Summary]]:
    """The summaries of each row in each state of the machine that several runs have: in one state
    are core-to-core round trips with no gap of more than a quarter between them."""
    found: dict[Configuration, list[tuple[float, Summary]]] = {}
    for path in paths:
        for row in rows(load(path)):
            for each in (row, *row.others):
                reading = each.measured.reading if each.state is None else each.state.value
                if each.measured.goes_with_state is False or reading is None:
                    reading = 0.0
                found.setdefault(row.configuration, []).append((reading, each.summary))
    return {
        f"{row.transport} {row.pattern} {format_size(row.size)}{name}": of_runs
        for row, known in found.items()
        for name, of_runs in _states(known)
        if len(of_runs) >= FEWEST
    }


def _states(known: Sequence[tuple[float, Summary]]) -> Iterator[tuple[str, list[Summary]]]:
    """What each state is called, and the summaries in it."""
    ordered = sorted(known, key=lambda each: each[0])
    begin = 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end][0] > LIKE * ordered[begin][0]:
            of_state = ordered[begin:end]
            middle = statistics.median(reading for reading, _ in of_state)
            yield f" at {middle:.0f} ns" if middle else "", [each for _, each in of_state]
            begin = end


def compare(of_runs: Sequence[Summary]) -> Repeated:
    pairs = list(itertools.combinations(of_runs, 2))
    overlapping = sum(one.low <= two.high and two.low <= one.high for one, two in pairs)
    medians = [each.latency for each in of_runs]
    widths = [(each.high - each.low) / 2 / each.latency for each in of_runs]
    return Repeated(
        pairs=len(pairs),
        overlap=overlapping / len(pairs),
        spread=statistics.stdev(medians) / statistics.mean(medians),
        half_width=statistics.median(widths),
    )


def print_table(repeated: dict[str, Repeated]) -> None:
    print("| row | pairs | overlap | sd between runs | half-width | ratio |")
    print("|---|---|---|---|---|---|")
    for name, row in repeated.items():
        print(
            f"| {name} | {row.pairs} | {row.overlap:.0%} | {row.spread:.1%} | {row.half_width:.1%} "
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
        repeated = {name: compare(found) for name, found in summaries(paths).items()}
    print_table(repeated)
    pairs = sum(row.pairs for row in repeated.values())
    overlap = sum(row.pairs * row.overlap for row in repeated.values()) / pairs
    ratios = [row.ratio for row in repeated.values()]
    print(
        f"\nintervals of two runs overlap: {overlap:.1%} of {pairs:,} pairs "
        f"(wanted: {LEAST_OVERLAP:.0%})"
        f"\nsd between runs / half-width: {statistics.median(ratios):.2f}, median over rows "
        f"(wanted: {MOST_SPREAD}); largest {max(ratios):.2f}"
        f"\nhalf-width: {statistics.median(row.half_width for row in repeated.values()):.1%}, "
        "median over rows"
    )


if __name__ == "__main__":
    main()
