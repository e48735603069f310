"""How long whole commands take: short ones, the default run, one beside a plain sweep, and one with
many ranks; and a change from configuration to configuration.

python benchmarks/sessions.py                    # all but the start
python benchmarks/sessions.py --only ranks --ranks 24,64,128
python benchmarks/sessions.py --only start --before OTHER/.venv/bin/halftrip
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from contenders import HERE, require, run
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.run_file import load

HALFTRIP = Path(sys.executable).with_name("halftrip")
ROUNDS = 9
# Wanted: seconds of session of so many ranks, all pairs, without the start of the processes.
SESSION_SECONDS = {24: 1.0, 64: 6.0, 128: 30.0}
CHANGE_MS = 3.0
# Wanted of short commands, s, prompt to prompt; and of the default run, and of its share in timed
# loops.
STARTS = {
    "halftrip --help": 0.15,
    "halftrip show": 0.4,
    "halftrip run -t shm -s 8 --time 0.1s": 0.35,
    "mpiexec -n 2 halftrip run -t mpi -s 8 --time 0.1s": None,
}
DEFAULT_SECONDS, TIMED_SHARE = 60.0, 0.7


def halftrip_run(*arguments: str) -> Run:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        run(HALFTRIP, "run", "--no-config", "-q", "-o", path, *arguments)
        return load(path)


def seconds(work: Sequence[str | Path]) -> float:
    began = time.perf_counter()
    run(*work)
    return time.perf_counter() - began


def short_commands(before: Path) -> None:
    """Commands that a user waits for, each in turn with that of the installation `before`."""
    with tempfile.TemporaryDirectory() as directory:
        files = {HALFTRIP: f"{directory}/after.jsonl", before: f"{directory}/before.jsonl"}
        for program, file in files.items():
            run(program, "run", "--no-config", "-q", "-o", file)
        for command, wanted in STARTS.items():
            times: dict[Path, list[float]] = {HALFTRIP: [], before: []}
            for number, program in itertools.product(range(ROUNDS), times):
                words = [str(program.with_name(word)) for word in command.split()[:1]]
                words += [str(program) if w == "halftrip" else w for w in command.split()[1:]]
                if "run" in words:
                    words += ["-q", "-o", f"{directory}/{number}-{time.monotonic_ns()}.jsonl"]
                elif "show" in words:
                    words.append(files[program])
                times[program].append(seconds(words))
            ours, theirs = (statistics.median(each) for each in times.values())
            goal = "" if wanted is None else f"; wanted: at most {wanted:g}"
            print(f"{command}: {ours:.3f} s, before {theirs:.3f} ({ROUNDS} in turn{goal})")


def default_run() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        wall = seconds([HALFTRIP, "run", "--no-config", "-q", "-o", path])
        end, size = load(path).end, path.stat().st_size
    if end is None or end.timed is None:
        sys.exit("the run is not complete")
    print(
        f"default run: {wall:.1f} s (wanted: under {DEFAULT_SECONDS:.0f}), {size / 1e6:.1f} MB of "
        f"file, {end.timed / wall:.0%} in timed loops (wanted: at least {TIMED_SHARE:.0%})"
    )


def beside_a_sweep() -> None:
    """`halftrip run -t mpi` and the same sizes with OSU's counts in plain C, in turn."""
    require("mpicc.openmpi", "mpirun.openmpi")
    mpiexec = Path(shutil.which("mpirun.openmpi") or "")
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "sweep"
        run("mpicc.openmpi", "-O2", HERE / "sweep.c", "-o", program)
        file = Path(directory) / "run.jsonl"
        sweep = [mpiexec, "-n", "2", program]
        halftrip = [
            HALFTRIP,
            "run",
            "--no-config",
            "-t",
            "mpi",
            "--mpiexec",
            mpiexec,
            "-q",
            "-o",
            file,
        ]
        for _ in range(ROUNDS):
            theirs.append(seconds(sweep))
            ours.append(seconds(halftrip))
            file.unlink()
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    print(
        f"halftrip run -t mpi: {statistics.median(ours):.2f} s, plain C with OSU's counts: "
        f"{statistics.median(theirs):.2f} s; ratio {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}, {ROUNDS} rounds in turn; wanted: at most 1)"
    )


# Between two launches is a start.
ONE = ("--ci", "none", "--launches", "1")


def change_of_configuration() -> None:
    """From the last sample of a configuration to the first of the next, less its warm-up, once
    buffers and paths are there."""
    for transport in ("shm", "tcp", "mpi"):
        found = halftrip_run("-t", transport, "-s", "8,64,1K,4K", "--slices", "50", *ONE)
        slices = sorted(found.measurements, key=lambda m: m.at)
        # The first slice of each configuration opens its path and makes its buffers.
        costs = [
            ((later.blocks[0].start or 0) - _end(earlier) - later.warm_up.ns) * 1e-6
            for earlier, later in itertools.pairwise(slices)
            if later.slice > 0
        ]
        low, middle, high = statistics.quantiles(costs, n=4)
        print(
            f"change of configuration, {transport}: {middle:.2f} ms "
            f"(quartiles {low:.2f} to {high:.2f}, {len(costs)} turns; "
            f"wanted: at most {CHANGE_MS:.0f})"
        )


def _end(measurement: Measurement) -> int:
    """When the last sample ended, ns of CLOCK_MONOTONIC_RAW."""
    last = measurement.blocks[-1]
    return (last.start or 0) + last.elapsed


def many_ranks(counts: Sequence[int]) -> None:
    for ranks in counts:
        arguments = ("--pairs", "all", "-t", "tcp", "-s", "64", "--time", "0.001")
        found = halftrip_run("-n", str(ranks), *arguments)
        pairs = {m.configuration.pair for m in found.measurements}
        end = found.end
        if end is None or end.seconds is None or end.timed is None:
            sys.exit("the run is not complete")
        wanted = SESSION_SECONDS.get(ranks)
        goal = f"; wanted: at most {wanted:.0f} s" if wanted else ""
        print(
            f"{ranks} ranks, {len(pairs)} of {ranks * (ranks - 1) // 2} pairs: "
            f"{end.seconds:.2f} s of session, {end.timed:.2f} s timed at rank 0{goal}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="default,sweep,change,ranks")
    parser.add_argument("--before", type=Path, help="the halftrip of an installation before")
    parser.add_argument("--ranks", default="24,64,128")
    arguments = parser.parse_args()
    only = arguments.only.split(",")
    if "start" in only:
        if arguments.before is None:
            parser.error("start: --before names the halftrip to compare with")
        short_commands(arguments.before)
    if "default" in only:
        default_run()
    if "sweep" in only:
        beside_a_sweep()
    if "change" in only:
        change_of_configuration()
    if "ranks" in only:
        many_ranks([int(count) for count in arguments.ranks.split(",")])


if __name__ == "__main__":
    main()
