"""Ping-pong over Dragon channels, one way, microseconds: halftrip's native endpoint, the kernels of
the runtime's own dragon.perf, and Dragon's Python API, in turn between the same two processes.

    dragon -s benchmarks/dragon_channels.py

The kernels hand memory over and neither write nor read it. A message of halftrip's is copied into
such memory and out of it, so that its bytes have moved: the column `two copies` is what that takes
at least, in the caches of one core.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from comparison import CORES
from halftrip import _native
from halftrip.clock import Clock
from halftrip.dragon.channels import Channels, library_path

SIZES = (8, 1024, 65536, 1 << 20)
WAITS = ("spin", "adaptive")
# dragonChPerfOpcode_t
SEND, GET = 0, 1
_PATIENCE_SECONDS = 20.0

Timed = Callable[[int], float]


class Serial(ctypes.Structure):
    """dragonChannelSerial_t"""

    _fields_ = (("length", ctypes.c_size_t), ("bytes", ctypes.c_char_p))


def swap(directory: str, rank: int, name: str, value: bytes) -> bytes:
    """Gives the other rank a value, and returns the other's."""
    own, theirs = (Path(directory, f"{name}-{number}") for number in (rank, 1 - rank))
    own.with_suffix(".part").write_bytes(value)
    own.with_suffix(".part").rename(own)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not theirs.exists():
        if time.monotonic() > deadline:
            sys.exit(f"rank {1 - rank} does not answer")
        time.sleep(0.001)
    return theirs.read_bytes()


def native(channels: Channels, transfers: bool, rank: int, size: int, clock: Clock) -> Timed:
    buffers = np.ones((2, 1, size), np.uint8)
    out, in_ = map(_native.Ring, buffers)
    end = channels.endpoint(out, transfers)
    end.load()
    part = _native.respond if rank else _native.initiate

    def run(count: int) -> float:
        stamps = np.zeros(2, np.int64)
        part(end, "pingpong", out, in_, 1, 10, count, stamps, clock.source)
        return float(clock.intervals(stamps)[0]) / count / 2e3 if rank == 0 else 0.0

    return run


class Kernels:
    """The kernels of dragon.perf, over channels in the order of their ranks."""

    def __init__(self, rank: int, serialized: list[bytes]) -> None:
        self._rank = rank
        self._library = ctypes.CDLL(str(library_path()))
        self._number = 0
        all_ = (Serial * 2)(*(Serial(len(each), each) for each in serialized))
        self._call("dragon_chperf_session_new", all_, 2)

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            sys.exit(f"{name}: {code}")

    def timed(self, size: int) -> Timed:
        def run(count: int) -> float:
            number, self._number = self._number, self._number + 1
            self._call("dragon_chperf_kernel_new", number, self._rank, 2)
            steps = [(SEND, 1 - self._rank), (GET, self._rank)]
            for code, channel in (steps if self._rank == 0 else steps[::-1]) * count:
                patience = ctypes.c_double(_PATIENCE_SECONDS)
                bytes_ = ctypes.c_size_t(size)
                self._call(
                    "dragon_chperf_kernel_append_op", number, code, channel, bytes_, patience
                )
            seconds = ctypes.c_double()
            self._call("dragon_chperf_kernel_run", number, ctypes.byref(seconds))
            return seconds.value / count / 2 * 1e6

        return run


def python_api(own: bytes, theirs: bytes, rank: int, size: int) -> Timed:
    from dragon.channels import Channel

    receiver, sender = Channel.attach(own).recvh(), Channel.attach(theirs).sendh()
    receiver.open()
    sender.open()
    message = bytes(size)

    def run(count: int) -> float:
        began = time.perf_counter_ns()
        for _ in range(count):
            if rank == 0:
                sender.send_bytes(message)
                receiver.recv_bytes()
            else:
                receiver.recv_bytes()
                sender.send_bytes(message)
        return (time.perf_counter_ns() - began) / count / 2e3

    return run


def two_copies(size: int) -> Timed:
    first, second = np.ones((2, size), np.uint8)

    def run(count: int) -> float:
        began = time.perf_counter_ns()
        for _ in range(count):
            np.copyto(second, first)
            np.copyto(first, second)
        return (time.perf_counter_ns() - began) / count / 1e3

    return run


def measure(rank: int, directory: str, rounds: int) -> None:
    os.sched_setaffinity(0, {CORES[rank]})
    clock = Clock()
    channels = {wait: Channels(wait, 128) for wait in WAITS}
    others = {wait: swap(directory, rank, wait, each.serialized) for wait, each in channels.items()}
    for wait, each in channels.items():
        each.connect(others[wait])
    own, theirs = channels["spin"].serialized, others["spin"]
    kernels = Kernels(rank, [own, theirs] if rank == 0 else [theirs, own])
    if rank == 0:
        names = "halftrip, spin", "adaptive", "transfer", "dragon.perf", "two copies", "Python API"
        print(f"| bytes | {' | '.join(names)} |\n|---{'|---' * len(names)}|", flush=True)
    for size in SIZES:
        contenders = [native(channels[wait], False, rank, size, clock) for wait in WAITS]
        contenders.append(native(channels["spin"], True, rank, size, clock))
        contenders += [kernels.timed(size), two_copies(size), python_api(own, theirs, rank, size)]
        count = 500 if size < 100_000 else 50
        times = []
        for number in range(rounds):
            swap(directory, rank, f"round-{size}-{number}", b"")
            times.append([run(count) for run in contenders])
        if rank == 0:
            quartiles = np.quantile(np.array(times), (0.25, 0.5, 0.75), axis=0).T
            cells = (f"{mid:.2f} ({low:.2f} to {high:.2f})" for low, mid, high in quartiles)
            print(f"| {size} | {' | '.join(cells)} |", flush=True)


def start_ranks(rounds: int) -> None:
    """What the head process does."""
    from dragon.infrastructure.process_desc import ProcessOptions
    from dragon.native.process import Process

    with tempfile.TemporaryDirectory() as directory:
        words = ("--rounds", str(rounds), "--directory", directory, "--rank")
        ranks = [
            Process(
                target=sys.executable,
                args=[__file__, *words, str(rank)],
                options=ProcessOptions(make_inf_channels=True),
            )
            for rank in range(2)
        ]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--directory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is None:
        start_ranks(options.rounds)
    else:
        measure(options.rank, options.directory, options.rounds)


if __name__ == "__main__":
    main()
