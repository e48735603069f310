"""What a CUDA device's memory costs: its copies by halftrip and by plain C, in turn, and every path
between two ranks whose buffers are there.

Each round runs halftrip, whose run ends with the bounds of the device, and then `cuda_copies.c`, on
the core of halftrip's rank 0: A B A B ... The ratio is that of halftrip's copy to that of plain C,
both by the host's clock until they were waited for: the median over the rounds and its quartiles.
Beside it stands plain C's copy by two events around it, without its beginning and the wait for it,
and beside the time of each path the copies of plain C that it needs.

    python benchmarks/device_paths.py [--rounds 5] [--device 0] [--peer 1] [--sizes 8,1M,256M]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from contenders import BIN, HERE
from halftrip.analysis.rows import Row, rows
from halftrip.errors import UsageError
from halftrip.plan.settings import SETTINGS
from halftrip.results.configuration import Configuration
from halftrip.results.device import DeviceCopy
from halftrip.results.run import Run
from halftrip.results.run_file import load
from halftrip.units import format_size, parse_size, significant
from halftrip.views.network import stand_in

SIZES = "8,1K,64K,1M,16M,256M"
TRANSPORTS = "cuda-ipc,nccl,mpi,shm,tcp"
# From this size on a copy is no longer than plain C's by more than this factor.
LONG, TARGET = 1 << 20, 1.02
# A run has a limit, so that a driver that hangs ends it, s.
MOST_SECONDS = 1800

# The time of a copy, ns, by its name in the C program and its size.
Copies = dict[tuple[str, int], float]
NAMES = {"host to device": "h2d", "device to host": "d2h", "device to device": "d2d"}
# The copies of plain C that a message needs, one after the other.
STAGED, DIRECT = ("d2h", "h2d"), ("d2d",)


class Round(NamedTuple):
    """What both have measured in a round."""

    run: Run
    ours: Copies
    plain: Copies
    by_events: Copies


def finished(command: Sequence[str | Path], most: int = 0) -> str:
    """The output of a command; exits if it ends with a higher status than `most`."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"{words[0]} did not end within {MOST_SECONDS} s")
    except OSError as error:
        sys.exit(f"{words[0]}: {error.strerror}")
    if not 0 <= result.returncode <= most:
        sys.exit(f"{words[0]}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def measured(options: argparse.Namespace, path: Path) -> Run:
    """A run of halftrip over all paths."""
    own, peer = f"cuda@{options.device}", f"cuda@{options.peer}"
    command = [
        BIN / "halftrip", "run", "--no-config", "-q", "-o", path,
        "-t", options.transports, "--memory", f"{own},{own}:{peer}", "-s", options.sizes,
        "--staging", "none,whole", "--device-copy", "driver,engine",
        "-p", "pingpong,stream", "-W", str(options.window), "--time", options.time,
    ]  # fmt: skip
    # A status of 1: nothing was measured, and the run says why.
    finished(command, most=1)
    return load(path)


def copies_of(run: Run, memory: str) -> Copies:
    """halftrip's copies of a device that plain C has, too: one way, and page-locked."""
    return {
        (NAMES[copy.direction], copy.size): copy.ns
        for copy in run.device_copies
        if copy.memory == memory and _is_plain(copy)
    }


def _is_plain(copy: DeviceCopy) -> bool:
    return not copy.both_ways and not copy.peer and copy.host != "pageable"


def plain_copies(program: Path, core: int, device: int, sizes: Sequence[int]) -> list[Copies]:
    """The same of the C program, by the host's clock and by events."""
    output = finished([program, str(core), str(device), *map(str, sizes)])
    found = [line.split() for line in output.splitlines()]
    return [
        {(name, int(size)): float(times[which]) for name, size, *times in found} for which in (1, 0)
    ]


def one_round(options: argparse.Namespace, program: Path, path: Path) -> Round:
    run = measured(options, path)
    ours = copies_of(run, f"cuda@{options.device}")
    if not ours:
        said = [*(skip.reason for skip in run.skips), *(notice.text for notice in run.notices)]
        sys.exit(f"cuda@{options.device} was not measured: {(said or ['it is not there'])[0]}")
    core = run.first_ranks[0].core or 0
    sizes = {size for _, size in ours} | {row.configuration.size for row in rows(run)}
    return Round(run, ours, *plain_copies(program, core, options.device, sorted(sizes)))


def copy_lines(rounds: Sequence[Round]) -> Iterator[str]:
    yield (
        "| copy | bytes | halftrip, us | plain C, us | by events, us "
        "| halftrip / plain C (quartiles) | wanted |"
    )
    yield "|---" * 7 + "|"
    for name, size in rounds[0].ours:
        key = name, size
        ours, plain, by_events = (
            np.array([copies[key] for copies in of])
            for of in zip(*(each[1:] for each in rounds), strict=True)
        )
        low, ratio, high = np.quantile(ours / plain, [0.25, 0.5, 0.75])
        is_met = "ok" if ratio <= TARGET else "missed"
        wanted = f"at most {TARGET}: {is_met}" if size >= LONG else ""
        times = " | ".join(us(float(np.median(each))) for each in (ours, plain, by_events))
        found = f"{ratio:.3f} ({low:.3f} to {high:.3f})"
        yield f"| {name} | {format_size(size)} | {times} | {found} | {wanted} |"


def path_lines(last: Round) -> Iterator[str]:
    """The paths of a round, with intervals of 95 %."""
    yield "| path | bytes | us one way (95 %) | GB/s (95 %) | copies by plain C, us |"
    yield "|---" * 5 + "|"
    for row in rows(last.run):
        size, own = row.configuration.size, copies_needed(row.configuration, last.plain)
        yield (
            f"| {path_name(row.configuration)} | {format_size(size)} | {times(row)} "
            f"| {rates(row)} | {'' if own is None else us(own)} |"
        )


def path_name(configuration: Configuration) -> str:
    staging = SETTINGS["staging"].text(configuration)
    parts = [
        f"{configuration.transport} {configuration.both_ends('memory')}",
        f"staged {staging}" if staging else "",
        configuration.device_copy or "",
        f"window {configuration.window}" if configuration.window > 1 else "",
    ]
    return ", ".join(filter(None, parts))


def copies_needed(configuration: Configuration, plain: Copies) -> float | None:
    """What plain C takes for the copies that one message needs, ns; None of other devices."""
    initiator, responder = (end.memory for end in configuration.ends)
    if initiator != responder:
        return None
    needed = DIRECT if configuration.staging is None else STAGED
    return sum(plain[name, configuration.size] for name in needed)


def times(row: Row) -> str:
    found = row.summary
    return f"{us(found.latency)} ({us(found.low)} to {us(found.high)})"


def rates(row: Row) -> str:
    size, found = row.configuration.size, row.summary
    least = significant(size / found.high, 3)
    # Of few slices that differ much, the interval begins at 0.
    most = f"{least} to {significant(size / found.low, 3)}" if found.low > 0 else f"from {least} on"
    return f"{significant(size / found.latency, 3)} ({most})"


def us(ns: float) -> str:
    return significant(ns / 1e3, 4)


def sizes_text(text: str) -> str:
    """Checks sizes with commas between them."""
    try:
        good = all(parse_size(size) > 0 for size in text.split(","))
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not good:
        raise argparse.ArgumentTypeError("there is no copy of no bytes")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", type=int, default=0, help="its number in the driver's order")
    parser.add_argument("--peer", type=int, default=1, help="the second device, where there is one")
    parser.add_argument("--sizes", type=sizes_text, default=SIZES, help=f"[{SIZES}]")
    parser.add_argument("--transports", default=TRANSPORTS, help=f"[{TRANSPORTS}]")
    parser.add_argument("--window", type=int, default=4, help="messages of a stream in flight")
    parser.add_argument("--time", default="300ms", help="of each path, pattern and size")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "cuda_copies"
        finished(["cc", "-O2", HERE / "cuda_copies.c", "-o", program, "-ldl"])
        rounds = []
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            rounds.append(one_round(options, program, Path(directory) / f"{number}.jsonl"))
    last = rounds[-1]
    print("\n".join([*copy_lines(rounds), "", *path_lines(last), ""]))
    for device in last.run.devices:
        if device.rank == 0:
            print(f"{device.memory}: {device.name}, driver {device.driver}, CUDA {device.cuda}")
    for said in dict.fromkeys(
        f"not measured: {skip.transport}: {skip.reason}" for skip in last.run.skips
    ):
        print(said)
    for said in stand_in(last.run):
        print(said)


if __name__ == "__main__":
    main()
