"""A path of datagrams between two ends in one process. The test decides what becomes of each."""

import contextlib
import heapq
import itertools
import select
import socket
import struct
import threading
import time
from typing import NamedTuple

from halftrip import _native
from harness.control_message import is_control
from harness.limits import AMPLE_SECONDS


class Passed(NamedTuple):
    """A datagram that went through: from which side, when it had arrived, and a time just before it
    was passed on, ns of CLOCK_MONOTONIC."""

    side: int
    datagram: bytes
    arrived: int
    left: int


def everything(index, datagram):
    return [0.0]


class Relay:
    """Passes datagrams on, in a thread of its own.

    `there` and `back` are called with the index and the bytes of each datagram of data from the
    first end, or from the second. They return a list with one item for each copy to pass on: after
    how many seconds, or that and the bytes to send instead. An empty list drops the datagram.
    Control messages pass, unless `control`, called likewise, says otherwise. Datagrams without a
    delay leave in the order in which they arrived. `passed` are all that have left.
    """

    def __init__(self, there=everything, back=everything, control=everything):
        self._policies = (there, back)
        self._control = control
        self._sides = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        self.ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for side, end in zip(self._sides, self.ends, strict=True):
            side.bind(("127.0.0.1", 0))
            end.bind(("127.0.0.1", 0))
            side.connect(end.getsockname())
            end.connect(side.getsockname())
            for each in (side, end):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.passed = []
        self._endpoints = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        for each in (*self._sides, *self.ends):
            each.close()

    def datagrams(self, side, wait="spin", timeout=AMPLE_SECONDS, shortest=AMPLE_SECONDS):
        """The native endpoint at one side. It waits for a reply for `timeout` seconds at most,
        and for `shortest` at least, if that is less."""
        end = self.ends[side]
        end.setblocking(wait == "block")
        tick = struct.pack("@ll", 0, _native.DatagramSocket.tick_ns // 1000)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        limits = round(timeout * 1e9), round(shortest * 1e9)
        self._endpoints[side] = _native.DatagramSocket(end.fileno(), wait == "spin", True, *limits)
        return self._endpoints[side]

    def pass_on(self, side, datagram):
        """For policies: passes on a datagram from `side` now, before all others."""
        self._pass_on(side, datagram, time.monotonic_ns())

    def _pass_on(self, side, datagram, arrived):
        # Written down before it leaves: whoever receives it finds it here.
        self.passed.append(Passed(side, datagram, arrived, time.monotonic_ns()))
        with contextlib.suppress(ConnectionError):
            self._sides[1 - side].send(datagram)

    def drop(self):
        """What a policy returns to drop a datagram of a ping-pong for good. Ends the first end's
        wait for the reply, so that no test waits for a timeout."""
        self._endpoints[0].end_wait()
        return []

    def _run(self):
        waiting, tickets, counts, controls = [], itertools.count(), [0, 0], itertools.count()
        while not self._stop.is_set():
            pause = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for side in select.select(self._sides, [], [], pause)[0]:
                number = self._sides.index(side)
                with contextlib.suppress(ConnectionError):
                    datagram = side.recv(1 << 16)
                    arrived = time.monotonic_ns()
                    if is_control(datagram):
                        copies = self._control(next(controls), datagram)
                    else:
                        copies = self._policies[number](counts[number], datagram)
                        counts[number] += 1
                    for copy in copies:
                        delay, content = copy if isinstance(copy, tuple) else (copy, datagram)
                        due = arrived * 1e-9 + delay if delay else 0.0
                        heapq.heappush(waiting, (due, next(tickets), number, content, arrived))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, number, datagram, arrived = heapq.heappop(waiting)
                self._pass_on(number, datagram, arrived)
