"""Strangers who say that they are the guest, and cannot prove it, push nobody out of a listener."""

import contextlib

import pytest

from halftrip.control import listener as module
from halftrip.control.calling import connect, open_connection
from halftrip.control.protocol import Closed
from harness.doors import HELLO, TOKEN
from harness.strangers import Greeting
from harness.threads import in_thread


def claim(door):
    """A connection that says what a guest does, and cannot prove it."""
    end = open_connection(door.address)
    end.sendall(Greeting("another", HELLO, end.getpeername()).claim)
    return end


def serve_some(door):
    for _ in range(3):
        door._handle(0.02)


def test_those_who_claim_to_be_a_guest_do_not_push_out_the_guest(door):
    """Whoever has not proven anything is in nobody's way, whatever it says of itself."""
    most = module._MOST_PENDING
    with contextlib.ExitStack() as open_ones:

        def crowd(count):
            for _ in range(count):
                open_ones.enter_context(claim(door))
                door._handle(0.0)

        crowd(most + 1)
        # It has connected, and not said anything yet, while others go on.
        ours = open_ones.enter_context(open_connection(door.address))
        serve_some(door)
        crowd(most // 2)
        greeting = Greeting(TOKEN, HELLO, ours.getpeername())
        ours.sendall(greeting.claim)
        serve_some(door)
        crowd(most // 2)
        ours.settimeout(10)
        ours.sendall(greeting.answer(ours))
        serve_some(door)
        assert [hello for _, hello in door._admitted] == [HELLO]
        assert len(door._pending) <= 2 * (most + 1)


def test_a_guest_that_was_dropped_calls_again(door, monkeypatch):
    dropped = []

    def drop_the_first(self, received):
        if len(dropped) < 2:
            dropped.append(self)
            raise Closed("for another")
        return feed(self, received)

    feed = module.IncomingGreeting.feed
    monkeypatch.setattr(module.IncomingGreeting, "feed", drop_the_first)
    found = []
    finish = in_thread(lambda: found.append(door.accept(20)))
    with contextlib.closing(connect(door.address, TOKEN, HELLO, seconds=10)):
        assert finish() is None
    ((channel, hello),) = found
    channel.close()
    assert hello == HELLO
    assert len(dropped) == 2


def test_a_caller_is_in_when_it_is_told_so(door):
    """Not when it has said all it has to: it may be dropped until then."""
    with contextlib.closing(open_connection(door.address)) as ours:
        greeting = Greeting(TOKEN, HELLO, ours.getpeername())
        ours.sendall(greeting.claim)
        serve_some(door)
        ours.settimeout(10)
        ours.sendall(greeting.answer(ours))
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)
        serve_some(door)
        assert ours.recv(64).endswith(b"welcome")
