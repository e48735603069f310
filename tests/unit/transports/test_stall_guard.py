"""A connection over which nothing moves any more is ended, and no other."""

import contextlib
import os
import socket
import struct
import threading
import time

import pytest

from halftrip.telemetry.network_path import parse_progress, read_progress
from halftrip.transports.native.stall_guard import StallGuard, unacknowledged
from harness.limits import AMPLE_SECONDS, until
from harness.threads import in_thread

SECONDS = 0.02


@pytest.fixture
def ends():
    """Both ends of a connection over TCP."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as one,
        listener.accept()[0] as other,
    ):
        yield one, other


def test_who_waits_for_what_never_comes_is_woken(ends):
    one, _ = ends
    watch = StallGuard(SECONDS).watch([one.fileno()])
    one.settimeout(AMPLE_SECONDS)
    # The end of the connection, when it is acknowledged, counts as a byte.
    before = read_progress(one.fileno()).moved
    with watch:
        assert one.recv(1) == b""
    (seen,) = watch.stalled
    assert seen.moved == before
    assert unacknowledged(watch.stalled) is None
    assert watch.patience == pytest.approx(5 * SECONDS)


def test_what_is_not_waited_for_is_not_ended(ends):
    one, other = ends
    guard = StallGuard(SECONDS)
    watch = guard.watch([one.fileno()])
    for _ in range(3):
        with watch:
            time.sleep(SECONDS)
        time.sleep(10 * SECONDS)
    other.sendall(b"x")
    assert one.recv(1) == b"x"
    assert watch.stalled == []


def test_its_thread_is_not_where_messages_are_timed(ends):
    one, _ = ends
    cores = os.sched_getaffinity(0)
    own, seen = {min(cores)}, set()

    def timed():
        # This thread alone is pinned, as that of a rank.
        os.sched_setaffinity(0, own)
        with StallGuard(SECONDS).watch([one.fileno()], sorted(cores)):
            (guard,) = (each for each in threading.enumerate() if each.name == "stall guard")
            until(lambda: os.sched_getaffinity(guard.native_id) != own or own == cores)
            seen.update(os.sched_getaffinity(guard.native_id))

    assert in_thread(timed)() is None
    assert seen == (cores - own or cores)


def test_its_thread_is_there_only_while_there_is_something_to_watch(ends):
    def is_there():
        return any(thread.name == "stall guard" for thread in threading.enumerate())

    guard = StallGuard(SECONDS)
    watch = guard.watch([ends[0].fileno()])
    for _ in range(2):
        with watch:
            assert is_there()
        until(lambda: not is_there())


def test_each_connection_of_a_path_counts(ends):
    """One over which a byte comes now and then keeps the others."""
    one, other = ends
    with contextlib.ExitStack() as more:
        listener = more.enter_context(socket.create_server(("127.0.0.1", 0)))
        idle = more.enter_context(socket.create_connection(listener.getsockname()))
        watch = StallGuard(SECONDS).watch([one.fileno(), idle.fileno()])
        with watch:
            for _ in range(20):
                time.sleep(SECONDS)
                other.sendall(b"x")
                assert one.recv(1) == b"x"
    assert watch.stalled == []


def test_progress_is_read_where_the_kernel_has_it():
    info = bytearray(range(1, 137))
    progress = parse_progress(bytes(info))
    assert progress.resent == info[2]
    assert progress.segment == int.from_bytes(info[16:20], "little")
    assert progress.unacknowledged == int.from_bytes(info[24:28], "little")
    assert progress.moved[0] == int.from_bytes(info[120:128], "little")
    assert progress.moved[1] == int.from_bytes(info[128:136], "little")
    with pytest.raises(struct.error):
        parse_progress(bytes(info[:-1]))
