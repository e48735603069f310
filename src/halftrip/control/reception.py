"""A listener for the connections of one guest, which is let in while this process does something
else."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from halftrip.control.calling import Prepare, as_it_is
from halftrip.control.greeting import Guest
from halftrip.control.listener import Listener, Reach
from halftrip.control.protocol import Channel, Closed


class Reception:
    """Lets `guests` in, in a thread of its own: a greeting needs answers, while this process may
    have to do something else before it waits for them."""

    def __init__(
        self,
        token: str,
        guests: Sequence[Guest],
        reach: Reach,
        rank: int,
        prepare: Prepare = as_it_is,
    ) -> None:
        self._guests = guests
        self._listener = Listener(token, guests, reach, rank, prepare)
        self.address = self._listener.address
        self._channels: dict[Guest, Channel] = {}
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._receive, name="reception", daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        try:
            for _ in self._guests:
                channel, hello = self._listener.accept()
                self._channels[hello.guest] = channel
        except Closed:
            # `close` was called.
            return
        except OSError as error:
            self._failure = error

    def take(self, seconds: float) -> list[Channel]:
        """The guests' connections, in their order; nobody else can connect then. Raises
        TimeoutError if they are not there within `seconds`, and OSError where the system accepts
        none."""
        self._thread.join(seconds)
        channels = [self._channels.get(guest) for guest in self._guests]
        found = [channel for channel in channels if channel is not None]
        if len(found) == len(channels):
            self._channels = {}
        self.close()
        if self._failure is not None:
            raise self._failure
        if len(found) < len(channels):
            raise TimeoutError("the peer has not connected")
        return found

    def close(self) -> None:
        """Releases everything that `take` has not returned. It may be called twice."""
        if self._thread.is_alive():
            self._listener.stop()
            self._thread.join()
        self._listener.close()
        for channel in self._channels.values():
            channel.close()
        self._channels = {}
