"""The native part: clocks, endpoints, and the kernels that time them; see native/module.cpp.

Arrays are never copied or converted. `stamps` are the caller's, shape (samples + 1,), in ticks of
the clock named. Kernels release the interpreter's lock, and raise Stopped, PeerClosed, MpiError or
OSError.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Stamps: TypeAlias = npt.NDArray[np.int64]

class Stopped(Exception): ...
class PeerClosed(Exception): ...
class MpiError(Exception): ...

# Empty where the processor's counter cannot be used.
counter_clock: str
# How much memory two Shm share; it begins with lines for Line, this many of this size each.
shm_segment_size: int
probed_lines: int
probed_line_size: int

def request_stop(stop: bool = True) -> None:
    """Makes every wait of every kernel in this process raise Stopped, until called with False."""

def clock_pair(clock: str, tries: int) -> tuple[int, int, int]:
    """One moment in ticks, as CLOCK_MONOTONIC_RAW in ns, and the ticks of uncertainty."""

def clock_figures(clock: str) -> tuple[float, int]:
    """Ticks that one read costs, and the smallest step between two reads."""

def ping(
    endpoint: _EndpointBase,
    out: _Bytes,
    in_: _Bytes,
    lead: int,
    batch: int,
    stamps: _Stamps,
    clock: str,
) -> None:
    """Initiates `lead` round trips untimed, then `batch` between each two stamps."""

def pong(endpoint: _EndpointBase, out: _Bytes, in_: _Bytes, exchanges: int) -> None:
    """Answers so many round trips."""

def copy(to: _Bytes, from_: _Bytes, batch: int, stamps: _Stamps, clock: str) -> None:
    """Copies `batch` times between each two stamps."""

class _EndpointBase:
    def send(self, out: _Bytes) -> None:
        """Sends one message; the peer's `recv` asks for as many bytes."""

    def recv(self, in_: _Bytes) -> None:
        """Receives one message of just the array's size."""

class Line(_EndpointBase):
    def __init__(self, segment: _Bytes) -> None: ...

class Shm(_EndpointBase):
    def __init__(self, segment: _Bytes, side: int, yields: bool) -> None: ...

class BlockingStream(_EndpointBase):
    def __init__(self, in_fd: int, out_fd: int, yields: bool) -> None: ...

class SpinningStream(_EndpointBase):
    def __init__(self, in_fd: int, out_fd: int, yields: bool) -> None: ...

class MpiInt(_EndpointBase):
    def __init__(self, send: int, recv: int, communicator: int, byte: int, peer: int) -> None: ...

class MpiPointer(_EndpointBase):
    def __init__(self, send: int, recv: int, communicator: int, byte: int, peer: int) -> None: ...
