"""Pairs of native endpoints in one process."""

import fcntl
import os
import socket
import struct
import termios

import numpy as np

from halftrip import _native
from halftrip.memory.shared import SharedSegment, open_offer


def unread(descriptor):
    """How many bytes wait in a socket."""
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    return count


def shm_pair(yields=True, replies_apart=True):
    segment = SharedSegment(_native.shm_segment_size)
    other = open_offer(segment.offer)
    sides = ((segment.bytes, 0), (other, 1))
    ends = tuple(_native.Shm(*side, yields, replies_apart) for side in sides)
    segment.close()
    return ends, lambda: None


def stream_pair(kind, make):
    def build():
        ends, release = make(kind in (_native.BlockingStream, _native.BlockingSocket))
        return tuple(kind(in_fd, out_fd, True) for in_fd, out_fd in ends), release

    return build


def sockets(blocking):
    pair = socket.socketpair()
    for end in pair:
        end.setblocking(blocking)

    def release():
        for end in pair:
            end.close()

    return [(end.fileno(), end.fileno()) for end in pair], release


def several(kind):
    """Ends of three connections."""

    def build():
        made = [sockets(kind is _native.BlockingSockets) for _ in range(3)]
        pairs = [ends for ends, _ in made]
        ends = tuple(kind([each[end][0] for each in pairs], True) for end in (0, 1))

        def release():
            for _, release_one in made:
                release_one()

        return ends, release

    return build


def pipes(blocking):
    there, back = os.pipe(), os.pipe()
    for descriptor in (*there, *back):
        os.set_blocking(descriptor, blocking)

    def release():
        for descriptor in (*there, *back):
            os.close(descriptor)

    return [(back[0], there[1]), (there[0], back[1])], release


def window_pair(size=1 << 20):
    """Two ends, each of which reaches into the other's window; the windows, by end; the release."""
    (first, second), _ = shm_pair()
    segments = [SharedSegment(size) for _ in range(2)]
    ends = (
        _native.ShmWindow(first, open_offer(segments[1].offer)),
        _native.ShmWindow(second, open_offer(segments[0].offer)),
    )

    def release():
        for segment in segments:
            segment.close()

    return ends, [segment.bytes for segment in segments], release


# The type of both ends; PAIRS makes two of them, and says how to release them.
KINDS = {
    "shm": _native.Shm,
    "blocking socket": _native.BlockingSocket,
    "spinning socket": _native.SpinningSocket,
    "polling socket": _native.PollingSocket,
    "several blocking sockets": _native.BlockingSockets,
    "several spinning sockets": _native.SpinningSockets,
    "several polling sockets": _native.PollingSockets,
    "blocking pipe": _native.BlockingStream,
    "spinning pipe": _native.SpinningStream,
    "polling pipe": _native.PollingStream,
}
PAIRS = {"shm": shm_pair} | {
    name: (
        several(kind)
        if "several" in name
        else stream_pair(kind, sockets if "socket" in name else pipes)
    )
    for name, kind in KINDS.items()
    if name != "shm"
}


def message(size, seed):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def messages(slots, size, seed):
    """Buffers that all differ, shape (slots, size)."""
    return message(slots * size, seed).reshape(slots, size)
