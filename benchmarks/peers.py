"""halftrip beside its peers, in turn, with the machine's bound beside every figure.

Each comparison runs its contenders A B A B ... and prints the ratio of halftrip's figure to the
peer's: its median over the rounds and its quartiles. Before and after each contender the cache-line
round trip is probed; a round counts only if the machine was in one state all through it, because
virtual cores move, and what differs by more than that is not the contender.

    python benchmarks/peers.py [--rounds 11] [--only mpi,tcp,shm]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from halftrip import _native, store
from halftrip.bounds import LineProbe
from halftrip.clock import Clock
from halftrip.memory.shared import SharedSegment, open_offer
from halftrip.model import Measurement, one_way_times
from halftrip.mpi import root_environment

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
CORES = sorted(os.sched_getaffinity(0))[:2]
MPI_SIZES = (8, 1024, 65536, 1 << 20)
# Two bounds of the same state are no further apart than this.
SAME_STATE = 1.3
# NetPIPE reports the best of so many averages.
NETPIPE_TRIALS = 7

# Now and then it says "No valid observations found".
SOCKPERF_ATTEMPTS = 5

# Figures are one-way times in microseconds, by size.
Figures = dict[int, float]
Contender = Callable[[], Figures]


class Bound:
    """The cache-line round trip between the two cores, whenever it is asked for."""

    def __init__(self) -> None:
        self._clock = Clock()

    def probe(self) -> float:
        """ns, measured by two processes that live for this alone."""
        segment = SharedSegment(_native.shm_segment_size)
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {CORES[1]})
            LineProbe(open_offer(segment.offer), self._clock).follow()
            os._exit(0)
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {CORES[0]})
        bound = LineProbe(segment.bytes, self._clock).lead()
        os.sched_setaffinity(0, mine)
        os.waitpid(child, 0)
        segment.close()
        return bound


@dataclass
class Comparison:
    """Two contenders and what came of them, round by round."""

    name: str
    ours: Contender
    peer: Contender
    wanted: float
    rounds: list[tuple[Figures, Figures, float, float]] = field(default_factory=list)

    def run(self, bound: Bound) -> None:
        """One round: ours, theirs, and the bounds around them."""
        bounds = [bound.probe()]
        ours = self.ours()
        bounds.append(bound.probe())
        peer = self.peer()
        bounds.append(bound.probe())
        self.rounds.append((ours, peer, min(bounds), max(bounds)))

    def report(self) -> Iterator[str]:
        steady = [r for r in self.rounds if r[3] <= SAME_STATE * r[2]]
        counted = steady if len(steady) >= 3 else self.rounds
        for size in sorted(counted[0][0]):
            ratios = sorted(ours[size] / peer[size] for ours, peer, _, _ in counted)
            ours = statistics.median(r[0][size] for r in counted)
            peer = statistics.median(r[1][size] for r in counted)
            low, high = np.quantile(ratios, [0.25, 0.75])
            ratio = statistics.median(ratios)
            lines = [r[2] for r in counted]
            verdict = "ok" if ratio <= self.wanted else "missed"
            yield (
                f"| {self.name} | {size} | {ours:.3f} | {peer:.3f} | {ratio:.3f} "
                f"({low:.3f} to {high:.3f}) | {self.wanted:.2f} {verdict} "
                f"| {min(lines):.0f} to {max(lines):.0f} | {len(steady)} of {len(self.rounds)} |"
            )


def halftrip(
    *arguments: str,
    statistic: Callable[[Measurement], float] = lambda m: float(np.median(one_way_times(m))),
) -> Contender:
    """halftrip's figure for each size: the median, or another statistic of a measurement, ns."""

    def measure() -> Figures:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "run.jsonl"
            command = [
                BIN / "halftrip",
                "run",
                "-q",
                "-o",
                path,
                "--cores",
                f"{CORES[0]},{CORES[1]}",
            ]
            subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
            run = store.load(path)
        return {m.case.size: statistic(m) / 1e3 for m in run.measurements}

    return measure


def best_of_trials(measurement: Measurement) -> float:
    """What NetPIPE would say: the least of the averages over its trials, ns."""
    parts = np.array_split(one_way_times(measurement), NETPIPE_TRIALS)
    return min(float(part.mean()) for part in parts if part.size)


def run(*command: str | Path) -> str:
    """The output of a command, which has to succeed."""
    result = subprocess.run(
        [str(word) for word in command],
        env=os.environ | root_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if result.returncode != 0:
        sys.exit(f"{command}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def plain_c(mpiexec: Path, mpicc: Path, directory: Path, options: tuple[str, ...]) -> Contender:
    """benchmarks/pingpong.c, built with the same MPI."""
    program = directory / f"pingpong-{mpicc.name}"
    run(mpicc, "-O2", HERE / "pingpong.c", "-o", program)

    def measure() -> Figures:
        cores = [str(core) for core in CORES]
        sizes = [str(size) for size in MPI_SIZES]
        said = run(mpiexec, *options, "-n", "2", program, *cores, *sizes)
        lines = (line.split() for line in said.splitlines())
        return {int(words[0]): float(words[1]) for words in lines if len(words) == 2}

    return measure


NETPIPE_LINE = re.compile(r"(\d+) bytes\s+\d+ times -->\s+([\d.]+) Mbps in\s+([\d.]+) usec")


def netpipe_figures(said: str) -> Figures:
    """One-way times; worked out from the rate, which has more digits than the time."""
    return {
        int(size): int(size) * 8 / (float(rate) * 1.048576) if float(rate) else float(time_)
        for size, rate, time_ in NETPIPE_LINE.findall(said)
    }


def netpipe_mpi(mpiexec: Path, program: Path, options: tuple[str, ...]) -> Contender:
    """NetPIPE over MPI, each rank on its core."""
    pinned = [str(core) for core in CORES]
    # The ranks inherit nothing that tells them apart before MPI_Init, so a shell looks.
    script = (
        'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; core=$1; [ "$rank" = 1 ] && core=$2; '
        'shift 2; exec taskset -c "$core" "$@"'
    )

    def measure() -> Figures:
        figures = {}
        for size in MPI_SIZES:
            bounds = ("-p", "0", "-l", str(size), "-u", str(size), "-o", os.devnull)
            command = ("sh", "-c", script, "sh", *pinned, program, *bounds)
            figures |= netpipe_figures(run(mpiexec, *options, "-n", "2", *command))
        return figures

    return measure


@contextmanager
def server(*command: str) -> Iterator[None]:
    """A server on the second core, until the block is left."""
    process = subprocess.Popen(
        ["taskset", "-c", str(CORES[1]), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.4)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def sockperf(*options: str, size: int = 64) -> Contender:
    """sockperf's median over TCP."""
    where = ("-i", "127.0.0.1", "-p", "11119", "--tcp", *options)

    def measure() -> Figures:
        client = ("sockperf", "ping-pong", *where, "-m", str(size), "-t", "1")
        for _ in range(SOCKPERF_ATTEMPTS):
            with server("sockperf", "server", *where):
                said = run("taskset", "-c", str(CORES[0]), *client)
            match = re.search(r"percentile 50\.000 =\s+([\d.]+)", said)
            if match is not None:
                return {size: float(match[1])}
        sys.exit(f"sockperf: {said}")

    return measure


def netpipe_tcp(size: int = 64) -> Contender:
    """NetPIPE over TCP."""

    def measure() -> Figures:
        bounds = ("-p", "0", "-l", str(size), "-u", str(size), "-o", os.devnull)
        with server("NPtcp", *bounds):
            client = ("NPtcp", "-h", "127.0.0.1", *bounds)
            return netpipe_figures(run("taskset", "-c", str(CORES[0]), *client))

    return measure


def half_line(figures: dict[str, Figures]) -> Contender:
    """Half the cache-line round trip that the run in `figures` had around its row."""
    return lambda: figures["line"]


def shm_with_line() -> tuple[Contender, Contender]:
    """shm at 8 bytes, and half the line of the same row."""
    last: dict[str, Figures] = {}

    def measure() -> Figures:
        def keep_line(measurement: Measurement) -> float:
            line = measurement.line
            if line is None:
                sys.exit("there is no line between these ranks")
            last["line"] = {8: (line.before + line.after) / 4 / 1e3}
            return float(np.median(one_way_times(measurement)))

        return halftrip("-t", "shm", "-s", "8", statistic=keep_line)()

    return measure, half_line(last)


def needed(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}; see benchmarks/README.md for their packages")


def mpi_comparisons(directory: Path) -> Iterator[Comparison]:
    """Each MPI: halftrip against the plain loop and NetPIPE, and shm against its bandwidth."""
    needed(
        "mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich", "NPopenmpi", "NPmpich2"
    )
    unbound = ("--bind-to", "none")
    installed: list[tuple[str, Path, Path, str | None, tuple[str, ...]]] = [
        ("Open MPI 5 (wheel)", BIN / "mpiexec", BIN / "mpicc", None, unbound),
        ("Open MPI 4", Path("mpirun.openmpi"), Path("mpicc.openmpi"), "NPopenmpi", unbound),
        ("MPICH 4", Path("mpirun.mpich"), Path("mpicc.mpich"), "NPmpich2", ("-bind-to", "none")),
    ]
    sizes = ",".join(str(size) for size in MPI_SIZES)
    for name, mpiexec, mpicc, netpipe, options in installed:
        ours = ("--mpiexec", str(mpiexec), "-s", sizes)
        plain = plain_c(mpiexec, mpicc, directory, options)
        yield Comparison(f"mpi, {name}, plain C", halftrip("-t", "mpi", *ours), plain, 1.03)
        if netpipe is not None:
            same = halftrip(*("-t", "mpi", "--buffers", "same", *ours), statistic=best_of_trials)
            peer = netpipe_mpi(mpiexec, Path(netpipe), options)
            yield Comparison(f"mpi, {name}, NetPIPE", same, peer, 1.03)


def tcp_comparisons(_: Path) -> Iterator[Comparison]:
    """TCP on loopback at 64 bytes."""
    needed("sockperf", "NPtcp")
    ours = ("-t", "tcp", "-s", "64")
    spin = (*ours, "--wait", "spin")
    yield Comparison("tcp block, sockperf", halftrip(*ours), sockperf(), 1.03)
    yield Comparison("tcp spin, sockperf", halftrip(*spin), sockperf("--nonblocked"), 1.03)
    same = halftrip(*ours, "--buffers", "same", statistic=best_of_trials)
    yield Comparison("tcp block, NetPIPE", same, netpipe_tcp(), 1.03)


def shm_comparisons(_: Path) -> Iterator[Comparison]:
    """Shared memory against the bound, and against each MPI for large messages."""
    shm, line = shm_with_line()
    yield Comparison("shm, half a line", shm, line, 1.3)
    large = halftrip("-t", "shm", "-s", "1M")
    for name, mpiexec in (
        ("Open MPI 5 (wheel)", str(BIN / "mpiexec")),
        ("Open MPI 4", "mpirun.openmpi"),
        ("MPICH 4", "mpirun.mpich"),
    ):
        peer = halftrip("-t", "mpi", "-s", "1M", "--mpiexec", mpiexec)
        yield Comparison(f"shm, mpi of {name}", large, peer, 1.0)


FAMILIES = {"mpi": mpi_comparisons, "tcp": tcp_comparisons, "shm": shm_comparisons}
HEADING = (
    "| what, peer | bytes | halftrip us | peer us | ratio (quartiles) | wanted | line ns "
    "| steady rounds |\n|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default=",".join(FAMILIES), help="mpi, tcp, shm")
    options = parser.parse_args()
    bound = Bound()
    with tempfile.TemporaryDirectory() as directory:
        families = [FAMILIES[name](Path(directory)) for name in options.only.split(",")]
        comparisons = [comparison for family in families for comparison in family]
        for number in range(options.rounds):
            for comparison in comparisons:
                print(f"\rround {number + 1}: {comparison.name:40}", end="", file=sys.stderr)
                comparison.run(bound)
    print(file=sys.stderr)
    print(HEADING)
    for comparison in comparisons:
        for line in comparison.report():
            print(line)


if __name__ == "__main__":
    main()
