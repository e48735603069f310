"""A path of IP packets between two TUN devices, with a delay, losses and reordering of its own.

Not every kernel has netem, and netem does not say which packet it dropped, nor when each left. This
program does: it opens both devices, hands each packet on from one to the other, and keeps of every
packet when it was read, when it was written, and what became of it. A test then compares with what
was done, not with what was asked for.

    python relay.py DEVICE DEVICE

The devices are made where the program is started and go with it; its caller puts each into the
namespace of its host. Commands come as lines of JSON and are answered by one each: `set` (a `Rule`
and the seed of its dice) holds from now on, `save` (a path) writes what has been kept since the
last time. The end of the input is the end of the relay.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import heapq
import json
import os
import random
import select
import struct
import sys
import time
from dataclasses import dataclass, fields, replace

TCP, UDP = 6, 17

# linux/if_tun.h
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
# Larger than any packet.
_MOST = 1 << 16
# So many packets of a direction at most before those that are due go on.
_BATCH = 16

# How much of each packet is kept: the header of IPv4 without options.
HEAD = 20
# direction, protocol, fate, length, read, written, head; see `journal.KEPT`.
RECORD = struct.Struct(f"<BBBxIqq{HEAD}s")
# REFUSED: the device that it was to go out of is not up.
SENT, DROPPED, WAITING, REFUSED = 0, 1, 2, 3


def protocol_of(packet: bytes) -> int:
    """The protocol of an IP packet (RFC 791, 3.1; RFC 8200, 3)."""
    return packet[9] if packet[0] >> 4 == 4 else packet[6]


@dataclass(frozen=True)
class Rule:
    """What becomes of packets: all are `delay` ns on their way, and in order; of those of
    `protocol` (0: of all), a share `loss` is dropped, and of the rest a share `reorder` is held for
    `hold` ns more, so that others overtake them. From the second host to the first, all are
    `further` ns more on their way."""

    delay: int = 0
    further: int = 0
    loss: float = 0.0
    reorder: float = 0.0
    hold: int = 0
    protocol: int = UDP


class Dice:
    """Says of each packet of one direction what becomes of it; the same again for the same seed."""

    def __init__(self, rule: Rule, seed: int) -> None:
        self._rule = rule
        self._random = random.Random(seed)

    def throw(self, protocol: int) -> int | None:
        """How long a packet is delayed, ns; None: it is dropped."""
        rule = self._rule
        if rule.protocol not in (0, protocol):
            return rule.delay
        # Both always, so that a share of one does not change which packets the other hits.
        lost, held = self._random.random() < rule.loss, self._random.random() < rule.reorder
        if lost:
            return None
        return rule.delay + held * rule.hold


class Kept:
    """A packet, and what became of it; times are ns of CLOCK_MONOTONIC."""

    __slots__ = ("direction", "fate", "packet", "protocol", "read", "written")

    def __init__(self, direction: int, packet: bytes, read: int) -> None:
        self.direction, self.packet, self.read = direction, packet, read
        self.protocol = protocol_of(packet)
        self.fate, self.written = WAITING, 0

    def record(self) -> bytes:
        return RECORD.pack(
            *(self.direction, self.protocol, self.fate, len(self.packet)),
            *(self.read, self.written, self.packet[:HEAD]),
        )


class Schedule:
    """Packets by when they are due; of those that are due at once, the first that came is first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Kept]] = []
        self._count = 0

    def add(self, due: int, kept: Kept) -> None:
        heapq.heappush(self._heap, (due, self._count, kept))
        self._count += 1

    def take(self, now: int) -> Kept | None:
        """The next that is due, if there is one."""
        return heapq.heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now else None

    def wait(self, now: int) -> float | None:
        """Seconds until the next is due; None: there is none."""
        return max(0.0, (self._heap[0][0] - now) * 1e-9) if self._heap else None


def open_device(name: str) -> int:
    """A new TUN device, whose packets come as they are."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


class Relay:
    def __init__(self, devices: list[int]) -> None:
        self._devices = devices
        self._schedule = Schedule()
        self._kept: list[Kept] = []
        self._said = b""
        self._set(Rule(), 0)

    def _set(self, rule: Rule, seed: int) -> None:
        delays = (rule.delay, rule.delay + rule.further)
        self._dice = [
            Dice(replace(rule, delay=delay), 2 * seed + direction)
            for direction, delay in enumerate(delays)
        ]

    def run(self) -> None:
        while True:
            wait = self._schedule.wait(time.monotonic_ns())
            ready, _, _ = select.select([*self._devices, sys.stdin.fileno()], [], [], wait)
            for direction, device in enumerate(self._devices):
                if device in ready:
                    self._read(direction, device)
            self._write()
            if sys.stdin.fileno() in ready and not self._listen():
                return

    def _read(self, direction: int, device: int) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(_BATCH):
                packet = os.read(device, _MOST)
                kept = Kept(direction, packet, time.monotonic_ns())
                self._kept.append(kept)
                delay = self._dice[direction].throw(kept.protocol)
                if delay is None:
                    kept.fate = DROPPED
                else:
                    self._schedule.add(kept.read + delay, kept)
                    # Nothing that is due waits for what may still come.
                    self._write()

    def _write(self) -> None:
        while (kept := self._schedule.take(time.monotonic_ns())) is not None:
            try:
                os.write(self._devices[1 - kept.direction], kept.packet)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                kept.fate = REFUSED
                continue
            kept.written = time.monotonic_ns()
            kept.fate = SENT

    def _listen(self) -> bool:
        """Does what it is told; whether there may be more."""
        said = os.read(sys.stdin.fileno(), 1 << 16)
        *lines, self._said = (self._said + said).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
            print("done", flush=True)
        return bool(said)

    def _obey(self, command: dict) -> None:
        if command["do"] == "set":
            names = {field.name for field in fields(Rule)}
            self._set(Rule(**{n: v for n, v in command.items() if n in names}), command["seed"])
        else:
            with open(command["path"], "wb") as log:
                log.writelines(kept.record() for kept in self._kept)
            self._kept = [kept for kept in self._kept if kept.fate == WAITING]


def main() -> None:
    devices = [open_device(name) for name in sys.argv[1:]]
    # Before those who wait for it, however they wait.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    gc.disable()
    print("ready", flush=True)
    Relay(devices).run()


if __name__ == "__main__":
    main()
