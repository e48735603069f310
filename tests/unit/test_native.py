"""Endpoints and kernels within one process: two threads, one for each rank."""

import os
import socket
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip import _native
from halftrip.clock import Clock, best_source
from halftrip.memory.shared import SharedSegment, open_offer

SIZES = [1, 2, 3, 7, 8, 31, 32, 56, 57, 64, 504, 505, 4096, 4097, 70_000, 600_000, 1_500_000]


def shm_pair(yields=True):
    segment = SharedSegment(_native.shm_segment_size)
    other = open_offer(segment.offer)
    ends = _native.Shm(segment.bytes, 0, yields), _native.Shm(other, 1, yields)
    segment.close()
    return ends, lambda: None


def stream_pair(kind, make):
    def build():
        ends, release = make(kind is _native.BlockingStream)
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


def pipes(blocking):
    there, back = os.pipe(), os.pipe()
    for descriptor in (*there, *back):
        os.set_blocking(descriptor, blocking)

    def release():
        for descriptor in (*there, *back):
            os.close(descriptor)

    return [(back[0], there[1]), (there[0], back[1])], release


PAIRS = {
    "shm": shm_pair,
    "blocking socket": stream_pair(_native.BlockingStream, sockets),
    "spinning socket": stream_pair(_native.SpinningStream, sockets),
    "blocking pipe": stream_pair(_native.BlockingStream, pipes),
    "spinning pipe": stream_pair(_native.SpinningStream, pipes),
}


@pytest.fixture(params=PAIRS, ids=lambda name: name.replace(" ", "-"))
def ends(request):
    pair, release = PAIRS[request.param]()
    yield pair
    release()


@pytest.fixture
def clock():
    return best_source()


def in_thread(work):
    """Starts work() in a thread; the returned function waits for it and gives what it raised."""
    raised = []

    def run():
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def finish():
        thread.join(timeout=60)
        assert not thread.is_alive()
        return raised[0] if raised else None

    return finish


def message(size, seed):
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


@pytest.mark.parametrize("size", SIZES)
def test_ping_pong_brings_every_byte_over_and_back(ends, size, clock):
    there, back = message(size, 1), message(size, 2)
    at_first, at_second = np.zeros_like(there), np.zeros_like(there)
    stamps = np.zeros(4, dtype=np.int64)
    finish = in_thread(lambda: _native.pong(ends[1], back, at_second, 1 + 2 * 3))
    _native.ping(ends[0], there, at_first, 1, 2, stamps, clock)
    assert finish() is None
    assert np.array_equal(at_second, there)
    assert np.array_equal(at_first, back)
    assert (np.diff(stamps) > 0).all()


def test_the_other_end_may_begin(ends, clock):
    stamps = np.zeros(101, dtype=np.int64)
    out, back = message(100, 3), np.zeros(100, dtype=np.uint8)
    finish = in_thread(lambda: _native.pong(ends[0], out, np.zeros_like(out), 200))
    _native.ping(ends[1], out, back, 0, 2, stamps, clock)
    assert finish() is None
    assert np.array_equal(back, out)


# Each step: how many messages side 0 sends, of which sizes, then how many come back.
conversations = st.lists(
    st.tuples(
        st.sampled_from([0, 1]),
        st.lists(st.sampled_from(SIZES[:13]), min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=8,
)


@given(conversations)
@settings(max_examples=40, deadline=None)
def test_shared_memory_keeps_order_in_any_conversation(steps):
    """Bursts go through the lanes, answers through the shuttle, and nothing overtakes."""
    sides, _ = shm_pair()

    def take_part(side):
        count = 0
        for sender, sizes in steps:
            for size in sizes:
                count += 1
                expected = message(size, count)
                if sender == side:
                    sides[side].send(expected)
                else:
                    received = np.zeros(size, dtype=np.uint8)
                    sides[side].recv(received)
                    assert np.array_equal(received, expected)

    finish = in_thread(lambda: take_part(1))
    take_part(0)
    assert finish() is None


@pytest.mark.parametrize("size", [8, 100_000])
def test_both_may_send_before_either_receives(size):
    sides, _ = shm_pair()

    def take_part(side):
        for turn in range(50):
            sides[side].send(message(size, 2 * turn + side))
            received = np.zeros(size, dtype=np.uint8)
            sides[side].recv(received)
            assert np.array_equal(received, message(size, 2 * turn + 1 - side))

    finish = in_thread(lambda: take_part(1))
    take_part(0)
    assert finish() is None


@pytest.mark.parametrize("name", [name for name in PAIRS if "blocking" not in name])
def test_a_stop_ends_a_wait(name):
    """A blocking call needs a signal as well: see test_watch."""
    ends, release = PAIRS[name]()
    finish = in_thread(lambda: ends[0].recv(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    _native.request_stop()
    assert isinstance(finish(), _native.Stopped)
    _native.request_stop(False)
    release()


def test_a_stop_ends_a_wait_for_room():
    sides, _ = shm_pair()
    for _ in range(17):  # the shuttle, and every slot of the lane
        sides[0].send(np.zeros(8, dtype=np.uint8))
    finish = in_thread(lambda: sides[0].send(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    _native.request_stop()
    assert isinstance(finish(), _native.Stopped)
    _native.request_stop(False)


@pytest.mark.parametrize("kind", [_native.BlockingStream, _native.SpinningStream])
def test_a_peer_that_closes_is_noticed(kind):
    here, there = socket.socketpair()
    here.setblocking(kind is _native.BlockingStream)
    end = kind(here.fileno(), here.fileno(), False)
    finish = in_thread(lambda: end.recv(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    there.close()
    assert isinstance(finish(), _native.PeerClosed)
    with pytest.raises(_native.PeerClosed):
        end.send(np.zeros(10_000_000, dtype=np.uint8))
    here.close()


def test_a_broken_descriptor_is_an_os_error():
    with pytest.raises(OSError, match="Bad file descriptor"):
        _native.BlockingStream(-1, -1, False).send(np.zeros(8, dtype=np.uint8))


def test_kernels_let_other_threads_run():
    sides, _ = shm_pair()
    finish = in_thread(lambda: sides[1].recv(np.zeros(8, dtype=np.uint8)))
    deadline = time.monotonic() + 0.2
    turns = 0
    while time.monotonic() < deadline:
        turns += 1
    sides[0].send(np.zeros(8, dtype=np.uint8))
    assert finish() is None
    assert turns > 100


def test_arrays_are_never_converted(clock):
    sides, _ = shm_pair()
    bytes_, stamps = np.zeros(8, dtype=np.uint8), np.zeros(3, dtype=np.int64)
    wrong = [
        (bytes_.astype(np.float32), bytes_, stamps),
        (bytes_, bytes_.astype(np.int8), stamps),
        (bytes_, bytes_, stamps.astype(np.int32)),
        (np.zeros(16, dtype=np.uint8)[::2], bytes_, stamps),
        (bytes_.reshape(2, 4), bytes_, stamps),
        (list(bytes_), bytes_, stamps),
    ]
    for out, in_, these in wrong:
        with pytest.raises(TypeError):
            _native.ping(sides[0], out, in_, 0, 1, these, clock)
    with pytest.raises(ValueError, match="differ in size"):
        _native.ping(sides[0], bytes_, bytes_[:4], 0, 1, stamps, clock)
    with pytest.raises(ValueError, match="no such clock"):
        _native.ping(sides[0], bytes_, bytes_, 0, 1, stamps, "sundial")


def test_a_segment_must_be_large_enough_and_aligned():
    with pytest.raises(ValueError, match="too small"):
        _native.Shm(np.zeros(100, dtype=np.uint8), 0, False)
    room = np.zeros(_native.shm_segment_size + 128, dtype=np.uint8)
    start = -room.ctypes.data % 64 + 1
    with pytest.raises(ValueError, match="not aligned"):
        _native.Shm(room[start:], 0, False)


@pytest.mark.parametrize("source", sorted({best_source(), "monotonic"}))
def test_a_clock_agrees_with_the_kernel_s(source):
    clock = Clock(source)
    assert 0 < clock.cost < 10_000
    assert 0 < clock.resolution < 1_000_000
    stamps = np.zeros(2, dtype=np.int64)
    stamps[0] = _native.clock_pair(source, 5)[0]
    began = time.monotonic()
    time.sleep(0.2)
    stamps[1] = _native.clock_pair(source, 5)[0]
    slept = (time.monotonic() - began) * 1e9
    assert clock.intervals(stamps)[0] == pytest.approx(slept, rel=0.02)
    assert abs(clock.drift()) < 1000


def test_copies_are_timed_and_made(clock):
    source, target = message(1000, 5), np.zeros(1000, dtype=np.uint8)
    stamps = np.zeros(6, dtype=np.int64)
    _native.copy(target, source, 3, stamps, clock)
    assert np.array_equal(source, target)
    assert (np.diff(stamps) > 0).all()


def test_the_stub_names_what_the_module_has():
    import ast
    from pathlib import Path

    import halftrip

    tree = ast.parse((Path(halftrip.__file__).parent / "_native.pyi").read_text())
    described = {
        getattr(node, "name", None) or node.target.id
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AnnAssign)
    }
    public = {name for name in described if not name.startswith("_")}
    assert public == {name for name in dir(_native) if not name.startswith("_")}
