"""Notices a TCP connection over which nothing moves any more, while timed code waits for it.

A hop that drops large packets in silence, or a firewall that has forgotten the connection, sends no
error: without the guard the sender would repeat for a quarter of an hour, and the receiver wait for
ever.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence

from halftrip.telemetry.network_path import TcpProgress, read_progress

# How often connections are looked at, s, and after how many looks in a row without progress they
# are given up. Looks are counted: this process may have been stopped for a while. In all it is
# longer than a rank that is stopped is waited for (job/connected.py), which is then the reason, and
# leaves path-MTU probing of the kernel (tcp_mtu_probing) the time to succeed.
LOOK_SECONDS = 3.0
_MOST_SILENT_LOOKS = 5


class StallGuard:
    """Watches connections in a thread of its own, which is there while it has any to watch. They
    are looked at every `seconds`."""

    def __init__(self, seconds: float = LOOK_SECONDS) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._watches: list[Watch] = []
        self._is_running = False
        self._cores: tuple[int, ...] = ()

    def watch(self, descriptors: Sequence[int], cores: Sequence[int] = ()) -> Watch:
        """What is to be entered while these connections are waited for. The descriptors stay the
        caller's, who may close them at any other time. The guard's thread runs on those of these
        `cores` that the caller does not have, if there are any."""
        self._cores = tuple(cores)
        return Watch(self, descriptors)

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._watches.append(watch)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._look, name="stall guard", daemon=True).start()

    def remove(self, watch: Watch) -> None:
        with self._lock:
            self._watches.remove(watch)

    def _look(self) -> None:
        # A thread inherits the core to which whoever starts it is pinned: there messages are timed.
        others = set(self._cores) - os.sched_getaffinity(0)
        if others:
            # A container may have lost them.
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, others)
        pause = threading.Event()
        while True:
            pause.wait(self.seconds)
            with self._lock:
                if not self._watches:
                    self._is_running = False
                    return
                for watch in self._watches:
                    watch.look()


class Watch:
    """Watches the connections of a path while it is entered: where nothing moves over them any
    more, it shuts them down, so that calls which wait for them end. `stalled` is then what was seen
    of each; else it is empty."""

    def __init__(self, guard: StallGuard, descriptors: Sequence[int]) -> None:
        self.stalled: list[TcpProgress] = []
        self._guard = guard
        self._descriptors = descriptors
        self._moved: list[tuple[int, int]] = []
        self._silent_looks = 0

    @property
    def patience(self) -> float:
        """After how long without progress the connections are shut down, s, at least."""
        return _MOST_SILENT_LOOKS * self._guard.seconds

    def __enter__(self) -> None:
        self._moved = []
        self._silent_looks = 0
        self._guard.add(self)

    def __exit__(self, *_: object) -> None:
        self._guard.remove(self)

    def look(self) -> None:
        """Called by the guard, while this is entered."""
        if self.stalled:
            return
        seen = [read_progress(descriptor) for descriptor in self._descriptors]
        moved = [each.moved for each in seen]
        self._silent_looks = self._silent_looks + 1 if moved == self._moved else 0
        self._moved = moved
        if self._silent_looks >= _MOST_SILENT_LOOKS:
            self.stalled = seen
            shut_down(self._descriptors)


def shut_down(descriptors: Sequence[int]) -> None:
    """Ends connections in both directions, so that calls at both ends return."""
    for descriptor in descriptors:
        with (
            socket.socket(fileno=os.dup(descriptor)) as connection,
            # It has ended by itself.
            contextlib.suppress(OSError),
        ):
            connection.shutdown(socket.SHUT_RDWR)


def unacknowledged(connections: Sequence[TcpProgress]) -> TcpProgress | None:
    """The connection on which segments were sent again most often, without an acknowledgement; None
    if none waits for one."""
    waiting = [each for each in connections if each.unacknowledged and each.resent]
    return max(waiting, key=lambda each: each.resent, default=None)
