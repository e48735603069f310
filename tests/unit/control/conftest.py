import contextlib

import pytest

from halftrip.control.listener import Listener
from harness.doors import GUEST, TOKEN


@pytest.fixture(params=["unix", "loopback"])
def door(request):
    """A listener that waits for one guest."""
    with contextlib.closing(Listener(TOKEN, {GUEST}, request.param)) as made:
        yield made
