"""Somebody between a caller and a listener, who knows no secret, and whom the test tells what to
pass on."""

import contextlib
import socket

from halftrip.control.calling import connect
from halftrip.control.listener import Listener
from halftrip.control.network import Network
from halftrip.control.protocol import LENGTH, Address, Closed
from harness.doors import GUEST, HELLO, TOKEN
from harness.limits import AMPLE_SECONDS
from harness.threads import in_thread

# The caller calls the one; the listener listens at the other, and knows that it is called there.
NEAR, FAR = "127.0.0.2", "127.0.0.1"


def exactly(end, size):
    """So many bytes, or those that there are before the end."""
    received = b""
    while len(received) < size and (more := end.recv(size - len(received))):
        received += more
    return received


def message(end):
    """A message in clear, as it is on the wire."""
    length = exactly(end, LENGTH.size)
    return length and length + exactly(end, LENGTH.unpack(length)[0])


class Relay:
    """Passes a greeting on, each message through `change(number, message)`; with None it hangs up.
    Then the test has both its connections, `near` to the caller and `far` to the listener. `heard`
    are the messages as they came: claim, challenge, answer, and the welcome, which is sealed."""

    def __init__(self, port, change):
        self.address = Address(hosts=(NEAR,), port=port)
        self._ends = contextlib.ExitStack()
        self._door = self._ends.enter_context(socket.create_server((NEAR, port)))
        self._change = change
        self.heard = []

    def greet(self):
        self.near = self._ends.enter_context(self._door.accept()[0])
        # Who is refused calls again.
        self._door.close()
        far = socket.create_connection((FAR, self.address.port), AMPLE_SECONDS)
        self.far = self._ends.enter_context(far)
        self.near.settimeout(AMPLE_SECONDS)
        for number in range(4):
            source, sink = (self.far, self.near) if number % 2 else (self.near, self.far)
            said = b""
            # Who refuses may hang up before it has read everything.
            with contextlib.suppress(ConnectionError):
                said = message(source) if number < 3 else source.recv(4096)
            self.heard.append(said)
            changed = self._change(number, said) if said else None
            if changed is None:
                self.near.close()
                return
            sink.sendall(changed)

    def close(self):
        self._ends.close()


@contextlib.contextmanager
def relayed(change=lambda number, said: said, known_as=(NEAR,), admitted=()):
    """A relay, the caller's channel and the listener's. Raises Closed where the caller is not let
    in; then the listener has let in those that are `admitted`."""
    network = Network(FAR, reached_at=known_as)
    with contextlib.ExitStack() as ends:
        listener = ends.enter_context(contextlib.closing(Listener(TOKEN, {GUEST}, network)))
        relay = ends.enter_context(contextlib.closing(Relay(listener.address.port, change)))
        found = []
        relaying = in_thread(relay.greet)
        accepting = in_thread(lambda: found.append(listener.accept(AMPLE_SECONDS)))
        try:
            caller = connect(relay.address, TOKEN, HELLO, AMPLE_SECONDS)
        except (Closed, OSError):
            listener.stop()
            accepting()
            for channel, _ in found:
                channel.close()
            assert [hello for _, hello in found] == [*admitted]
            raise Closed from None
        ends.enter_context(contextlib.closing(caller))
        assert relaying() is None
        assert accepting() is None
        ((accepted, _),) = found
        ends.enter_context(contextlib.closing(accepted))
        yield relay, caller, accepted
