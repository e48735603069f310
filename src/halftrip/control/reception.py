"""A listener for one guest, which is let in while this process does something else."""

from __future__ import annotations

import threading

from halftrip.control.greeting import Guest
from halftrip.control.listener import Listener, Reach
from halftrip.control.protocol import Channel, Closed


class Reception:
    """Lets one guest in, in a thread of its own: a greeting needs answers, while this process may
    have to do something else before it waits for the guest."""

    def __init__(self, token: str, guest: Guest, reach: Reach, rank: int) -> None:
        self._listener = Listener(token, {guest}, reach, rank)
        self.address = self._listener.address
        self._channel: Channel | None = None
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._receive, name="reception", daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        try:
            self._channel, _ = self._listener.accept()
        except Closed:
            # `close` was called.
            return
        except OSError as error:
            self._failure = error

    def take(self, seconds: float) -> Channel:
        """The guest's connection; nobody else can connect then. Raises TimeoutError if it is not
        there within `seconds`, and OSError where the system accepts none."""
        self._thread.join(seconds)
        channel, self._channel = self._channel, None
        self.close()
        if self._failure is not None:
            raise self._failure
        if channel is None:
            raise TimeoutError("the peer has not connected")
        return channel

    def close(self) -> None:
        """Releases everything that `take` has not returned. It may be called twice."""
        if self._thread.is_alive():
            self._listener.stop()
            self._thread.join()
        self._listener.close()
        if self._channel is not None:
            self._channel.close()
            self._channel = None
