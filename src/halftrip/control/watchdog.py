"""A rank's watchdog: a thread that notices the end of the run while the main thread times messages.

The main thread may be polling memory, asleep in a read, or within an MPI call. The watchdog stops
it in each of these, and ends the process if that does not work.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from types import FrameType

from halftrip import _native
from halftrip.control.protocol import Abort, Bye, Channel, Closed, Ping, Pong
from halftrip.errors import Interrupted

# A signal that interrupts system calls of the main thread; its handler raises Interrupted there.
_INTERRUPT = signal.SIGURG
_INTERRUPT_SECONDS = 0.02
# How long the main thread has to leave timed code before the process is ended: it may be in MPI.
GRACE_SECONDS = 1.0
# Errors by which the main thread may notice the end before the watchdog knows the reason.
_ENDS = (Interrupted, _native.Stopped, _native.PeerClosed, Closed, ConnectionError)
_FINALISER = weakref.finalize.__call__.__code__
# Wakes the watchdog, in place of a signal's number: another thread has failed.
_FAILED = 255


def _is_in_finaliser(frame: FrameType | None) -> bool:
    """Whether this code runs because an object has ended."""
    while frame is not None:
        if frame.f_code is _FINALISER:
            return True
        frame = frame.f_back
    return False


class Watchdog:
    """Watches other processes from now until `close`, in a thread of its own.

    `channels` are connections to them, and `processes` are processes on this host, each with its
    name in messages. When a channel closes without a Bye or says Abort, when a process ends, or
    when one of `signals` arrives that was not ignored so far, or so many `seconds` have
    passed, with the reason `over`, the run is over: `on_end` is called
    with the reason, at once and in the watchdog's thread, the peers of all channels get an Abort,
    and the main thread is stopped. If it has not called `close` GRACE_SECONDS later, the process
    exits with status 1.

    Must be made and closed in the main thread. The one that watches is the `current` one.
    """

    current: Watchdog | None = None

    def __init__(
        self,
        channels: Mapping[Channel, str],
        processes: Mapping[int, str],
        on_end: Callable[[str], None],
        signals: tuple[signal.Signals, ...] = (),
        seconds: float | None = None,
        over: str = "",
    ) -> None:
        self._channels = dict(channels)
        self._processes = {
            os.pidfd_open(pid): f"{name} (process {pid})" for pid, name in processes.items()
        }
        self._selector = selectors.DefaultSelector()
        self._on_end = on_end
        self._ends = None if seconds is None else time.monotonic() + seconds
        self._over = over
        self._signals = {
            int(number): number.name
            for number in signals
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        self._main = threading.get_ident()
        self._reason: str | None = None
        self._failure: tuple[BaseException, str] | None = None
        self._guarding = False
        self._known = threading.Event()
        self._closed = threading.Event()
        self._wake, self._sleeper = socket.socketpair()
        self._wake.setblocking(False)
        self._sleeper.setblocking(False)
        self._old_handlers = {
            number: signal.signal(number, self._on_signal)
            for number in (_INTERRUPT, *self._signals)
        }
        self._old_wakeup = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()
        Watchdog.current = self

    def guard(self, work: Callable[[], None]) -> BaseException | None:
        """Calls `work`, and returns the error that ended it early, or None.

        That is Interrupted, with the reason, if the run was ended from outside. If `work` has only
        seen a closed connection, this waits for the reason, at most GRACE_SECONDS.
        """
        try:
            self._guarding = True
            try:
                work()
            except _ENDS as error:
                # Before the error is let go of: with it go the objects that the work has left.
                self._guarding = False
                self._known.wait(GRACE_SECONDS)
                return self._failed or Interrupted(self._reason or str(error))
            except BaseException as error:  # noqa: BLE001 (other ranks are told of any error)
                return error
            finally:
                self._guarding = False
        except Interrupted as error:
            # The signal arrived while another error was being handled.
            return self._failed or error
        return None

    def fail(self, error: BaseException, rank: int) -> None:
        """Called by another thread of this rank: ends the work as if it had raised this error. Of
        one that has only seen a closed connection the reason may come from elsewhere first."""
        if isinstance(error, _ENDS) and self._known.wait(GRACE_SECONDS):
            return
        # The first of several that fail together: the watchdog may have read it by now.
        if self._failure is None:
            self._failure = error, Abort.from_error(error, rank).reason
        with contextlib.suppress(OSError):
            self._wake.send(bytes([_FAILED]))

    @property
    def _failed(self) -> BaseException | None:
        """What another thread has raised, if that is the reason of the end."""
        if self._failure is None or self._failure[1] != self._reason:
            return None
        return self._failure[0]

    def close(self, abort: Abort | None = None, keeps_channels: bool = False) -> None:
        """Ends the watchdog, and tells the others that this rank is done, or sends them `abort`,
        and closes the channels unless it is to keep them."""
        self._closed.set()
        Watchdog.current = None
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        self._thread.join()
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._tell(abort or Bye())
        for end in (self._wake, self._sleeper):
            end.close()
        for channel in self._channels if not keeps_channels else ():
            channel.close()
        for descriptor in self._processes:
            os.close(descriptor)
        _native.request_stop(False)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # Only once, and only during the work: what comes before and after it must not be stopped.
        # What a finaliser raises is lost; another signal follows soon.
        if self._reason is not None and self._guarding and not _is_in_finaliser(frame):
            self._guarding = False
            raise Interrupted(self._reason)

    def _tell(self, message: Abort | Bye) -> None:
        for channel in self._channels:
            with contextlib.suppress(Closed):
                channel.send(message)

    def _watch(self) -> None:
        with self._selector as selector:
            selector.register(self._sleeper, selectors.EVENT_READ, self._read_signal)
            for descriptor in self._processes:
                selector.register(descriptor, selectors.EVENT_READ, self._process_end)
            for channel in self._channels:
                selector.register(channel, selectors.EVENT_READ, self._read_message)
            while not self._closed.is_set():
                left = None if self._ends is None else self._ends - time.monotonic()
                if left is not None and left <= 0:
                    self._stop_main(self._over)
                    return
                for key, _ in selector.select(left):
                    reason = key.data(key.fileobj)
                    if self._closed.is_set():
                        return
                    if reason is not None:
                        self._stop_main(reason)
                        return

    def _process_end(self, descriptor: int) -> str:
        return f"{self._processes[descriptor]} died"

    def _read_signal(self, sleeper: socket.socket) -> str | None:
        for number in sleeper.recv(4096):
            if number in self._signals:
                return f"stopped by {self._signals[number]}"
            if number == _FAILED and self._failure is not None:
                return self._failure[1]
        return None

    def _read_message(self, channel: Channel) -> str | None:
        try:
            message = channel.receive()
        except Closed as error:
            return error.of(self._channels[channel])
        if isinstance(message, Bye):
            self._selector.unregister(channel)
        elif isinstance(message, Ping):
            # It is noticed at the next message where this cannot be sent.
            with contextlib.suppress(Closed):
                channel.send(Pong())
        return message.reason if isinstance(message, Abort) else None

    def _stop_main(self, reason: str) -> None:
        self._reason = reason
        self._known.set()
        try:
            self._on_end(reason)
        finally:
            # Even if that failed: nothing watches the main thread any longer.
            self._interrupt_main(reason)

    def _interrupt_main(self, reason: str) -> None:
        self._tell(Abort(reason))
        _native.request_stop()
        deadline = time.monotonic() + GRACE_SECONDS
        # Repeatedly: a signal that arrives just before a system call does not interrupt it.
        while time.monotonic() < deadline:
            signal.pthread_kill(self._main, _INTERRUPT)
            if self._closed.wait(_INTERRUPT_SECONDS):
                return
        os._exit(1)
