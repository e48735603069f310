"""The benchmarks of IMB that are known here, and the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.results.patterns import Mode, Pattern

SIZE, COUNT, TIME, BYTES, RATE = (
    "#bytes", "#repetitions", "t[usec]", "Mbytes/sec", "Msg/sec",
)  # fmt: skip
TIME_NAMES = (SIZE, COUNT, TIME, BYTES)
RATE_NAMES = (SIZE, COUNT, BYTES, RATE)
RANGES = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
RANGE_NAMES = (SIZE, COUNT, *RANGES, BYTES)
WINDOW = 64


class Benchmark(NamedTuple):
    """A benchmark between two processes: its pattern, how many messages of it are in flight, the
    names of its columns, and how it synchronizes, if that is not as halftrip does."""

    pattern: Pattern
    window: int
    names: Sequence[str]
    synchronization: str = ""

    @property
    def mode(self) -> Mode:
        if self.pattern in ("put", "get"):
            return "onesided"
        return "nonblocking" if self.window > 1 else "blocking"


PRINTED = {
    "PingPong": Benchmark("pingpong", 1, TIME_NAMES),
    "PingPing": Benchmark("pingping", 1, TIME_NAMES),
    "Uniband": Benchmark("stream", WINDOW, RATE_NAMES),
    "Biband": Benchmark("bidirectional", WINDOW, RATE_NAMES),
}
BENCHMARKS = PRINTED | {
    "Sendrecv": Benchmark("exchange", 1, RANGE_NAMES),
    "Exchange": Benchmark("bidirectional", 2, RANGE_NAMES),
    # Of IMB-EXT, then of IMB-RMA.
    "Unidir_Put": Benchmark("put", 1, TIME_NAMES, "fence"),
    "Unidir_Get": Benchmark("get", 1, TIME_NAMES, "fence"),
    "Unidir_put": Benchmark("put", 1, TIME_NAMES),
    "Unidir_get": Benchmark("get", 1, TIME_NAMES),
}
