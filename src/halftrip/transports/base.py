"""What every transport answers: is it there, can it do a case, open it.

A path is opened in steps between which both ranks compare notes, so that no end ever waits for one
that has failed: one rank `listen`s and makes an offer, the other `connect`s to it, and then the
first `accept`s. For each case both then make an endpoint, and for each batch take part in it.
"""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.clock import Clock
from halftrip.memory.host import Bytes
from halftrip.memory.ring import Ring
from halftrip.results.case import Case, Wait
from halftrip.results.delivery import Delivery
from halftrip.results.patterns import SHAPES, is_in_turn
from halftrip.simulation.path_model import Truth

Times = npt.NDArray[np.int64]

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Two ranks that are about to talk, as one of them sees it.

    `yields`: they share a core with other ranks, so whoever polls has to give it away. `segment` is
    memory that both map, zeros at first, or None, and then `no_segment` says why. `mpi` is a
    communicator of all ranks for timed messages alone, or None, and then `no_mpi` says why.
    `timeout` is how long an answer to a datagram may take, seconds. `threads` is how many threads
    of each rank talk, `thread` is the number of this one, and `core` where it has to run, None
    where it runs where the rank does. `simulated` is the truth of a path that is only thought of,
    in the launch of number `launch`.
    """

    rank: int
    peer: int
    same_host: bool
    yields: bool
    token: str
    segment: Bytes | None = None
    no_segment: str = ""
    mpi: MPI.Intracomm | None = None
    no_mpi: str = ""
    threads: int = 1
    thread: int = 0
    core: int | None = None
    timeout: float = 1.0
    simulated: Truth | None = None
    launch: int = 0


@dataclass(frozen=True, kw_only=True)
class Task:
    """One end's part in a batch of a case: `lead` exchanges untimed, then `samples` samples of
    `exchanges` each, by `clock`. With `verify`, somebody will look at what has come."""

    case: Case
    endpoint: Any
    initiates: bool
    out: Ring
    in_: Ring
    lead: int
    exchanges: int
    samples: int
    clock: Clock
    verify: bool


class Timed(NamedTuple):
    """What a batch gave. `times`, shape (n,), ns, are those of the samples, and `start` is when the
    first began, ns of CLOCK_MONOTONIC_RAW; empty and 0 on an end that takes none.

    Where messages can be lost there are fewer samples, or none, `waited` is how long was waited in
    vain, ns, and `delivery` what became of all. `held` says for each buffer that is received into
    which of the sender's has sent what is in it, counted from 1, or 0 where that is not known; None
    where each holds what was sent from the one of the same number. `arrivals`, shape (n,), ns, is
    how long it took in each sample until all that came to this end had come; None where that is
    when its exchanges end.
    """

    times: Times
    start: int
    waited: int = 0
    delivery: Delivery | None = None
    held: npt.NDArray[np.int64] | None = None
    arrivals: Times | None = None


NOT_TIMED = Timed(np.empty(0, dtype=np.int64), 0)


@dataclass
class Opened:
    """One end of an open path: the native endpoint, if all cases share one, and what to release
    when it is done with."""

    endpoint: Any = None
    resources: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def close(self) -> None:
        self.resources.close()


def _nothing() -> None:
    """Nothing is to be done."""


@dataclass
class Window(Opened):
    """Memory of this rank's into which the peer reaches: `region`, and what the peer's `reach`
    needs: msgpack-able builtins. `synchronize` is called between what this rank does to it by
    itself and what the peer does."""

    region: Bytes = field(kw_only=True)
    offer: Any = field(kw_only=True)
    synchronize: Callable[[], None] = field(default=_nothing, kw_only=True)


def touched(count: int) -> Times:
    """Zeros, shape (count,), in memory that is there: the first touch of a page takes as long as
    some samples do."""
    zeros = np.empty(count, dtype=np.int64)
    zeros.fill(0)
    return zeros


class Transport(ABC):
    """One way for bytes to move between the two ranks of a scene."""

    # How a receiver can wait; the first is what it does unless told otherwise.
    waits: ClassVar[tuple[Wait, ...]]
    # Why it cannot wait otherwise.
    waits_reason: ClassVar[str] = ""
    # Which patterns there are in each mode.
    patterns: ClassVar[dict[str, tuple[str, ...]]]
    # Whether messages can be lost. Then neither end waits for the other for ever, and every
    # exchange is a sample by itself.
    lossy: bool = False
    # Whether time passes only in what it says of itself. Then it has a `line` and a clock of its
    # own.
    virtual: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        # What `listen` has made and `accept` has not yet taken over.
        self.prepared = contextlib.ExitStack()

    @abstractmethod
    def missing(self) -> str | None:
        """Why this transport cannot be used between these ranks, or None."""

    def refuses(self, case: Case) -> str | None:
        """Why this transport cannot do that case, or None."""
        same = "only a ping-pong in turn sends from the buffer that it receives into"
        refusals = (
            (case.wait not in self.waits, f"--wait {case.wait}: {self.waits_reason}"),
            (
                case.buffers == "same" and not is_in_turn(case.pattern, case.mode),
                f"--buffers same: {same}",
            ),
            (
                case.mode == "onesided" and case.pages == "huge",
                "--pages huge: the pages of a window are not ours to choose",
            ),
            (case.datatype != "byte", f"--datatype {case.datatype}: only MPI has datatypes"),
            (case.rate is not None, "--rate: only a stream of udp has one"),
        )
        kind = self._refuses_kind(case)
        return kind or next((reason for refused, reason in refusals if refused), None)

    def _refuses_kind(self, case: Case) -> str | None:
        """Why there is no such pattern in this mode here, or None: the widest reason first."""
        name, pattern, mode = case.transport, case.pattern, case.mode
        modes = [other for other, patterns in self.patterns.items() if pattern in patterns]
        if not modes:
            every = dict.fromkeys(itertools.chain.from_iterable(self.patterns.values()))
            return f"{name} has no {pattern}, only {', '.join(every)}"
        if mode not in self.patterns:
            return f"{name} has no {mode} calls, only {', '.join(self.patterns)}"
        if mode not in modes and mode == "onesided":
            return f"no onesided {pattern}, only {', '.join(self.patterns[mode])}"
        if mode not in modes:
            return f"no {mode} {pattern}, only {', '.join(modes)}"
        return None

    @abstractmethod
    def listen(self, wait: Wait) -> Any:
        """Prepares this end and returns what the peer's `connect` needs: msgpack-able builtins."""

    @abstractmethod
    def connect(self, offer: Any, wait: Wait) -> Opened:
        """The other end. Raises OSError or Unavailable."""

    @abstractmethod
    def accept(self, wait: Wait) -> Opened:
        """This end, after the peer has connected. Raises OSError or Unavailable."""

    def abandon(self) -> None:
        """Releases what `listen` has made; `accept` will not be called."""
        self.prepared.close()

    def endpoint(self, opened: Opened, case: Case, out: Ring, in_: Ring) -> Any:
        """The native endpoint for a case. Raises OSError or Unavailable."""
        return opened.endpoint

    def take_part(self, task: Task) -> Timed:
        """This end's part in a batch. Raises OSError, MpiError, NoAnswer, PeerClosed or Stopped."""
        stamps = touched(task.samples + 1)
        arrivals = None
        # A look at the clock in every exchange is too much where a sample has to hold several.
        if SHAPES[task.case.pattern].each_way and task.exchanges == 1:
            arrivals = touched(task.samples)
        call = _native.initiate if task.initiates else _native.respond
        call(
            task.endpoint,
            task.case.pattern,
            task.out.native,
            task.in_.native,
            task.case.window,
            task.lead,
            task.exchanges,
            stamps,
            task.clock.source,
            arrivals,
        )
        if stamps[-1] == 0:
            return NOT_TIMED
        return Timed(
            task.clock.intervals(stamps),
            task.clock.raw_ns(int(stamps[0])),
            arrivals=None if arrivals is None else task.clock.durations(arrivals),
        )

    @property
    def clock_figures(self) -> tuple[float, float] | None:
        """What looking at the clock costs, and its step, ns; None: those of the rank's clock."""
        return None

    def rest(self, seconds: float) -> None:  # noqa: B027 (only time of its own can be let pass)
        """Lets time pass, where it is the transport's own."""

    def line(self) -> float | None:
        """The cache-line round trip of this path right now, ns; None: that of the ranks' cores."""
        return None

    def header(self, case: Case) -> int:
        """How many bytes at the start of a message the path writes itself."""
        return 0


class NothingToOpen(Transport):
    """A transport whose path is there before anybody opens it."""

    def listen(self, wait: Wait) -> Any:
        return None

    def connect(self, offer: Any, wait: Wait) -> Opened:
        return Opened()

    def accept(self, wait: Wait) -> Opened:
        return Opened()


class OneSided(Transport):
    """A transport that has one-sided patterns, too."""

    @abstractmethod
    def expose(self, size: int) -> Window:
        """Memory for the peer to reach into; both ends call it. Raises OSError or Unavailable."""

    @abstractmethod
    def reach(self, opened: Opened, case: Case, window: Window, offer: Any) -> Any:
        """The native endpoint for a one-sided case; `window` is this end's and `offer` is of the
        peer's. Raises OSError or Unavailable."""
