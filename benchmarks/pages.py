"""How long ``halftrip report`` takes: of a run file of 10 MB, and of 1,000 pairs x 100 sizes.

    .venv/bin/python benchmarks/pages.py [--only file|pairs]

Prints the seconds of the whole command and the size of each page. The first call of all, which also
makes what draws, is not counted. The exit status is 1 where one takes longer than it may.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice
from pathlib import Path

import msgspec
import numpy as np

from halftrip.results.block import Block
from halftrip.results.configuration import Configuration
from halftrip.results.records import Environment, Header, Measurement, RunEnd
from halftrip.results.run import Run
from halftrip.results.run_file import encode, load

HALFTRIP = Path(sys.executable).with_name("halftrip")
# A run of halftrip's, by which others are made.
_LIKE = Path(__file__).parents[1] / "tests" / "golden" / "formats" / "1.jsonl"
# What each may take, s.
_WANTED = {"file": 5.0, "pairs": 20.0}
_NOISE = 0.02


def measured(
    run: Run, generator: np.random.Generator, each: Configuration, samples: int, slices: int
) -> Iterator[Measurement]:
    """The slices of a configuration, with so many samples each, of 1 us and 0.1 ns for a byte."""
    like = run.measurements[0]
    typical = 2e3 + 0.2 * each.size
    for slice_ in range(slices):
        times = generator.normal(typical, _NOISE * typical, samples).round().astype(np.int64)
        block: Block = msgspec.structs.replace(like.blocks[0], times=times, usage=None)
        yield msgspec.structs.replace(
            like, configuration=each, slice=slice_, iterations=1, blocks=[block], cores=None
        )


def of_a_file(run: Run, generator: np.random.Generator) -> Iterator[Measurement]:
    """72 rows of nine slices, in about 10 MB."""
    like = run.measurements[0].configuration
    for transport in ("mpi", "shm", "tcp"):
        for power in range(24):
            row = msgspec.structs.replace(like, transport=transport, size=1 << power, variant=())
            yield from measured(run, generator, row, 2400, 9)


def of_pairs(run: Run, generator: np.random.Generator) -> Iterator[Measurement]:
    """1,000 pairs x 100 sizes, a slice each."""
    like = run.measurements[0].configuration
    sizes = sorted({round(2 ** (22 * step / 119)) for step in range(120)})[-100:]
    for pair in islice(combinations(range(46), 2), 1000):
        for size in sizes:
            row = msgspec.structs.replace(like, pair=pair, size=size, variant=())
            yield from measured(run, generator, row, 20, 1)


def write(path: Path, run: Run, measurements: Iterable[Measurement]) -> None:
    ranks: list[Environment] = [
        msgspec.structs.replace(run.environments[0], rank=rank, host=f"node{rank}")
        for rank in range(46)
    ]
    header: Header = run.header
    end = RunEnd(reason=None, seconds=100.0, timed=90.0)
    with path.open("wb") as file:
        file.writelines(map(encode, chain((header, *ranks), measurements, (end,))))


def report(path: Path) -> tuple[float, Path]:
    """How long the report of a run file took, s, and the page."""
    page = path.with_suffix(".html")
    began = time.monotonic()
    subprocess.run([HALFTRIP, "report", path, "-o", page], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began, page


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=_WANTED)
    only = parser.parse_args().only
    run, status = load(_LIKE), 0
    report_of = {"file": of_a_file, "pairs": of_pairs}
    with tempfile.TemporaryDirectory() as directory:
        first = Path(directory, "first.jsonl")
        first.write_bytes(_LIKE.read_bytes())
        report(first)
        for name in [only] if only else _WANTED:
            path = Path(directory, f"{name}.jsonl")
            write(path, run, report_of[name](run, np.random.default_rng(1)))
            seconds, page = report(path)
            status |= seconds >= _WANTED[name]
            print(
                f"{name}: {path.stat().st_size / 1e6:.1f} MB, {seconds:.1f} s "
                f"(wanted: under {_WANTED[name]:.0f} s), page {page.stat().st_size / 1e6:.2f} MB"
            )
    return status


if __name__ == "__main__":
    sys.exit(main())
