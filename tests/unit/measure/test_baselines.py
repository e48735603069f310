"""Which copies bound the messages of a run, and how close polls lie."""

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock
from halftrip.measure.bounds import COPY_SIZES, PROBED_BYTES, CacheLineProbe, copy_sizes


@pytest.mark.parametrize(
    ("largest", "copies"),
    [
        (0, [4096, 65536]),
        (4096, [4096, 65536]),
        (65536, [4096, 65536, 1 << 20]),
        (1 << 21, list(COPY_SIZES)),
        (1 << 30, list(COPY_SIZES)),
    ],
)
def test_copies_are_those_within_the_first_caches_and_one_larger_than_the_messages(largest, copies):
    assert copy_sizes(largest) == copies


class Lines:
    """In place of `_native.CacheLines`: round trips that take as long as the pauses say, ns."""

    def __init__(self, round_trips):
        self.round_trips = round_trips
        self.pauses = []

    def initiate(self, untimed, iterations, timestamps, clock):
        pause = _native.poll_pause()
        self.pauses.append(pause)
        timestamps[:] = np.arange(timestamps.size) * iterations * self.round_trips[pause]

    def respond(self, untimed, iterations, timestamps, clock):
        self.pauses.append(_native.poll_pause())


@pytest.fixture
def poll_pause():
    before = _native.poll_pause()
    yield _native.set_poll_pause
    _native.set_poll_pause(before)


@pytest.mark.parametrize(
    ("more", "round_trips", "nearest", "chosen"),
    [
        # Two threads of one core answer within one pause.
        (2, {1: 52, 2: 92}, 52, 1),
        # Caches far apart.
        (4, {1: 394, 4: 339}, 339, 4),
        # Neither is much better: fewer polls disturb less.
        (3, {1: 95, 3: 100}, 100, 3),
        # A pause that is so long by itself.
        (1, {1: 60}, 60, 1),
    ],
)
def test_polls_lie_as_close_as_the_cores_of_this_moment_call_for(
    monkeypatch, poll_pause, more, round_trips, nearest, chosen
):
    monkeypatch.setattr(_native, "CacheLines", lambda *words: Lines(round_trips))
    clock = Clock("monotonic")
    pages = np.zeros(PROBED_BYTES, dtype=np.uint8)
    # A probe with another rank has left another number at one end.
    initiator = CacheLineProbe(memoryview(pages), clock, more)
    poll_pause(1)
    responder = CacheLineProbe(memoryview(pages), clock, more)
    for _ in range(2):
        assert initiator.initiate().nearest == pytest.approx(nearest)
        assert _native.poll_pause() == chosen
        poll_pause(16)
        responder.respond()
        assert _native.poll_pause() == chosen
    # Both ends have taken part in the same.
    assert responder._lines.pauses[:-1] == initiator._lines.pauses[:-1]
