"""The values that everything else passes around: what was asked, what was measured, and where.

Inside, times are nanoseconds, sizes are bytes. All values are frozen; Run is what a run file holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.stats.summary import Summary, summarize

if TYPE_CHECKING:
    import pandas

Pattern = Literal["pingpong"]
Mode = Literal["blocking"]
Wait = Literal["block", "spin"]
Buffers = Literal["same", "separate"]
Pages = Literal["4K", "huge"]
Memory = Literal["host"]
Cache = Literal["hot"]
Stopped = Literal["converged", "time", "count"]


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One point of the plan: what is measured between the two ranks of `pair`.

    `wait` is how a receiver waits: in the kernel, or by polling. `buffers` says whether a rank
    receives into the buffer that it sends from.
    """

    transport: str
    pattern: Pattern = "pingpong"
    mode: Mode = "blocking"
    size: int
    memory: Memory = "host"
    buffers: Buffers = "separate"
    pages: Pages = "4K"
    cache: Cache = "hot"
    wait: Wait
    pair: tuple[int, int] = (0, 1)

    @property
    def messages_per_exchange(self) -> int:
        """How many one-way trips, one after the other, an exchange is made of."""
        return 2


class WarmUp(msgspec.Struct, frozen=True):
    """What went before the kept samples: exchanges, nanoseconds, and whether the drift had
    ended."""

    exchanges: int
    ns: int
    settled: bool


class LineBound(msgspec.Struct, frozen=True):
    """The cache-line round trip between the two cores, ns, just before and just after a case."""

    before: float
    after: float


class Measurement(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="measurement"):
    """A case, its samples in time order, and how they came about.

    Each of `samples` is the time of `exchanges` exchanges, ns. `first` is the very first exchange
    of the case, ns, timed by itself. `at` is when the case began, seconds after the run did.
    """

    case: Case
    repetition: int
    at: float
    first: int
    warm_up: WarmUp
    exchanges: int
    stopped: Stopped
    line: LineBound | None
    samples: list[int]


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The clock of one rank. `cost` and `resolution` are ns; `hertz` is ticks per second."""

    source: str
    hertz: float
    cost: float
    resolution: float


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="environment"):
    """Where one rank ran, and on what."""

    rank: int
    host: str
    pid: int
    core: int | None
    allowed_cores: list[int]
    oversubscribed: bool
    processor: str
    kernel: str
    python: str
    clock: Clock
    thp: str | None
    governor: str | None
    hypervisor: str | None
    mpi: str | None
    mpi_library: str | None
    variables: dict[str, str]


class Skip(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="skip"):
    """What was asked for and not measured: a whole transport, or some sizes of it, and why."""

    transport: str
    reason: str
    sizes: list[int] | None = None


class CopyBound(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="copy"):
    """The median time of one memcpy of `size` bytes within one rank, ns."""

    rank: int
    size: int
    ns: float


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="end"):
    """How a run ended. `reason` is None for one that is complete.

    `seconds` is the wall time of the session, `timed` that spent in kernels by rank 0.
    `clock_drift` is, by rank, how far the clock's rate over the whole run differs from the one it
    was given at the start, parts per million.
    """

    reason: str | None
    seconds: float | None = None
    timed: float | None = None
    clock_drift: list[float] | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """The first record of a run file."""

    format: int
    halftrip: str
    started: str
    command: list[str]
    plan: dict[str, Any]


class Run(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a run file holds. `problems` are lines about what could not be read of it."""

    head: Head
    environments: tuple[Environment, ...] = ()
    skips: tuple[Skip, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    copies: tuple[CopyBound, ...] = ()
    end: End | None = None
    problems: tuple[str, ...] = ()

    @property
    def interrupted(self) -> str | None:
        """Why this run is not complete, or None if it is."""
        if self.end is None:
            return "the run ended without saying why"
        return self.end.reason

    @cached_property
    def by_case(self) -> dict[Case, list[Measurement]]:
        """The measurements of each case, in order of repetition; cases as they were first met."""
        cases: dict[Case, list[Measurement]] = {}
        for measurement in self.measurements:
            cases.setdefault(measurement.case, []).append(measurement)
        return cases

    def frame(self) -> pandas.DataFrame:
        """One row per measurement: the fields of its case, and its statistics as `stats.summary`
        gives them, in ns and bytes per second. Needs pandas (``pip install 'halftrip[frame]'``).
        """
        import pandas

        rows = []
        for measurement in self.measurements:
            fields = msgspec.structs.asdict(measurement.case)
            fields["pair"] = "-".join(str(rank) for rank in measurement.case.pair)
            fields |= {"repetition": measurement.repetition, "at": measurement.at}
            fields |= summarize_case([measurement])._asdict()
            rows.append(fields)
        return pandas.DataFrame(rows)


def one_way_times(measurement: Measurement) -> npt.NDArray[np.float64]:
    """The samples as one-way times of one message, shape (n,), ns, in time order."""
    messages = measurement.exchanges * measurement.case.messages_per_exchange
    return np.asarray(measurement.samples, dtype=np.float64) / messages


def summarize_case(measurements: Sequence[Measurement]) -> Summary:
    """The summary of one case; `measurements` are its repetitions, at least one, in order."""
    case = measurements[0].case
    return summarize(
        [one_way_times(measurement) for measurement in measurements],
        size=case.size,
        first=measurements[0].first / case.messages_per_exchange,
    )
