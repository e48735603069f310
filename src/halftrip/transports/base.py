"""What every transport is: can it be used here, and how are its two ends opened.

Opening is a conversation of three steps, so that neither end ever waits for one that has failed:
one rank `listen`s and makes an offer, the other `connect`s to it, and then the first `accept`s.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from halftrip.memory.host import Bytes
from halftrip.model import Case, Wait

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Two ranks that are about to talk, as one of them sees it.

    `yields`: they share a core with other ranks, so whoever polls has to give it away. `segment` is
    memory that both map, zeros at first, or None, and then `no_segment` says why. `mpi` is a
    communicator of all ranks for timed messages alone, or None, and then `no_mpi` says why.
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


@dataclass
class Opened:
    """One end of an open path: the native endpoint, and what to release when it is done with."""

    endpoint: Any
    resources: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def close(self) -> None:
        self.resources.close()


class Transport(ABC):
    """One way for bytes to move between the two ranks of a scene."""

    # How a receiver can wait; the first is what it does unless told otherwise.
    waits: ClassVar[tuple[Wait, ...]]
    # Why it cannot wait otherwise.
    waits_reason: ClassVar[str] = ""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        # What `listen` has made and `accept` has not yet taken over.
        self.prepared = contextlib.ExitStack()

    @abstractmethod
    def missing(self) -> str | None:
        """Why this transport cannot be used between these ranks, or None."""

    def refuses(self, case: Case) -> str | None:
        """Why this transport cannot do that case, or None."""
        if case.wait not in self.waits:
            return f"--wait {case.wait}: {self.waits_reason}"
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
