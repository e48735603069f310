"""Work in shares, each in a fork of this process, so that several cores do it."""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

# No more processes than this, however many cores there are: each takes memory of its own.
_MOST = 16
_HEADER_BYTES = 8


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


def in_forks(shares: int, work: Callable[[int], Iterable[bytes]]) -> Iterator[tuple[int, bytes]]:
    """What `work` yields for each share, from 0, each in a fork, with the number of the share: those
    of a share in their order. A share whose fork fails ends early, so the caller has to look whether
    anything is missing. No fork outlives this generator."""
    children: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for share in range(shares):
                reader, writer = os.pipe()
                child = os.fork()
                if not child:
                    _do(work, share, writer, (reader, *children))
                os.close(writer)
                children[reader] = child
                selector.register(reader, selectors.EVENT_READ, share)
            while selector.get_map():
                for key, _ in selector.select():
                    part = _received(key.fd)
                    if part is None:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        _wait(children.pop(key.fd))
                    else:
                        yield key.data, part
        finally:
            for reader, child in children.items():
                os.close(reader)
                os.kill(child, signal.SIGKILL)
                _wait(child)


def _do(
    work: Callable[[int], Iterable[bytes]], share: int, writer: int, others: Iterable[int]
) -> None:
    """What a fork does; it does not return. If it fails, the parent does its share, and shows the
    error."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # To look for garbage would copy all pages that both processes share.
        gc.disable()
        for other in others:
            os.close(other)
        with open(writer, "wb") as pipe:
            for part in work(share):
                pipe.write(len(part).to_bytes(_HEADER_BYTES, "little"))
                pipe.write(part)
                pipe.flush()
    finally:
        os._exit(0)


def _wait(child: int) -> None:
    # Where this process ignores SIGCHLD, there is nothing to wait for.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _received(reader: int) -> bytes | None:
    """The next part that a fork has written; None at its end."""
    header = _read(reader, _HEADER_BYTES)
    if header is None:
        return None
    return _read(reader, int.from_bytes(header, "little"))


def _read(reader: int, size: int) -> bytes | None:
    """So many bytes; None where the fork ended before."""
    found = bytearray()
    while len(found) < size:
        part = os.read(reader, size - len(found))
        if not part:
            return None
        found += part
    return bytes(found)
