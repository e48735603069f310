"""The contenders: halftrip and its peers. All give the time of one message."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from comparison import CORES, Contender, Figure, Times
from halftrip import _native
from halftrip.mpi.launcher import root_environment
from halftrip.results.counts import add_deliveries, delivered_share
from halftrip.results.patterns import ROUND_TRIP, Pattern
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.stats.quantile import Floats

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
# NetPIPE reports the best of this many averages.
NETPIPE_TRIALS = 7
# sockperf sometimes fails with "No valid observations found".
SOCKPERF_ATTEMPTS = 5
# Programs and their Debian packages.
PACKAGES = {
    "mpirun.openmpi": "openmpi-bin",
    "mpicc.openmpi": "libopenmpi-dev",
    "mpirun.mpich": "mpich",
    "mpicc.mpich": "libmpich-dev",
    "NPopenmpi": "netpipe-openmpi",
    "NPmpich2": "netpipe-mpich2",
    "NPtcp": "netpipe-tcp",
    "sockperf": "sockperf",
    "iperf3": "iperf3",
    "fi_pingpong": "libfabric-bin",
    "ucx_perftest": "ucx-utils",
}


def require(*programs: str) -> None:
    """Exits, and names the packages, if some of these programs are not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        packages = " ".join(dict.fromkeys(PACKAGES[program] for program in missing))
        sys.exit(f"missing: {', '.join(missing)}; on Debian: apt install {packages}")


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command; exits if it fails."""
    result = subprocess.run(
        [str(word) for word in command],
        env=os.environ | root_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if result.returncode != 0:
        sys.exit(f"{command}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


PINNED = ("--cores", f"{CORES[0]},{CORES[1]}")
# As a program that measures one pair of processes in one go: by default halftrip starts several,
# and comes back to each row for some ms, at whose beginning caches and TCP's windows are not yet as
# they will be: 1 to 5 % of a mean.
IN_ONE_GO = ("--launches", "1", "--slices", "4", "--time", "0.5s")
# A figure of all slices of a configuration, ns.
Statistic = Callable[[Sequence[Measurement]], float]


def one_way_times(slices: Sequence[Measurement]) -> Floats:
    """The times of one message in one direction, in time order, ns, shape (n,)."""
    return np.concatenate([each.one_way_times for each in slices])


def median_ns(slices: Sequence[Measurement]) -> float:
    """The median time of one message."""
    return float(np.median(one_way_times(slices)))


def mean_ns(slices: Sequence[Measurement]) -> float:
    """The mean time of one message that arrived, for a rate over the whole time."""
    delivery = add_deliveries(each.delivery for each in slices)
    delivered = delivered_share(slices[0].configuration, delivery)
    return float(one_way_times(slices).mean()) / delivered


def best_of_trials_ns(slices: Sequence[Measurement]) -> float:
    """The statistic of NetPIPE: the least of the averages over its trials."""
    parts = np.array_split(one_way_times(slices), NETPIPE_TRIALS)
    return min(float(part.mean()) for part in parts if part.size)


def halftrip(*arguments: str, statistic: Statistic = median_ns) -> Contender:
    """halftrip's figure at each size: the median, or another statistic."""
    return lambda: halftrip_times((*PINNED, *arguments), statistic)


def recipe(
    name: str, *options: str, pattern: Pattern = ROUND_TRIP, sizes: Collection[int] = ()
) -> Contender:
    """halftrip's mean of one pattern of a recipe, at these sizes of it, or at all."""

    def measure() -> Times:
        measured = halftrip_run((name, *PINNED, *options))
        return {
            each.size: Figure(mean_ns(slices) / 1e3)
            for each, slices in measured.by_configuration.items()
            if each.pattern == pattern and (not sizes or each.size in sizes)
        }

    return measure


def halftrip_times(
    arguments: Sequence[str],
    statistic: Statistic,
    prefix: Sequence[str] = (),
    **environment: str,
) -> Times:
    """The times of one run of halftrip, which `prefix` starts."""
    return times_of(halftrip_run(arguments, prefix, **environment), statistic)


def halftrip_run(arguments: Sequence[str], prefix: Sequence[str] = (), **environment: str) -> Run:
    """A run of halftrip, which `prefix` starts."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        command = (BIN / "halftrip", "run", "--no-config", "-q", "-o", path)
        run(*prefix, *command, *arguments, **environment)
        return load(path)


def times_of(measured: Run, statistic: Statistic) -> Times:
    """The figure at each size, of all slices."""
    # A mean beside another statistic than the median would be compared with nothing.
    is_median = statistic is median_ns
    return {
        configuration.size: Figure(
            statistic(slices) / 1e3, mean_ns(slices) / 1e3 if is_median else None
        )
        for configuration, slices in measured.by_configuration.items()
    }


def plain_c(
    source: str,
    words: tuple[str, ...],
    sizes: tuple[int, ...],
    mpiexec: Path,
    mpicc: Path,
    directory: Path,
    options: tuple[str, ...],
) -> Contender:
    """A C program of this directory, built with the same MPI. Its arguments are `words`, the cores
    and the sizes; it prints each size, and its median and mean time in microseconds."""
    program = directory / f"{Path(source).stem}-{mpicc.name}"
    run(mpicc, "-O2", HERE / source, "-o", program)
    return two_ranks((str(program), *words), sizes, mpiexec, options)


def script(
    source: str, sizes: tuple[int, ...], mpiexec: Path, options: tuple[str, ...]
) -> Contender:
    """A Python program of this directory, with the same arguments and output."""
    return two_ranks((sys.executable, str(HERE / source)), sizes, mpiexec, options)


def two_ranks(
    command: tuple[str, ...], sizes: tuple[int, ...], mpiexec: Path, options: tuple[str, ...]
) -> Contender:
    """A program that two ranks run; after its own arguments it takes the cores and the sizes."""

    def measure() -> Times:
        numbers = [str(number) for number in (*CORES, *sizes)]
        output = run(mpiexec, *options, "-n", "2", *command, *numbers)
        lines = (line.split() for line in output.splitlines())
        return {
            int(words[0]): Figure(float(words[1]), float(words[2]))
            for words in lines
            if len(words) == 3
        }

    return measure


# Programs that cannot pin themselves: a shell reads the rank from the launcher's variables.
PINNING = (
    'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; core=$1; [ "$rank" = 1 ] && core=$2; '
    'shift 2; exec taskset -c "$core" "$@"'
)


def run_ranks(
    mpiexec: Path, options: tuple[str, ...], *command: str | Path, **environment: str
) -> str:
    """The output of a program that two ranks run, each on its core."""
    pinned = ("sh", "-c", PINNING, "sh", *map(str, CORES))
    return run(mpiexec, *options, "-n", "2", *pinned, *command, **environment)


def osu_sweep(
    sizes: tuple[int, ...],
    mpiexec: Path,
    mpicc: Path,
    directory: Path,
    options: tuple[str, ...],
) -> Contender:
    """osu_latency in plain C: its sizes up to the largest of these, its counts, its mean."""
    program = directory / f"sweep-{mpicc.name}"
    run(mpicc, "-O2", HERE / "sweep.c", "-o", program)

    def measure() -> Times:
        lines = map(str.split, run_ranks(mpiexec, options, program, str(max(sizes))).splitlines())
        times = {int(words[0]): Figure(float(words[1])) for words in lines if len(words) == 2}
        return {size: times[size] for size in sizes}

    return measure


IMB = "IMB-MPI1"
IMB_ROW = re.compile(r"^ +(\d+) +\d+ +([\d.]+) +[\d.]+ *$", re.MULTILINE)


def imb(sizes: tuple[int, ...], mpiexec: Path, options: tuple[str, ...]) -> Contender:
    """IMB's PingPong, whose figure is a mean, with MPICH's library. Sizes are powers of 2."""
    # The program asks for libmpi.so.12, as halftrip's mpi4py does: an empty library that comes with
    # halftrip has that name.
    library = {
        "LD_PRELOAD": "libmpich.so.12",
        "LD_LIBRARY_PATH": str(Path(_native.__file__).parent),
    }

    def measure() -> Times:
        times = {}
        for size in sizes:
            log = size.bit_length() - 1
            words = ("PingPong", "-msglog", f"{log}:{log}")
            output = run_ranks(mpiexec, options, IMB, *words, **library)
            found = {int(each): float(us) for each, us in IMB_ROW.findall(output)}
            times[size] = Figure(found[size])
        return times

    return measure


NETPIPE_LINE = re.compile(r"(\d+) bytes\s+\d+ times -->\s+([\d.]+) Mbps in\s+([\d.]+) usec")


def netpipe_times(output: str) -> Times:
    """One-way times, computed from the rate, which has more digits than the printed time."""
    return {
        int(size): Figure(int(size) * 8 / (float(rate) * 1.048576) if float(rate) else float(time_))
        for size, rate, time_ in NETPIPE_LINE.findall(output)
    }


def netpipe_mpi(
    sizes: tuple[int, ...], mpiexec: Path, program: Path, options: tuple[str, ...]
) -> Contender:
    """NetPIPE over MPI, each rank on its core."""

    def measure() -> Times:
        times = {}
        for size in sizes:
            bounds = ("-p", "0", "-l", str(size), "-u", str(size), "-o", os.devnull)
            times |= netpipe_times(run_ranks(mpiexec, options, program, *bounds))
        return times

    return measure


class Ends(NamedTuple):
    """Where a client and its server run: what to put before the commands of either, and the
    server's address."""

    client: tuple[str, ...]
    server: tuple[str, ...]
    address: str


LOOPBACK = Ends(("taskset", "-c", str(CORES[0])), ("taskset", "-c", str(CORES[1])), "127.0.0.1")


@contextmanager
def server(ends: Ends, *command: str) -> Iterator[None]:
    """A server, until the block is left."""
    process = subprocess.Popen(
        [*ends.server, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.4)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def sockperf(
    *options: str,
    sizes: Sequence[int] = (64,),
    ends: Ends = LOOPBACK,
    statistic: Literal["median", "mean"] = "median",
) -> Contender:
    """sockperf's median and mean, or its mean alone, over UDP unless told otherwise."""
    where = ("-i", ends.address, "-p", "11119", *options)

    def measure_one(size: int) -> Figure:
        for _ in range(SOCKPERF_ATTEMPTS):
            with server(ends, "sockperf", "server", *where):
                one = ("-m", str(size), "-t", "1")
                output = run(*ends.client, "sockperf", "ping-pong", *where, *one)
            median = re.search(r"percentile 50\.000 =\s+([\d.]+)", output)
            mean = re.search(r"Latency is ([\d.]+) usec", output)
            if median is not None and mean is not None:
                if statistic == "mean":
                    return Figure(float(mean[1]))
                return Figure(float(median[1]), float(mean[1]))
        sys.exit(f"sockperf: {output}")

    return lambda: {size: measure_one(size) for size in sizes}


def fi_pingpong(provider: str, size: int) -> Contender:
    """fi_pingpong of libfabric, which prints means, between reliable datagram endpoints."""

    def measure() -> Times:
        # About a second.
        messages = max(1000, min(10**6, (1 << 30) // max(size, 1)))
        one = ("-p", provider, "-e", "rdm", "-S", str(size), "-I", str(messages))
        with server(LOOPBACK, "fi_pingpong", *one):
            output = run(*LOOPBACK.client, "fi_pingpong", *one, LOOPBACK.address)
        return {size: Figure(float(output.splitlines()[-1].split()[-2]))}

    return measure


def netpipe_tcp(size: int = 64) -> Contender:
    """NetPIPE over TCP."""

    def measure() -> Times:
        bounds = ("-p", "0", "-l", str(size), "-u", str(size), "-o", os.devnull)
        with server(LOOPBACK, "NPtcp", *bounds):
            client = (*LOOPBACK.client, "NPtcp", "-h", LOOPBACK.address)
            return netpipe_times(run(*client, *bounds))

    return measure


def iperf3(size: int, *options: str, ends: Ends = LOOPBACK) -> Contender:
    """iperf3: one stream of writes of `size` for a second, over TCP unless told otherwise, and the
    rate at its receiver; with --bidir, a stream each way, and the mean of both rates."""
    where = ("-p", "11121")

    def measure() -> Times:
        with server(ends, "iperf3", "-s", "-1", *where):
            one = ("-t", "1", "-P", "1", "-l", str(size), *options)
            client = (*ends.client, "iperf3", "-c", ends.address)
            output = run(*client, *where, "-J", *one)
        # Text may follow the JSON object.
        ended = json.JSONDecoder().raw_decode(output)[0]["end"]
        ways = [sums for name, sums in ended.items() if name.startswith("sum_received")]
        rate = sum(way["bits_per_second"] for way in ways) / len(ways)
        return {size: Figure(size * 8 / rate * 1e6)}

    return measure
