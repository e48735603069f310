"""What halftrip's loops add to calls of Python: each pattern's iterations beside a bare ``for``
over the same calls, in turn, microseconds per call.

The calls do next to nothing, so that nothing else varies; what a loop adds does not depend on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter_ns

import numpy as np

from halftrip.memory.allocator import Bytes
from halftrip.transports.python.endpoint import MessageCalls
from halftrip.transports.python.patterns import blocking

WANTED_US = 0.15
WINDOW = 64
ITERATIONS = 2000


class Nothing:
    """Messages whose calls are the cheapest that Python has with an argument."""

    send = staticmethod(len)
    recv = staticmethod(len)


def bare_pingpong(out: Bytes, in_: Bytes, count: int) -> None:
    send = recv = len
    for _ in range(count):
        send(out)
        recv(in_)


def bare_stream(out: Bytes, ack: Bytes, count: int) -> None:
    send = recv = len
    for _ in range(count):
        for _ in range(WINDOW):
            send(out)
        recv(ack)


def us_per_call(run: Callable[[int], None], iterations: int, calls: int) -> float:
    began = perf_counter_ns()
    run(iterations)
    return (perf_counter_ns() - began) / iterations / calls / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=101)
    rounds = parser.parse_args().rounds
    buffers = np.zeros((2, 1, 8), np.uint8)
    out, in_ = buffers
    calls = MessageCalls(Nothing())
    print("| pattern | calls an iteration | bare us | halftrip us | added us | wanted |")
    print("|---|---|---|---|---|---|")
    for pattern, per_iteration, bare in (
        ("pingpong", 2, lambda count: bare_pingpong(out[0], in_[0], count)),
        ("stream", WINDOW + 1, lambda count: bare_stream(out[0], in_[0], count)),
    ):
        iterate = blocking(calls, pattern, True, out, in_, WINDOW)
        count = ITERATIONS // per_iteration + 1
        both = [
            (us_per_call(bare, count, per_iteration), us_per_call(iterate, count, per_iteration))
            for _ in range(rounds)
        ]
        alone, ours = np.array(both).T
        low, added, high = np.quantile(ours - alone, (0.25, 0.5, 0.75))
        print(
            f"| {pattern} | {per_iteration} | {np.median(alone):.4f} | {np.median(ours):.4f} "
            f"| {added:.4f} ({low:.4f} to {high:.4f}) | at most {WANTED_US} |"
        )


if __name__ == "__main__":
    main()
