"""A path of datagrams between two ends in one process; a test says what becomes of each."""

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

# What goes beside the data: so long, and with this at its start.
NOTICE_SIZE = 56
_MAGIC = struct.pack("<Q", 0xA51F7219C3D2E847)


# Longer than any test: no answer is given up because this machine is busy.
AMPLE_SECONDS = 60.0


class Notice(NamedTuple):
    """What the ends tell each other; see native/endpoints/datagram.hpp."""

    magic: int
    kind: int
    batch: int
    end: int
    received: int
    late: int
    jitter: int


ASKS, ANSWERS, ENDS, ENDED = range(4)


def read_notice(datagram):
    return Notice(*struct.unpack("<Q6q", datagram))


class Passed(NamedTuple):
    """What went through: from which side, when it had come and just before it went, ns of
    CLOCK_MONOTONIC."""

    side: int
    datagram: bytes
    came: int
    went: int


def is_notice(datagram):
    return len(datagram) == NOTICE_SIZE and datagram.startswith(_MAGIC)


def everything(index, datagram):
    return [0.0]


class Relay:
    """Hands on what comes, in a thread of its own.

    `there` and `back` say of the index-th datagram of data from the first end and from the second
    what goes on: for each copy, after how many seconds, or that and the bytes to send in its place;
    nothing to lose it. Notices pass, unless `notice` says otherwise. What is to go on at once goes
    on in the order in which it came. `passed` is all that has gone on.
    """

    def __init__(self, there=everything, back=everything, notice=everything):
        self._policies = (there, back)
        self._notice = notice
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
        """The native endpoint at one side. It is as patient as `timeout` says, unless `shortest` is
        less."""
        end = self.ends[side]
        end.setblocking(wait == "block")
        tick = struct.pack("@ll", 0, _native.Datagrams.tick_ns // 1000)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        limits = round(timeout * 1e9), round(shortest * 1e9)
        self._endpoints[side] = _native.Datagrams(end.fileno(), wait == "spin", True, *limits)
        return self._endpoints[side]

    def hand_on(self, side, datagram):
        """For policies: hands on what came from `side`, before anything else goes on."""
        self._hand_on(side, datagram, time.monotonic_ns())

    def _hand_on(self, side, datagram, came):
        # Written down before it goes: whoever receives it finds it here.
        self.passed.append(Passed(side, datagram, came, time.monotonic_ns()))
        with contextlib.suppress(ConnectionError):
            self._sides[1 - side].send(datagram)

    def lose(self):
        """What a policy gives for a datagram of a ping-pong that is lost for good: the first end
        need not wait to know."""
        self._endpoints[0].give_up()
        return []

    def _run(self):
        waiting, tickets, counts, notices = [], itertools.count(), [0, 0], itertools.count()
        while not self._stop.is_set():
            pause = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for side in select.select(self._sides, [], [], pause)[0]:
                number = self._sides.index(side)
                with contextlib.suppress(ConnectionError):
                    datagram = side.recv(1 << 16)
                    came = time.monotonic_ns()
                    if is_notice(datagram):
                        copies = self._notice(next(notices), datagram)
                    else:
                        copies = self._policies[number](counts[number], datagram)
                        counts[number] += 1
                    for copy in copies:
                        delay, what = copy if isinstance(copy, tuple) else (copy, datagram)
                        due = came * 1e-9 + delay if delay else 0.0
                        heapq.heappush(waiting, (due, next(tickets), number, what, came))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, number, datagram, came = heapq.heappop(waiting)
                self._hand_on(number, datagram, came)
