"""The signals by which a user ends a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

from halftrip.errors import Interrupted

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def catching(stop: Callable[[str], None]) -> Iterator[None]:
    """Has `stop` called with the reason when one of them comes. Outside the main thread, to which
    signals belong, nothing is caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, _: object) -> None:
        stop(f"stopped by {signal.Signals(number).name}")

    old = {number: signal.signal(number, on_signal) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def interrupt(reason: str) -> None:
    """Raises Interrupted: what to do when there is nothing yet to clear away."""
    raise Interrupted(reason)
