"""A path of datagrams between two ends in one process; a test says what becomes of each."""

import contextlib
import heapq
import itertools
import select
import socket
import struct
import threading
import time

from halftrip import _native

# What goes beside the data: so long, and with this at its start.
NOTICE_SIZE = 56
_MAGIC = struct.pack("<Q", 0xA51F7219C3D2E847)


def is_notice(datagram):
    return len(datagram) == NOTICE_SIZE and datagram.startswith(_MAGIC)


def everything(index, datagram):
    return [0.0]


class Relay:
    """Hands on what comes, in a thread of its own.

    `there` and `back` say of the index-th datagram of data from the first end and from the second
    after how many seconds it goes on: one for each copy, none to lose it. Notices pass, unless
    `notice` says otherwise. What arrives at the second end, and when it was handed on, is kept.
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

    def datagrams(self, side, wait="spin", timeout=1.0):
        """The native endpoint at one side."""
        end = self.ends[side]
        end.setblocking(wait == "block")
        tick = struct.pack("@ll", 0, _native.Datagrams.tick_ns // 1000)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, tick)
        return _native.Datagrams(end.fileno(), wait == "spin", True, round(timeout * 1e9))

    def _run(self):
        waiting, tickets, counts, notices = [], itertools.count(), [0, 0], itertools.count()
        while not self._stop.is_set():
            pause = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for side in select.select(self._sides, [], [], pause)[0]:
                number = self._sides.index(side)
                with contextlib.suppress(ConnectionError):
                    datagram = side.recv(1 << 16)
                    if is_notice(datagram):
                        delays = self._notice(next(notices), datagram)
                    else:
                        delays = self._policies[number](counts[number], datagram)
                        counts[number] += 1
                    now = time.monotonic()
                    for delay in delays:
                        heapq.heappush(waiting, (now + delay, next(tickets), number, datagram))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, number, datagram = heapq.heappop(waiting)
                with contextlib.suppress(ConnectionError):
                    self._sides[1 - number].send(datagram)
