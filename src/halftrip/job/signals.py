"""The signals by which a user ends a run."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from halftrip.errors import Stopped

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def catching(stop: Callable[[str], None]) -> Iterator[None]:
    """Calls `stop` with the reason when a signal by which a user ends a run arrives. Outside the
    main thread, where Python has no signal handlers, nothing is caught; nor is a signal that this
    process was started with ignored, as with nohup, or in the background of a script."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, _: object) -> None:
        stop(f"stopped by {signal.Signals(number).name}")

    hook = sys.unraisablehook
    if stop is interrupt:
        # Python prints an exception that it ignores. This one is kept in `_raised`.
        sys.unraisablehook = lambda ignored: (
            None if isinstance(ignored.exc_value, Stopped) else hook(ignored)
        )
    old = {
        number: signal.signal(number, on_signal)
        for number in STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        if _raised:
            stop(_raised[-1])
        yield
    except Exception as error:
        if stop is interrupt and _raised and not isinstance(error, Stopped):
            raise Stopped(_raised[-1]) from None
        raise
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        if stop is interrupt:
            _raised.clear()


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """What is started meanwhile gets no SIGINT until it unblocks it: before its first line,
    Python would answer with a traceback. One that comes to this thread waits."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Why `interrupt` has raised Stopped. Python ignores an exception that is raised in a destructor or
# in a callback of the import system: whoever catches signals next is told. Another
# exception takes its place where Python 3.11 makes a class, and where a plug-in is imported.
_raised: list[str] = []


def interrupt(reason: str) -> None:
    """Raises Stopped; for `catching`, while there is nothing to clean up."""
    _raised.append(reason)
    raise Stopped(reason)
