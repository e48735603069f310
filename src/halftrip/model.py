"""The values that everything else passes around: what was asked, what was measured, and where.

Inside, times are nanoseconds, sizes are bytes. All values are frozen; Run is what a run file holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from halftrip.errors import HalftripError
from halftrip.patterns import Mode, Pattern, at_once, trips
from halftrip.units import with_units
from halftrip.usage import Usage

if TYPE_CHECKING:
    import pandas

Wait = Literal["block", "spin"]
Buffers = Literal["same", "separate"]
Pages = Literal["4K", "huge"]
Memory = Literal["host"]
Cache = Literal["hot", "cold"]
Datatype = Literal["byte", "contiguous", "vector"]
Phase = Literal["before", "case", "after"]
Stopped = Literal["converged", "time", "count", "full"]


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One point of the plan: what is measured between the two ranks of `pair`, by the threads of
    theirs that are called `thread`.

    `wait` is how a receiver waits: in the kernel, or by polling. `buffers` says whether a rank
    receives into the buffer that it sends from. `window` is how many messages are in flight. With
    `align`, buffers start so many bytes after a multiple of twice that; 0: the first of them at the
    start of a page. `datatype` is what MPI is told that a message is made of. `rate` is what a
    sender offers, bytes per second; None: all that it can. With `verify`, messages are filled and
    checked between batches, and each of a window has a buffer of its own. `company` is how many
    pairs, threads counted, talk at the same time, this one included.
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
    window: int = 1
    align: int = 0
    datatype: Datatype = "byte"
    rate: float | None = None
    verify: bool = False
    thread: int = 0
    company: int = 1

    @property
    def messages_per_exchange(self) -> int:
        """How many messages go one way, one after the other, in an exchange."""
        return trips(self.pattern, self.mode) * self.window

    @property
    def is_virtual(self) -> bool:
        """Whether it is of a path that is only thought of, on no machine."""
        return self.transport == "simulated"

    @property
    def is_rate(self) -> bool:
        """Whether what matters is how much gets through, not how long one message takes."""
        return self.pattern in ("stream", "bidirectional") or self.window > 1

    @property
    def directions(self) -> int:
        """In how many directions payload is on its way at once."""
        return 2 if at_once(self.pattern, self.mode) else 1


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


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of datagrams: how many were `sent`, `lost`, which is that they never came, and
    `late`, which is that they came after one that was sent later. In a ping-pong, what is lost or
    late is the answer to one. `jitter` is that of RFC 3550, ns, at the end; None where a datagram
    has no room to say when it was sent."""

    sent: int
    lost: int
    late: int
    jitter: float | None = None


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


class Clock(msgspec.Struct, frozen=True, kw_only=True):
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
    clock: Clock
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


class Run(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that a run file holds. `problems` are lines about what could not be read of it."""

    head: Head
    environments: tuple[Environment, ...] = ()
    skips: tuple[Skip, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    failures: tuple[Failure, ...] = ()
    togethers: tuple[Together, ...] = ()
    copies: tuple[CopyBound, ...] = ()
    systems: tuple[System, ...] = ()
    notices: tuple[Notice, ...] = ()
    end: End | None = None
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        # Not the samples, of which there may be millions.
        cases, taken = len(self.by_case), len(self.measurements)
        return f"Run({self.head.started}, {cases} cases, {taken} measurements)"

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
        gives them; names end in their unit, as those of ``halftrip show --style csv``. Needs pandas
        (``pip install 'halftrip[frame]'``).
        """
        try:
            import pandas
        except ImportError:
            raise HalftripError("frame() needs pandas; pip install pandas") from None
        from halftrip.summaries import count_marked, summarize_case, usage_figures

        rows = []
        for measurement in self.measurements:
            fields = msgspec.structs.asdict(measurement.case)
            fields["pair"] = "-".join(str(rank) for rank in measurement.case.pair)
            fields |= {"repetition": measurement.repetition, "at": measurement.at}
            fields |= summarize_case([measurement])._asdict()
            fields |= {"marked": count_marked([measurement])}
            fields |= usage_figures(measurement.case, measurement.usage)
            rows.append(with_units(fields))
        return pandas.DataFrame(rows)


def add_deliveries(those: Iterable[Delivery | None]) -> Delivery | None:
    """What became of all together; the jitter is that of the last that has one."""
    total = None
    for one in those:
        if total is None or one is None:
            total = one or total
            continue
        total = Delivery(
            sent=total.sent + one.sent,
            lost=total.lost + one.lost,
            late=total.late + one.late,
            jitter=total.jitter if one.jitter is None else one.jitter,
        )
    return total


def delivered_share(case: Case, delivery: Delivery | None) -> float:
    """The share of the messages in the samples that arrived, 0 to 1: all but in a stream, whose
    samples are as long as they are whatever got lost; an exchange of a ping-pong that got lost is
    no sample."""
    if delivery is None or not delivery.sent or not case.is_rate:
        return 1.0
    return 1.0 - delivery.lost / delivery.sent
