"""How long a map of many cores takes to be drawn, and in how many rounds it is measured.

    .venv/bin/python benchmarks/maps.py [--cores 64,256] [--keep DIRECTORY]

Prints, for each number of cores, the rounds of its pairs, the CPU time of each picture alone, of a
run that has been read and judged, and the time of the whole command ``halftrip plot``. Eight cores
share a cache, half of them a NUMA node; nothing is measured. The exit status is 1 where a picture
takes longer than it may.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np

from halftrip.plan.pairing import Schedule
from halftrip.plots.chart import Subject
from halftrip.plots.draw import draw
from halftrip.plots.writing import picture
from halftrip.report.document import document
from halftrip.results.block import Block, RoundTrips
from halftrip.results.configuration import Configuration
from halftrip.results.records import Environment, Measurement
from halftrip.results.run import Run
from halftrip.results.run_file import encode, load
from halftrip.results.threshold import Threshold
from pages import HALFTRIP

_LIKE = Path(__file__).parents[1] / "tests" / "golden" / "formats" / "1.jsonl"
_WANTED_SECONDS = 5.0
_SHARE_CACHE = 8
# Round trips, ns: of a cache, of a node, of two nodes; and of one pair of each map that is off.
_LEVELS = (50.0, 110.0, 250.0)
_OFF = 1.6
_SLICES, _SAMPLES = 4, 20


def level(one: int, other: int, cores: int) -> float:
    """The round trip between two cores, ns."""
    if one // _SHARE_CACHE == other // _SHARE_CACHE:
        return _LEVELS[0] * (_OFF if (one, other) == (1, 2) else 1.0)
    return _LEVELS[1 if one * 2 // cores == other * 2 // cores else 2]


def records(like: Run, cores: int) -> Iterator[Environment | Threshold | Measurement]:
    """What a run of all pairs has of so many cores."""
    generator = np.random.default_rng(1)
    first = like.environments[0]
    for rank in range(cores):
        node = rank * 2 // cores
        changes = {"rank": rank, "core": rank, "launch": 0, "siblings": [rank], "node": node}
        yield msgspec.structs.replace(first, **changes)
        shared = rank // _SHARE_CACHE * _SHARE_CACHE
        yield Threshold(
            rank=rank, name="the L3 cache", value=32 << 20, acts="cache", source="made up",
            cores=[*range(shared, min(shared + _SHARE_CACHE, cores))],
        )  # fmt: skip
    measured = like.measurements[0]
    for pair in combinations(range(cores), 2):
        typical = level(*pair, cores) * generator.lognormal(0.0, 0.03)
        configuration: Configuration = msgspec.structs.replace(
            measured.configuration, transport="shm", size=8, pair=pair, variant=(),
            concurrency=cores // 2,
        )  # fmt: skip
        for number in range(_SLICES):
            here = typical * generator.lognormal(0.0, 0.02)
            times = generator.normal(100 * here, here, _SAMPLES).round().astype(np.int64)
            block: Block = msgspec.structs.replace(
                measured.blocks[0], times=times, usage=None, core_to_core_rtt=RoundTrips(here, here)
            )
            yield msgspec.structs.replace(
                measured, configuration=configuration, slice=number, launch=0, iterations=50,
                blocks=[block], cores=None,
            )  # fmt: skip


def made(directory: Path, cores: int) -> Path:
    """The run file of a map of so many cores."""
    like = load(_LIKE)
    plan = {"cores": [*range(cores)], "pairs": "all", "ranks": cores}
    path = directory / f"cores-{cores}.jsonl"
    with path.open("wb") as file:
        file.write(encode(msgspec.structs.replace(like.header, plan=plan)))
        for each in records(like, cores):
            file.write(encode(each))
        if like.end is not None:
            file.write(encode(msgspec.structs.replace(like.end, clock_drift=[0.0] * cores)))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cores", default="64,256")
    parser.add_argument("--keep", type=Path, help="where the run files and the pictures stay")
    arguments = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.keep or Path(temporary)
        for cores in map(int, arguments.cores.split(",")):
            path = made(directory, cores)
            subject = Subject(path.stem, document(load(path), flags=False))
            began = time.process_time()
            charts = draw([subject], "pairs")
            picture(charts, "svg", "light")
            drawn = (time.process_time() - began) / len(charts)
            began = time.perf_counter()
            command = [HALFTRIP, "plot", path, "-k", "pairs", "-o", path.with_suffix(".svg")]
            subprocess.run(command, check=True)
            whole = time.perf_counter() - began
            rounds = Schedule(cores, "all").rounds
            pairs = cores * (cores - 1) // 2
            print(f"{cores} cores: {pairs:,} pairs in {rounds} rounds; a map is drawn in "
                  f"{drawn:.1f} s of CPU time, all in {whole:.1f} s")  # fmt: skip
            slow |= drawn > _WANTED_SECONDS
    return int(slow)


if __name__ == "__main__":
    raise SystemExit(main())
