"""A plain ping-pong with mpi4py, as written by hand, to compare halftrip with. Prints, for each
given size, the size, and the median and the mean of half a round trip in microseconds."""

import os
import sys
from time import perf_counter_ns

import numpy as np
from mpi4py import MPI


def exchange(rank: int, out: np.ndarray, in_: np.ndarray, count: int) -> None:
    comm = MPI.COMM_WORLD
    if rank == 0:
        for _ in range(count):
            comm.Send(out, 1, 0)
            comm.Recv(in_, 1, 0)
    else:
        for _ in range(count):
            comm.Recv(in_, 0, 0)
            comm.Send(out, 0, 0)


def main() -> None:
    first, second, *sizes = map(int, sys.argv[1:])
    rank = MPI.COMM_WORLD.Get_rank()
    os.sched_setaffinity(0, {(first, second)[rank]})
    for size in sizes:
        batch = 10 if size < 8192 else 1
        samples = 10000 if size < 262144 else 1000
        out, in_ = np.ones(size, np.uint8), np.ones(size, np.uint8)
        exchange(rank, out, in_, 100)
        times = []
        last = perf_counter_ns()
        for _ in range(samples):
            exchange(rank, out, in_, batch)
            now = perf_counter_ns()
            times.append(now - last)
            last = now
        us = np.array(times) / batch / 2 / 1e3
        if rank == 0:
            print(size, f"{np.median(us):.5f} {us.mean():.5f}", flush=True)


main()
