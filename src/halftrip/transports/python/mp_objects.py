"""Objects of multiprocessing that two ranks share, though neither has started the other.

multiprocessing hands its objects down to child processes, or gives them names, which stay in
/dev/shm when all who know them are killed. Here each is made of what the peer can open without a
name: a descriptor, or memory. Its class, and so its calls, are those of multiprocessing; it gets
its state as in a child, by `__setstate__`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from multiprocessing import synchronize
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from typing import Any

from halftrip.memory.allocator import Bytes

SEM_VALUE_MAX = 2**31 - 1
# The kind of both semaphores and locks (multiprocessing.synchronize.SEMAPHORE).
_SEMAPHORE = 1
# Two cores that use neighbours share no cache line, nor two that are fetched together. A sem_t has
# 32 bytes.
_STRIDE = 128
# How long the thread of a queue may take to end; it has nothing left to send.
_FEEDER_SECONDS = 1.0


def connection(descriptor: int, readable: bool = True, writable: bool = True) -> Connection:
    """A connection over a duplicate of a descriptor."""
    return Connection(os.dup(descriptor), readable, writable)


def semaphore_bytes(count: int) -> int:
    """How much memory so many semaphores need."""
    return count * _STRIDE


def make_semaphores(memory: Bytes, values: Sequence[int]) -> None:
    """Makes semaphores of these values in memory that the ranks share."""
    libc = ctypes.CDLL(None)
    for number, value in enumerate(values):
        # It fails for values above SEM_VALUE_MAX alone.
        libc.sem_init(ctypes.c_void_p(_place(memory, number)), 1, ctypes.c_uint(value))


def semaphore(
    memory: Bytes, number: int, kind: Any = synchronize.Semaphore, most: int = SEM_VALUE_MAX
) -> Any:
    """Number `number` of the semaphores that one of the ranks has made in `memory`: an object of
    multiprocessing of that kind, whose value is at most `most`."""
    made = kind.__new__(kind)
    made.__setstate__((_place(memory, number), _SEMAPHORE, most, None))
    # The memory stays mapped for as long as something can use it.
    made.memory = memory
    return made


def _place(memory: Bytes, number: int) -> int:
    return int(memory.ctypes.data) + number * _STRIDE


# The values of the semaphores of a queue: two locks, and how many messages it may still take.
QUEUE_SEMAPHORES = (1, 1, SEM_VALUE_MAX)


def queue(reader: Connection, writer: Connection, memory: Bytes, first: int) -> Any:
    """A queue over a pipe. Its semaphores are those in `memory` from number `first` on."""
    made: Any = Queue.__new__(Queue)
    made.__setstate__(
        (
            # Its thread says nothing where the peer has died: the watchdog does.
            True,
            SEM_VALUE_MAX,
            reader,
            writer,
            semaphore(memory, first, synchronize.Lock, 1),
            semaphore(memory, first + 1, synchronize.Lock, 1),
            semaphore(memory, first + 2, synchronize.BoundedSemaphore),
            os.getpid(),
        )
    )
    # A process that ends does not wait for the thread, which may wait for a dead peer.
    made.cancel_join_thread()
    return made


def close_queue(queue: Any) -> None:
    """Ends the thread of a queue, which closes its pipe; where it has none, closes the pipe."""
    queue.close()
    # After cancel_join_thread(), join_thread() does nothing.
    feeder = queue._thread
    if feeder is not None:
        feeder.join(_FEEDER_SECONDS)
    if feeder is None or not feeder.is_alive():
        for end in (queue._reader, queue._writer):
            end.close()
