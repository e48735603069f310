"""The native part: clocks, endpoints, and the kernels that time them; see native/bindings.

Arrays are never copied or converted. `timestamps` are the caller's, shape (samples + 1,), in ticks
of the clock named. Kernels release the interpreter's lock, and raise Stopped, PeerClosed, MpiError,
DragonError or OSError; ValueError where an endpoint cannot carry the buffers.
"""

from typing import ClassVar, TypeAlias, overload

import numpy as np
import numpy.typing as npt

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Int64s: TypeAlias = npt.NDArray[np.int64]

class Stopped(Exception): ...
class NoAnswer(Exception): ...
class VersionMismatch(NoAnswer): ...
class PeerClosed(Exception): ...
class MpiError(Exception): ...
class DragonError(Exception): ...
class DeviceError(Exception): ...

# The optional parts of this build: "counters", "cuda", "datagrams", "dragon",
# "mpi"; see the options of
# CMakeLists.txt. The module lacks the names of a missing part, but never the exceptions.
parts: tuple[str, ...]
# Empty where the processor's counter cannot be used.
counter_clock: str
# How often a sample of `initiate` or `respond` reads the clock, without and with receive times, and
# with the responder's arrivals.
clock_reads: int
clock_reads_with_receive_times: int
clock_reads_with_arrivals: int
# The bytes that two Shm share. They begin with `probed_lines` lines for CacheLine, of
# `probed_line_size` bytes each.
shm_segment_size: int
# Sizes from which on Shm sends a message in another way, bytes: longer than what shares the cache
# line of its number, and than what is copied line by line; the smallest and the largest of the
# chunks, of which so many slots take one each.
shm_line: int
shm_short: int
shm_smallest_chunk: int
shm_largest_chunk: int
shm_slots: int
probed_lines: int
probed_line_size: int

def request_stop(stop: bool = True) -> None:
    """Makes every wait of every kernel in this process raise Stopped, until called with False."""

def calibrate_poll_pause() -> int:
    """How many pause instructions of this core make about 35 ns, from 1 to 16. Measures and sets
    nothing; takes up to half a millisecond. To be called after pinning."""

def poll_pause() -> int:
    """How many pause instructions lie between two polls of shared memory; 3 until it is set."""

def set_poll_pause(pause: int) -> None:
    """Sets what `poll_pause` returns, for every kernel of this process. Raises ValueError unless it
    is from 1 to 16."""

def clock_pair(clock: str, tries: int) -> tuple[int, int, int]:
    """One moment in ticks and in ns of CLOCK_MONOTONIC_RAW, and its uncertainty in ticks: the best
    of `tries` readings."""

def clock_figures(clock: str) -> tuple[float, int]:
    """The cost of a reading, and the smallest step between two readings, both in ticks."""

def initiate(
    endpoint: _EndpointBase,
    pattern: str,
    out: Ring,
    in_: Ring,
    window: int,
    untimed: int,
    iterations: int,
    timestamps: _Int64s,
    clock: str,
    receive_times: _Int64s | None = None,
    touch: str = "none",
    arrivals: bool = False,
) -> None:
    """Initiates `untimed` iterations first, then `iterations` between each two timestamps. `window`
    is the number of messages in an iteration, in patterns that have windows.

    `receive_times`, shape (samples,), ticks, is filled with the time from the beginning of each
    sample until its last receive completed. Only a bidirectional pattern has them, and only with
    one iteration in a sample; ValueError otherwise.

    With `touch`, which both ends pass alike, the responder of a put or get reads or rewrites every
    cache line of each window: "timed", as part of the iteration, or "untimed", while the clock
    stands still; ValueError for other patterns. Timestamps do not count the time in which it
    stands.
    """

def respond(
    endpoint: _EndpointBase,
    pattern: str,
    out: Ring,
    in_: Ring,
    window: int,
    untimed: int,
    iterations: int,
    timestamps: _Int64s,
    clock: str,
    receive_times: _Int64s | None = None,
    touch: str = "none",
    arrivals: bool = False,
) -> None:
    """The other end of the same iterations. It leaves the timestamps unchanged in patterns where
    its clock reads would add to the initiator's times. With `touch`, `in_` is the memory that it
    exposes: each buffer with all bytes that a message spans.

    With `arrivals`, in a ping-pong of an endpoint that `has_arrivals`, the timestamps are taken
    when a message has arrived, before the reply: the first in the last untimed iteration, of which
    there has to be one, each later one in its sample, of one iteration; ValueError elsewhere.
    """

def initiate_delayed(
    endpoint: _Messages,
    pattern: str,
    out: Ring,
    in_: Ring,
    window: int,
    untimed: int,
    iterations: int,
    timestamps: _Int64s,
    clock: str,
    delay: int,
    read_cost: int,
) -> None:
    """As `initiate`, but for a delay between the send and the receive of a ping-pong, and between
    each two sends of a stream, in which this rank spins on the clock; ValueError for other
    patterns. `delay` is ticks. Timestamps do not count by how much the delays were longer, nor the
    time of their clock reads: `read_cost`, ticks, for each delay. The peer calls `respond`."""

def compare_clocks(endpoint: _Messages, most: int, longest_ns: int) -> tuple[int, int, int]:
    """The shortest of up to `most` exchanges within about `longest_ns` after the first, ns of
    CLOCK_MONOTONIC_RAW: when its message was sent, answered (by the peer's clock) and the answer
    received. The peer calls `answer_clocks`."""

def answer_clocks(endpoint: _Messages) -> None:
    """Answers the exchanges of the peer's `compare_clocks`, until its last."""

def initiate_datagrams(
    socket: DatagramSocket,
    pattern: str,
    out: Ring,
    in_: Ring,
    window: int,
    rate: float,
    untimed: int,
    max_timed_out_ns: int,
    times: _Int64s,
    source_slots: _Int64s,
    clock: str,
    hertz: float,
    jitter: bool,
) -> DatagramResult:
    """Initiates `untimed` iterations first, then one for each of `times`, ticks, shape (samples,).
    Fewer of `times` are filled where replies are lost. A ping-pong ends early when its waits for
    lost replies add up to `max_timed_out_ns`. `rate` is bytes per second; 0: as fast as possible.

    `source_slots`, shape (slots,) or (0,), gets for each buffer of `in_` the number of the sender's
    buffer whose message it holds, counted from 1; 0 if that is unknown.

    With `jitter`, datagrams of a stream with room for it carry the time when they were sent, which
    costs each end a clock read per datagram. Both ends pass the same value. Raises NoAnswer.
    """

def respond_datagrams(
    socket: DatagramSocket,
    pattern: str,
    out: Ring,
    in_: Ring,
    window: int,
    rate: float,
    untimed: int,
    max_timed_out_ns: int,
    times: _Int64s,
    source_slots: _Int64s,
    clock: str,
    hertz: float,
    jitter: bool,
) -> DatagramResult:
    """The other end of the same iterations."""

def fill(slots: _Bytes, size: int, step: int, numbers: _Int64s, seeds: _Int64s) -> None:
    """Writes a message for each of `seeds` into the buffers `numbers` of `slots`, shape (slots,
    bytes): `size` bytes, in words of 8 bytes that are `step` bytes apart."""

def first_difference(
    slots: _Bytes, size: int, step: int, numbers: _Int64s, seeds: _Int64s, header: int
) -> tuple[int, int, int] | None:
    """The first byte that differs from the messages of `fill`: its offset in its message, the
    expected value, and the found one; None if all are equal. The first `header` bytes of each
    message are not compared."""

def copy(to: _Bytes, from_: _Bytes, copies: int, timestamps: _Int64s, clock: str) -> None:
    """Copies `copies` times between each two timestamps."""

class StartWatch:
    """Ends this process with `status`, and a line on standard error, where a rank of this host ends
    while a call holds the interpreter's lock, or its parent does, or where there are fewer than
    `ranks` 3 s after the start (0: unknown); with 128 plus its number, and its text, where one of
    `signals` arrives. `rank_variable` is the variable that has a rank's number;
    `reason` is said instead of who has ended, if it is not empty; files in /dev/shm that this
    process maps and whose names begin as one of `segments` are removed. Raises OSError. It watches
    until `stop`."""

    def __init__(
        self,
        rank_variable: str,
        ranks: int,
        signals: dict[int, str],
        reason: str,
        status: int,
        segments: list[str],
    ) -> None: ...
    def stop(self) -> None: ...

class Counter:
    """Counts for the thread that constructs it; `kind` and `config` are `type` and `config` of
    perf_event_open(2). Counts in user mode, or `everywhere`: in the kernel, too. `read` returns the
    count so far, and for how many ns it has been enabled, and has run. Both raise OSError."""

    def __init__(self, kind: int, config: int, everywhere: bool) -> None: ...
    def read(self) -> tuple[int, int, int]: ...

class Ring:
    """One or more buffers that are used in turn, shape (slots, bytes). Raises ValueError unless the
    bytes of each are contiguous and the buffers are in ascending order of addresses."""

    @overload
    def __init__(self, slots: _Bytes) -> None: ...
    @overload
    def __init__(self, first: int, slots: int, size: int, stride: int) -> None:
        """In any memory, which stays the caller's: `slots` buffers of `size` bytes, the first at
        the address `first`, from one to the next `stride` bytes."""

    @property
    def position(self) -> int:
        """The number of the next buffer."""

class _EndpointBase:
    # The names of the patterns that this end can do.
    patterns: ClassVar[tuple[str, ...]]
    # Whether `respond` can say when each message of a ping-pong arrived.
    has_arrivals: ClassVar[bool]

class _Messages(_EndpointBase):
    def send(self, out: _Bytes) -> None:
        """Sends one message; the peer receives it with an array of the same size."""

    def recv(self, in_: _Bytes) -> None:
        """Receives one message of exactly the array's size."""

class CacheLine(_Messages):
    def __init__(self, segment: _Bytes) -> None: ...

class Shm(_Messages):
    def __init__(self, segment: _Bytes, side: int, yields: bool) -> None: ...

class ShmWindow(_EndpointBase):
    def __init__(self, messages: Shm, window: _Bytes) -> None: ...

# Of any descriptors: read(2) and write(2). A process that has not ignored SIGPIPE may get it.
class BlockingStream(_Messages):
    def __init__(self, in_fd: int, out_fd: int, yields: bool) -> None: ...

class SpinningStream(_Messages):
    def __init__(self, in_fd: int, out_fd: int, yields: bool) -> None: ...

class PollingStream(_Messages):
    def __init__(self, in_fd: int, out_fd: int, yields: bool) -> None: ...

# Of sockets alone: recv(2) and send(2), without SIGPIPE.
class BlockingSocket(BlockingStream): ...
class SpinningSocket(SpinningStream): ...
class PollingSocket(PollingStream): ...

# Message k of each direction goes over socket k modulo their number, at both ends alike.
class BlockingSockets(_Messages):
    def __init__(self, sockets: list[int], yields: bool) -> None: ...

class SpinningSockets(_Messages):
    def __init__(self, sockets: list[int], yields: bool) -> None: ...

class PollingSockets(_Messages):
    def __init__(self, sockets: list[int], yields: bool) -> None: ...

class Notifications:
    """Of sends of one socket that leave messages where they are; for all its endpoints."""

    def __init__(self, socket: int) -> None: ...

# MSG_ZEROCOPY. Messages are sent from `slots` buffers in turn; each is used again when the kernel
# has notified that it no longer reads it.
class BlockingZerocopySocket(_Messages):
    def __init__(self, notifications: Notifications, yields: bool, slots: int) -> None: ...
    def finish(self) -> None:
        """Returns when the kernel reads no buffer any longer."""

class SpinningZerocopySocket(BlockingZerocopySocket): ...
class PollingZerocopySocket(BlockingZerocopySocket): ...

class DatagramSocket:
    patterns: ClassVar[tuple[str, ...]]
    # The longest time that the socket sleeps in a call; and the size of a datagram's header: its
    # number, or its number and the time when it was sent.
    tick_ns: ClassVar[int]
    number_size: ClassVar[int]
    timestamped_size: ClassVar[int]
    def __init__(
        self, fd: int, spins: bool, yields: bool, timeout_ns: int, shortest_ns: int = ...
    ) -> None:
        """Waits for a reply for at most `timeout_ns`, and for at least `shortest_ns` if that is
        less."""

    @property
    def reply_timeout(self) -> ReplyTimeout: ...
    def restart(self, before: int = 0) -> None:
        """Goes on with another configuration, which had `before` messages so far: the first of them
        was in the first buffer. The reply times of the previous one are forgotten."""

    def end_wait(self) -> None:
        """From another thread: ends the current wait, or else the next one, as if it had timed
        out."""

# The policies of the patterns over datagrams; see native/datagram_policy.hpp.
class ReplyTimeout:
    """How long to wait for a reply; all times are ns."""

    def __init__(self, limit: int, shortest: int = ...) -> None: ...
    @property
    def limit(self) -> int: ...
    @property
    def current(self) -> int: ...
    @property
    def longest_silence(self) -> int:
        """An upper bound of the time without a reply before `missed` raises."""

    def replied(self, ns: int) -> None: ...
    def was_too_short(self) -> None: ...
    def missed(self) -> None:
        """Raises NoAnswer after too many misses in a row, each after a wait of `limit`."""

    def reset(self) -> None: ...

class Pacer:
    """When the next datagram is due; all times are ticks."""

    def __init__(self, interval: float, start: float, max_lag: float) -> None: ...
    @property
    def next(self) -> float: ...
    def sent(self, now: float) -> None: ...
    def forgive(self) -> None: ...

class Jitter:
    """The interarrival jitter of RFC 3550; all times are ns."""

    def __init__(self) -> None: ...
    @property
    def is_known(self) -> bool: ...
    @property
    def ns(self) -> float: ...
    def arrived(self, sent: int, received: int) -> None: ...

class DuplicateFilter:
    """Knows which of the latest numbers have arrived: at least of the `span` below the highest."""

    def __init__(self, first: int, span: int) -> None: ...
    @property
    def highest(self) -> int: ...
    def add(self, number: int) -> bool:
        """Whether `number` is new."""

class ControlMessage:
    """A message beside the data, between both ends; see native/endpoints/control_message.hpp."""

    version: ClassVar[int]
    def __init__(
        self, kind: int, batch: int, end: int, received: int, reordered: int, jitter: int
    ) -> None: ...
    @property
    def kind(self) -> int:
        """0: report request, 1: report, 2: end, 3: acknowledged end."""

    @property
    def batch(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def received(self) -> int: ...
    @property
    def reordered(self) -> int: ...
    @property
    def jitter(self) -> int: ...
    def encode(self) -> bytes: ...
    @staticmethod
    def decode(datagram: bytes) -> ControlMessage | None:
        """None if it is malformed or not a control message at all. Raises VersionMismatch if it is
        of another version."""

class DatagramResult:
    """The result of a batch. `start` and `timed_out_ticks`, the time spent on waits for lost
    replies, are ticks; `jitter` is ns, -1 if it is unknown; the rest are counts."""

    samples: int
    start: int
    timed_out_ticks: int
    sent: int
    lost: int
    reordered: int
    jitter: int

# The MPI types exist for each kind of handle: int or pointer. `functions` are the addresses of
# MPI's functions, in the order that native/endpoints/mpi*.hpp says. Handles are passed by address.
class MpiPathInt:
    def __init__(
        self,
        communicator: int,
        byte: int,
        datatype: int,
        typed_size: int,
        typed_extent: int,
        peer: int,
        tag: int,
    ) -> None:
        """A message of `typed_size` bytes is one element of `datatype`, which spans `typed_extent`
        bytes of memory; all others, and all where `typed_size` is 0, are plain bytes."""

class MpiInt(_Messages):
    def __init__(self, path: MpiPathInt, functions: list[int]) -> None: ...

class MpiNonblockingInt(_EndpointBase):
    def __init__(self, path: MpiPathInt, functions: list[int], max_window: int) -> None:
        """Iterations have at most `max_window` messages each way."""

class MpiPersistentInt(_EndpointBase):
    def __init__(
        self, path: MpiPathInt, functions: list[int], out: Ring, in_: Ring, max_window: int
    ) -> None:
        """Iterations have at most `max_window` messages each way, in these buffers. Raises MpiError
        if a request cannot be made, after freeing the requests before it."""

class MpiWindowInt(_EndpointBase):
    def __init__(
        self,
        path: MpiPathInt,
        functions: list[int],
        window: int,
        target: int,
        base: int,
        size: int,
    ) -> None:
        """The peer's memory in `window` has `size` bytes; its buffers begin at `base`."""

MpiPathPointer = MpiPathInt
MpiPointer = MpiInt
MpiNonblockingPointer = MpiNonblockingInt
MpiPersistentPointer = MpiPersistentInt
MpiWindowPointer = MpiWindowInt

# The names of libdragon's functions whose addresses DragonChannel needs, in their order.
dragon_functions: tuple[str, ...]

class DragonChannel(_Messages):
    def __init__(
        self,
        functions: list[int],
        send_handle: int,
        receive_handle: int,
        pool: int,
        out: Ring,
        transfers: bool,
    ) -> None:
        """Handles and pool are passed by address and stay the caller's. With `transfers`, each
        message is in new memory, which the receiver gets; else `out` has a copy in Dragon's memory.
        Raises DragonError."""

    def load(self) -> None:
        """Copies the buffers' present content into Dragon's memory, from where it is sent."""

class CudaStream:
    """A stream of a CUDA device, whose context has to be current in the thread that uses it."""

    def __init__(self, functions: list[int], batch: int, stream: int) -> None:
        """`functions` are the addresses of the driver's functions, in the order that
        native/cuda.hpp says; `batch` is that of cuMemcpyBatchAsync, where copy engines shall copy
        between devices, or 0."""

class Messages:
    """An endpoint that staged messages are sent with."""

def messages(endpoint: _Messages) -> Messages: ...

class Staged(_Messages):
    def __init__(
        self, messages: Messages, stream: CudaStream | None, stage: int, part: int, chunk: int
    ) -> None:
        """Messages in a device's memory, which `stream` copies to and from the host's memory at the
        address `stage`: two parts of `part` bytes. Without a stream they are in the host's memory.
        They are sent in pieces of `chunk` bytes; 0: whole."""

# The size of the memory that both ends of a CudaIpcLink map, bytes; zeros at first.
cuda_ipc_segment_size: int

class CudaIpcLink:
    """One end of what two processes say to each other of memory that both have opened: for one of
    the endpoints below, which goes on from there."""

    def __init__(
        self, stream: CudaStream, segment: _Bytes, device_segment: int, side: int, yields: bool
    ) -> None:
        """The device knows `segment` by the address `device_segment`. `side` is 0 or 1."""

class CudaIpc(_EndpointBase):
    def __init__(self, link: CudaIpcLink, target: Ring) -> None:
        """Copies into the peer's receive buffers, `target`."""

class CudaIpcNonblocking(_EndpointBase):
    def __init__(self, link: CudaIpcLink, target: Ring, max_window: int) -> None:
        """Iterations have at most `max_window` messages each way."""

class CudaIpcWindow(_EndpointBase):
    def __init__(self, link: CudaIpcLink, window: int, size: int) -> None:
        """The peer's memory is at the address `window` here, and has `size` bytes."""

# The names of NCCL's functions whose addresses NcclLink needs, in their order.
nccl_functions: tuple[str, ...]

class NcclLink:
    """Messages to one other rank, for one of the endpoints below."""

    def __init__(
        self, functions: list[int], stream: CudaStream, comm: int, peer: int, ack: int
    ) -> None:
        """`comm` is a communicator in which the other end is rank `peer`; `ack` the address of a
        byte of the device's memory, for acknowledgements."""

class Nccl(_Messages):
    def __init__(self, link: NcclLink) -> None: ...

class NcclNonblocking(_EndpointBase):
    def __init__(self, link: NcclLink) -> None: ...

def device_copy(
    stream: CudaStream,
    to: int,
    from_: int,
    size: int,
    count: int,
    timestamps: _Int64s,
    clock: str,
    back: CudaStream | None = None,
    back_to: int = 0,
    back_from: int = 0,
) -> None:
    """Copies `size` bytes `count` times between each two timestamps, and waits for each; with
    `back`, as many go from `back_from` to `back_to` at the same time. Raises DeviceError."""

def device_kernel(
    stream: CudaStream, launch: int, function: int, count: int, timestamps: _Int64s, clock: str
) -> None:
    """Launches an empty kernel `count` times between each two timestamps, and waits for each.
    `launch` is the address of cuLaunchKernel. Raises DeviceError."""
