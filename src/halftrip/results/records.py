"""The records of a run file. Times are ns and sizes are bytes, unless a docstring says else."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from halftrip.results.case import Case
from halftrip.results.delivery import Delivery
from halftrip.results.usage import Usage

Phase = Literal["before", "case", "after"]
Stopped = Literal["converged", "time", "count", "full"]


class WarmUp(msgspec.Struct, frozen=True):
    """What went before the kept samples: exchanges, nanoseconds, and whether the drift had
    ended."""

    exchanges: int
    ns: int
    settled: bool


class LineBound(msgspec.Struct, frozen=True):
    """The cache-line round trip between the two cores, ns, just before and just after the samples
    of a case."""

    before: float
    after: float


class Measurement(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="measurement"):
    """A case, its samples in time order, and how they came about.

    Each of `samples` is the time of `exchanges` exchanges, ns. They were taken in blocks of so
    many as `blocks` says, and after each block the line was probed again: `lines`, ns; both are
    empty where that is not known. Blocks in between may have been thrown away. `first` is the
    very first exchange of the case, ns, timed by itself. `at` is when the case began, seconds
    after its launch, the one of number `launch`, did. `peer_ns` is the median of the same
    samples by the other end's clock, None where it takes no times. Where there is a window each
    way, `arrival_ns` is the median time of a sample until all that was sent there had come, by
    the responder's clock, and back, by the initiator's. `verified` is how many messages were
    found to be as they were sent, None where nobody looked. `usage` is what the initiator and the
    responder have spent on the samples, and `preemptions` how often the kernel took the core from
    each of them in each block, empty where that is not known.
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
    blocks: list[int] = []
    lines: list[float] = []
    launch: int = 0
    peer_ns: float | None = None
    arrival_ns: tuple[float, float] | None = None
    delivery: Delivery | None = None
    verified: int | None = None
    usage: tuple[Usage, Usage] | None = None
    preemptions: list[tuple[int, int]] = []


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="failure"):
    """A case that went wrong, and how."""

    case: Case
    repetition: int
    reason: str
    launch: int = 0


class Together(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="together"):
    """Pairs that talked at the same time. `case` is the first pair's.

    `spans` are the times, ns, in which all of them were active, one for each batch, and `messages`
    how many went one way in each, those of all pairs together.
    """

    case: Case
    repetition: int
    pairs: list[tuple[int, int]]
    spans: list[int]
    messages: list[float]
    launch: int = 0

    @property
    def bandwidth(self) -> float:
        """Of all pairs, bytes per second, in all directions in which a pair sends."""
        return self.rate * self.case.size

    @property
    def rate(self) -> float:
        """Of all pairs, messages per second, likewise."""
        time = sum(self.spans)
        return sum(self.messages) * self.case.directions / time * 1e9 if time else math.nan


class System(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="system"):
    """What the counters of a host have counted in `seconds` from `at`, s after the launch began, by
    rank 0's clock; `rank` is the lowest of the host. `phase` is "before" all cases or "after" them,
    while nothing was measured, or "case": since the record before this one to the end of the last
    of `cases`, which are in order (of a round of pairs the first), with the `repetitions` that each
    is of: one, or where they are short several.

    `cpus` are s of each kind (user, nice, system, idle, iowait, irq, softirq, steal) by processor,
    "all" among them. `memory_used` is bytes at the end, without buffers and cache. `counts` are of
    the whole host: interrupts, context switches, KiB from and to disks, pages from and to swap, and
    what TCP and UDP have counted. `interfaces` has packets, bytes, drops and errors in and out by
    interface, `interrupts` how often each interrupted which processor, and `softnet` by processor
    what became of packets that it was handed. What cannot be read is absent.
    """

    host: str
    rank: int
    phase: Phase
    at: float
    seconds: float
    cpus: dict[str, dict[str, float]]
    memory_used: int | None
    counts: dict[str, int]
    interfaces: dict[str, dict[str, int]]
    interrupts: dict[str, dict[str, int]]
    softnet: dict[str, dict[str, int]]
    cases: list[Case] = []
    repetitions: list[int] = []
    launch: int = 0


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="notice"):
    """What a rank has found odd and left out."""

    rank: int
    host: str
    text: str
    launch: int = 0


class ClockInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The clock of one rank. `cost` and `resolution` are ns; `hertz` is ticks per second."""

    source: str
    hertz: float
    cost: float
    resolution: float


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="environment"):
    """Where one rank ran in one launch, and on what. `thread_cores` are those of its threads, where
    several talk."""

    rank: int
    host: str
    pid: int
    core: int | None
    allowed_cores: list[int]
    oversubscribed: bool
    processor: str
    kernel: str
    python: str
    clock: ClockInfo
    thp: str | None
    governor: str | None
    hypervisor: str | None
    mpi: str | None
    mpi_library: str | None
    variables: dict[str, str]
    launch: int = 0
    thread_cores: list[int | None] | None = None


class Skip(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="skip"):
    """What was asked for and not measured, and why: a whole transport, or only some patterns,
    modes, sizes or pairs of it."""

    transport: str
    reason: str
    sizes: list[int] | None = None
    patterns: list[str] | None = None
    modes: list[str] | None = None
    pairs: list[tuple[int, int]] | None = None


class CopyBound(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="copy"):
    """The median time of one memcpy of `size` bytes within one rank, ns."""

    rank: int
    size: int
    ns: float


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="end"):
    """How a run ended. `reason` is None for one that is complete.

    `seconds` is the wall time of the session, `timed` that spent in kernels by rank 0, and `logged`
    that spent on the system log, without the two seconds of rest.
    `clock_drift` is, by rank, how far the clock's rate over the whole run differs from the one it
    was given at the start, parts per million.
    """

    reason: str | None
    seconds: float | None = None
    timed: float | None = None
    clock_drift: list[float] | None = None
    logged: float | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """The first record of a run file."""

    format: int
    halftrip: str
    started: str
    command: list[str]
    plan: dict[str, Any]
