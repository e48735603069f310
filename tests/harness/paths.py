"""Open paths between two ranks that are threads of this process, without a group."""

import contextlib
import os
import time
from types import SimpleNamespace

import msgspec

from halftrip import _native
from halftrip.measure.verification import Verification
from halftrip.memory.ring import Ring, allocate_ring, layout
from halftrip.memory.shared import SharedSegment
from halftrip.registry import SIMULATED, TRANSPORTS, needing
from halftrip.results.configuration import UNTUNED
from halftrip.transports.base import EndpointBuffers, PathSettings
from halftrip.transports.python.endpoint import PythonTransport
from harness.bench import CACHE, clock, pair, process
from harness.threads import in_thread

# Those that need no more than this process, of packages that are installed, too: MPI needs ranks
# that are processes.
IN_PROCESS = [name for name in needing("", TRANSPORTS) if name != SIMULATED]
IN_PYTHON = [name for name in IN_PROCESS if issubclass(TRANSPORTS.load(name), PythonTransport)]


def usual(name):
    """The settings that a transport's configurations have unless another value is asked for."""
    choices = TRANSPORTS.load(name).capabilities.choices
    return {
        "wait": choices["wait"][0],
        "object": choices.get("object", ("buffer",))[0],
        "socket": choices.get("socket", (None,))[0],
    }


def transports(name, **fields):
    """The transport at both ranks."""
    return [TRANSPORTS.load(name)(process(rank, **fields)) for rank in (0, 1)]


def make_paths(name, waits=("spin", "spin"), tuning=UNTUNED, **fields):
    """Both ends of a path, not yet connected: the initiator's and the responder's."""
    segment = SharedSegment(_native.shm_segment_size)
    paths = [
        transport.path(pair(rank, segment=segment.bytes, **fields), PathSettings(wait, tuning))
        for rank, (transport, wait) in enumerate(zip(transports(name), waits, strict=True))
    ]
    segment.close()
    return paths


def sent(address):
    """An address as it arrives at the peer."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(address))


def connect(paths):
    """Connects both ends in the order that `transports.base` asks for."""
    initiator, responder = paths
    responder.connect(sent(initiator.address))
    initiator.connect(sent(responder.address))


@contextlib.contextmanager
def made(name, waits=("spin", "spin"), tuning=UNTUNED, **fields):
    """Both ends of a path, not yet connected, closed in the end."""
    paths = make_paths(name, waits, tuning, **fields)
    try:
        yield paths
    finally:
        for path in paths:
            path.close()


@contextlib.contextmanager
def opened(name, waits=("spin", "spin"), tuning=UNTUNED, **fields):
    """Both ends of a connected path, closed in the end."""
    with made(name, waits, tuning, **fields) as paths:
        connect(paths)
        yield paths


class OneEnd:
    """One end of a configuration, with its buffers filled; `check` tells how many messages arrived
    as they were sent."""

    def __init__(self, path, configuration, initiates):
        most_verified = TRANSPORTS.load(configuration.transport).most_verified
        where = layout(configuration, CACHE, most_verified)
        end = configuration.initiator if initiates else configuration.responder
        out, in_ = (allocate_ring(where, configuration, end) for _ in range(2))
        buffers = EndpointBuffers(
            out=out, in_=in_, clock=clock(), exposed_bytes=max(1, where.bytes)
        )
        self.endpoint = path.endpoint(configuration, buffers)
        exposed = self.endpoint.exposed
        ring = None if exposed is None else Ring(exposed, where, configuration)
        self._verification = Verification(configuration, initiates, out.slots, out, in_, ring)

    def fill(self, messages):
        self._verification.fill(messages)

    def check(self, messages, timed):
        header_size = self.endpoint.header_size
        return self._verification.check(messages, timed.source_slots, header_size)


def exchange(paths, configuration, numbers=(1, 1, 3)):
    """Takes part in a batch at both ends: untimed iterations, iterations in a sample, samples. What
    each end timed, and how many messages it verified."""
    ends = [OneEnd(path, configuration, path is paths[0]) for path in paths]
    untimed, iterations, samples = numbers
    messages = (untimed + iterations * samples) * configuration.window
    for end, peer in zip(ends, ends[::-1], strict=True):
        end.endpoint.connect(sent(peer.endpoint.address))
        end.fill(messages)
        end.endpoint.resume()
        end.endpoint.synchronize()
    results = [None, None]

    def run(rank):
        timed = ends[rank].endpoint.run(*numbers)
        ends[rank].endpoint.synchronize()
        results[rank] = SimpleNamespace(
            timed=timed, verified=ends[rank].check(messages, timed), messages=messages
        )

    finish = in_thread(lambda: run(1))
    try:
        run(0)
    finally:
        error = finish()
        for end in ends:
            end.endpoint.close()
    if error is not None:
        raise error
    return results


def held():
    """How many file descriptors this process has, and its threads."""
    return len(os.listdir("/proc/self/fd")), frozenset(os.listdir("/proc/self/task"))


def added(before):
    """How many file descriptors there are more than before, and the threads that are new, once
    there are neither, or after a while: the kernel shows a thread for a moment after it has been
    joined. So some of those before may be gone."""
    deadline = time.monotonic() + 5
    while True:
        descriptors, threads = held()
        found = (descriptors - before[0], threads - before[1])
        if found == NOTHING or time.monotonic() > deadline:
            return found
        time.sleep(0.001)


NOTHING = (0, frozenset())
