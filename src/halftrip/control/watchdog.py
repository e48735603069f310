"""A rank's watch: a thread that learns that the run is over while the main thread is in timed code.

The main thread may be polling memory, asleep in a read, or deep in an MPI call. The watch asks it
to stop in every way that there is, and ends the process if it cannot.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType

from halftrip import _native
from halftrip.control.protocol import Abort, Bye, Channel, Closed
from halftrip.errors import Interrupted

# A signal that does nothing by itself: it ends a system call that sleeps, so that the stop is seen.
_NUDGE = signal.SIGURG
_NUDGE_SECONDS = 0.02
# How long the main thread has to come out before the process is ended; it may be in MPI.
GRACE_SECONDS = 1.0
# Signs that the run is over, by which the main thread may see it before the watch knows why.
_SIGNS = (Interrupted, _native.Stopped, _native.PeerClosed, Closed, ConnectionError)


class Watch:
    """Watches over others from now until `close`, in a thread of its own.

    `channels` are connections to, and `processes` are processes on this host, by what to call them.
    When a channel closes without a Bye or says Abort, when a process ends, or when one of `signals`
    comes, the run is over: `at_once` is called with the reason, the other channels are told, and
    the main thread is stopped. If it has not called `close` a second later, `last_words` is called
    with the reason and the process exits with status 1.

    Must be made and closed in the main thread.
    """

    def __init__(
        self,
        channels: Mapping[Channel, str],
        processes: Mapping[int, str],
        at_once: Callable[[str], None],
        last_words: Callable[[str], None],
        signals: tuple[signal.Signals, ...] = (),
    ) -> None:
        self._channels = dict(channels)
        self._processes = {
            os.pidfd_open(pid): f"{name} (process {pid})" for pid, name in processes.items()
        }
        self._selector = selectors.DefaultSelector()
        self._at_once = at_once
        self._last_words = last_words
        self._signals = {int(number): number.name for number in signals}
        self._main = threading.get_ident()
        self._reason: str | None = None
        self._guarding = False
        self._known = threading.Event()
        self._closed = threading.Event()
        self._wake, self._sleeper = socket.socketpair()
        self._wake.setblocking(False)
        self._sleeper.setblocking(False)
        self._old_handlers = {
            number: signal.signal(number, self._on_signal) for number in (_NUDGE, *signals)
        }
        self._old_wakeup = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._thread.start()

    def guard(self, work: Callable[[], None]) -> BaseException | None:
        """Does `work` and returns what ended it too early, if anything did.

        That is Interrupted, with the reason, where the run is over from outside; a closed
        connection alone is only a sign of that, and the reason is not long in coming.
        """
        try:
            self._guarding = True
            try:
                work()
            except _SIGNS as error:
                self._known.wait(GRACE_SECONDS)
                return Interrupted(self._reason or str(error))
            except BaseException as error:  # noqa: BLE001 (whatever it is, others must be told)
                return error
            finally:
                self._guarding = False
        except Interrupted as error:
            # The reason came while another sign was being dealt with.
            return error
        return None

    def close(self, abort: Abort | None = None) -> None:
        """Ends the watch and tells the others: that all is well, or to `abort`."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        self._thread.join()
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._tell(abort or Bye())
        for end in (self._wake, self._sleeper):
            end.close()
        for channel in self._channels:
            channel.close()
        for descriptor in self._processes:
            os.close(descriptor)
        _native.request_stop(False)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # Once, and neither before the work nor on the way out, which must not be stopped.
        if self._reason is not None and self._guarding:
            self._guarding = False
            raise Interrupted(self._reason)

    def _tell(self, message: Abort | Bye) -> None:
        for channel in self._channels:
            with contextlib.suppress(Closed):
                channel.send(message)

    def _watch(self) -> None:
        with self._selector as selector:
            selector.register(self._sleeper, selectors.EVENT_READ, self._look_for_signal)
            for descriptor in self._processes:
                selector.register(descriptor, selectors.EVENT_READ, self._name_process)
            for channel in self._channels:
                selector.register(channel, selectors.EVENT_READ, self._look_at)
            while not self._closed.is_set():
                for key, _ in selector.select():
                    reason = key.data(key.fileobj)
                    if self._closed.is_set():
                        return
                    if reason is not None:
                        self._stop_main(reason)
                        return

    def _name_process(self, descriptor: int) -> str:
        return f"{self._processes[descriptor]} died"

    def _look_for_signal(self, sleeper: socket.socket) -> str | None:
        for number in sleeper.recv(4096):
            if number in self._signals:
                return f"stopped by {self._signals[number]}"
        return None

    def _look_at(self, channel: Channel) -> str | None:
        try:
            message = channel.receive()
        except Closed:
            return f"{self._channels[channel]} died"
        if isinstance(message, Bye):
            self._selector.unregister(channel)
        return message.reason if isinstance(message, Abort) else None

    def _stop_main(self, reason: str) -> None:
        self._reason = reason
        self._known.set()
        try:
            self._at_once(reason)
        finally:
            # Whatever came of that, the main thread must not go on without a watch.
            self._bring_main_out(reason)

    def _bring_main_out(self, reason: str) -> None:
        self._tell(Abort(reason))
        _native.request_stop()
        deadline = time.monotonic() + GRACE_SECONDS
        # Again and again: a nudge that comes just before a system call is lost on it.
        while time.monotonic() < deadline:
            signal.pthread_kill(self._main, _NUDGE)
            if self._closed.wait(_NUDGE_SECONDS):
                return
        try:
            self._last_words(reason)
        finally:
            os._exit(1)
