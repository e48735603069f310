"""Objects of multiprocessing between two ranks: they work as between parent and child, have no
names, and notice that the peer has gone."""

import gc
import os
import struct
import threading
from multiprocessing import resource_tracker, synchronize
from pathlib import Path

import numpy as np
import pytest

from halftrip.errors import Unavailable
from halftrip.memory.shared import SharedSegment, open_offer
from halftrip.transports.python import mp_objects, mp_queue, mp_shm
from harness import paths
from harness.bench import pair
from harness.paths import OneEnd, exchange, make_paths, opened, usual
from harness.runs import configuration
from harness.threads import in_thread

NAMES = ("mp-pipe", "mp-queue", "mp-shm")


def of(name, size=8, **fields):
    return configuration(name, size, **usual(name), **fields)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_has_a_name_that_could_be_left_behind(name):
    """Nor is there a process that keeps a list of names: it would run on the core of its rank."""
    tracker = resource_tracker._resource_tracker._pid
    with opened(name) as ends:
        exchange(ends, of(name, verify=True))
        maps = Path("/proc/self/maps").read_text()
    assert "/dev/shm/sem." not in maps
    assert "/dev/shm/psm_" not in maps
    assert resource_tracker._resource_tracker._pid == tracker


def test_a_semaphore_wakes_up_who_waits_at_the_other_end():
    """It is one of multiprocessing, keeps its memory, and leaves its neighbour alone."""
    segment = SharedSegment(mp_objects.semaphore_bytes(2))
    mp_objects.make_semaphores(segment.bytes, (0, 1))
    here, there = (
        mp_objects.semaphore(each, 0) for each in (segment.bytes, open_offer(segment.offer))
    )
    gc.collect()
    assert isinstance(here, synchronize.Semaphore)
    assert not here.acquire(block=False)
    finish = in_thread(here.acquire)
    there.release()
    assert finish() is None
    assert mp_objects.semaphore(segment.bytes, 1).get_value() == 1
    segment.close()


# Queues.


def test_a_queue_whose_peer_has_gone_ends_without_a_word(capfd):
    initiator, responder = make_paths("mp-queue")
    paths.connect((initiator, responder))
    # More than a pipe holds: the thread waits within a write.
    initiator._out.put(bytes(1 << 20))
    responder.close()
    initiator.close()
    assert "QueueFeederThread" not in {thread.name for thread in threading.enumerate()}
    assert capfd.readouterr() == ("", "")


def test_a_queue_without_memory_for_its_semaphores_closes_its_pipes(monkeypatch):
    def no_memory(size):
        raise Unavailable("no shared memory: none is left")

    monkeypatch.setattr(mp_queue, "SharedSegment", no_memory)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(Unavailable, match="none is left"):
        mp_queue.MpQueuePath(pair(0))
    assert os.listdir("/proc/self/fd") == before


# A peer that has gone.


@pytest.mark.parametrize(
    ("name", "half"), [("mp-pipe", b""), ("mp-pipe", b"half"), ("mp-queue", b"")]
)
def test_a_receiver_notices_that_the_peer_has_gone(name, half):
    """Also within a message."""
    with opened(name) as (initiator, responder):
        if half:
            os.write(initiator._connection.fileno(), struct.pack("!i", 8) + half)
        initiator.close()
        end = OneEnd(responder, of(name, verify=True), False)
        with pytest.raises(ConnectionResetError, match="the peer has closed the connection"):
            end.endpoint.run(0, 1, 1)


# Shared memory.


def test_memory_that_is_not_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(mp_shm.HOST, "available", lambda: 3 << 20)
    with opened("mp-shm") as ends:
        exchange(ends, of("mp-shm", 1 << 20, verify=True), (0, 1, 1))
        said = "shared memory needs 4 MiB, and less is left"
        with pytest.raises(Unavailable, match=said):
            OneEnd(ends[0], of("mp-shm", 2 << 20), True)


def test_a_message_stays_in_its_slot_until_it_is_received():
    """A send does not wait for its receive; the next one does."""
    segment = SharedSegment(2 * mp_shm._slot_bytes(of("mp-shm")))
    halves = mp_shm._halves(segment.bytes)
    for each in halves:
        mp_objects.make_semaphores(each, mp_shm._SEMAPHORES)
    there, back = map(mp_shm.Slot, halves)
    here, peer = mp_shm.SlotCalls(there, back), mp_shm.SlotCalls(back, there)
    message, into = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    send = here.send(message)
    send()
    finish = in_thread(send)
    assert not there.free.acquire(block=False)
    peer.recv(into)()
    assert finish() is None
    assert (into == message).all()
    segment.close()
