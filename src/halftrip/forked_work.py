"""Work that is shared out to forks of this process, so that several cores do it."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

# No more processes than this, however many cores there are: each takes memory of its own.
_MOST = 16
_LENGTH_BYTES = 8


def usable_cores() -> int:
    """How many processes can share work: one for each core that this process may use, or 1 where it
    is not safe to fork it, since it has threads or an MPI."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or "mpi4py.MPI" in sys.modules:
        return 1
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
    return min(_MOST, len(os.sched_getaffinity(0))) if threads == 1 else 1


def mapped(
    work: Callable[[_Item], _Result], items: Sequence[_Item], cores: int
) -> Generator[_Result, None, None]:
    """What `work` makes of each item, in their order: in so many forks of this process, of which
    none outlives the generator. What it makes has to be something that pickle can write. What a
    fork fails to do is done here."""
    shares = min(cores, len(items))
    if shares < 2:
        yield from map(work, items)
        return
    waiting: dict[int, bytes] = {}
    with contextlib.closing(_in_forks(work, items, shares)) as received:
        for place, item in enumerate(items):
            while place not in waiting and (part := next(received, None)) is not None:
                waiting[part[0]] = part[1]
            if place in waiting:
                # Only forks of this process write to their pipes.
                yield pickle.loads(waiting.pop(place))  # noqa: S301
            else:
                yield work(item)


def _in_forks(
    work: Callable[[_Item], _Result], items: Sequence[_Item], shares: int
) -> Generator[tuple[int, bytes], None, None]:
    """What is made of items, pickled, with the place of each, in any order: without those at which
    a fork has failed, and those after it."""
    children: dict[int, int] = {}
    places: dict[int, Iterator[int]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for share in range(shares):
                reader, writer = os.pipe()
                child = os.fork()
                if not child:
                    _do(work, items[share::shares], writer, (reader, *children))
                os.close(writer)
                children[reader] = child
                places[reader] = iter(range(share, len(items), shares))
                selector.register(reader, selectors.EVENT_READ)
            while children:
                for key, _ in selector.select():
                    part = _received(key.fd)
                    if part is not None:
                        yield next(places[key.fd]), part
                    else:
                        selector.unregister(key.fd)
                        _end(key.fd, children.pop(key.fd))
        finally:
            for reader, child in children.items():
                os.kill(child, signal.SIGKILL)
                _end(reader, child)


def _do(
    work: Callable[[_Item], _Result], items: Iterable[_Item], writer: int, others: Iterable[int]
) -> None:
    """What a fork does; it does not return, whatever happens."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # To look for garbage would copy all pages that it shares with its parent.
        gc.disable()
        for other in others:
            os.close(other)
        with open(writer, "wb") as pipe:
            for item in items:
                part = pickle.dumps(work(item), pickle.HIGHEST_PROTOCOL)
                pipe.write(len(part).to_bytes(_LENGTH_BYTES, "little"))
                pipe.write(part)
                pipe.flush()
    finally:
        os._exit(0)


def _end(reader: int, child: int) -> None:
    os.close(reader)
    # Where this process ignores SIGCHLD, there is nothing to wait for.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _received(reader: int) -> bytes | None:
    """The next part that a fork has written; None at its end."""
    length = _read(reader, _LENGTH_BYTES)
    return None if length is None else _read(reader, int.from_bytes(length, "little"))


def _read(reader: int, size: int) -> bytes | None:
    """So many bytes; None where the fork ended before."""
    found = bytearray()
    while len(found) < size:
        part = os.read(reader, size - len(found))
        if not part:
            return None
        found += part
    return bytes(found)
