"""Runs whose messages arrive when they are made to."""

import msgspec
import numpy as np

from halftrip.analysis.rows import rows
from halftrip.results.block import Block
from halftrip.results.records import ClockComparison
from harness import runs

SECOND = 1_000_000_000
BOOTED = 3 * 10**14


def block(there, back, start=BOOTED, ahead=0, drift=0.0, rate=1.0):
    """A block whose messages take so long there and back, ns, shape (n,). The responder's clock is
    ahead by `ahead` at `start`, and gains the share `drift`; the times of samples are by a
    calibration that is off by the factor `rate`."""
    there, back = np.asarray(there, float), np.asarray(back, float)
    ends = np.cumsum(there + back)
    begins = np.concatenate(([0.0], ends[:-1]))
    arrived = np.concatenate(([-back[0]], begins + there))
    by_peer = np.rint(arrived * (1 + drift)).astype(np.int64)
    return Block(
        start=start,
        times=np.rint(np.diff(np.rint(np.concatenate(([0.0], ends)))) * rate).astype(np.int64),
        end=start + round(ends[-1]),
        peer_start=start + ahead + int(by_peer[0]),
        arrivals=np.diff(by_peer),
    )


def ping_pong(blocks, hosts=("a", "b"), compared=(), latency=100_000, slices=None):
    """The row of a run of these blocks, one for each slice, on two hosts."""
    measured = [
        msgspec.structs.replace(
            runs.measurement("tcp", 8, iterations=1, samples=[2 * latency] * 10, rtts=None),
            blocks=[each],
            slice=number,
        )
        for number, each in enumerate(blocks)
    ]
    environments = tuple(runs.environment(rank, host=host) for rank, host in enumerate(hosts))
    run = runs.run(*measured, environments=environments, clock_comparisons=tuple(compared))
    (row,) = rows(run)
    return run, row


def comparison(at, ahead, round_trip=10_000, rank=1):
    return ClockComparison(rank=rank, ranks=[rank], at=at, ahead=ahead, round_trip=round_trip)
