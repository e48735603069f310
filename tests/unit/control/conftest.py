import contextlib
import socket

import pytest

from halftrip.control.listener import Listener
from halftrip.control.protocol import Channel
from harness.doors import GUEST, TOKEN


@pytest.fixture(params=["unix", "loopback"])
def door(request):
    """A listener that waits for one guest."""
    with contextlib.closing(Listener(TOKEN, {GUEST}, request.param)) as made:
        yield made


@pytest.fixture
def channels():
    """Both ends of a connection."""
    ends = [Channel(end) for end in socket.socketpair()]
    yield ends
    for end in ends:
        end.close()
