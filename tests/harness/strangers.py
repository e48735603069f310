"""Processes that do not belong to a job, and what they may have heard of it."""

import os
import socket
import traceback
from contextlib import closing

import msgspec

from halftrip.control import greeting
from halftrip.control.protocol import LENGTH, framed

NOBODY = 65534


def as_nobody(work, *arguments):
    """Whether `work(*arguments)` is true in a process of another user; needs root."""
    child = os.fork()
    if child == 0:
        status = 2
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            status = 0 if work(*arguments) else 1
        except BaseException:  # noqa: BLE001 (the status tells the parent)
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def is_dropped(address, said=b""):
    """Whether a connection to this Unix socket is closed at once, whatever is said."""
    with closing(socket.socket(socket.AF_UNIX)) as end:
        end.settimeout(10)
        end.connect(f"\0{address.unix}")
        try:
            end.sendall(said)
            return end.recv(1) == b""
        except ConnectionError:
            return True


class Greeting:
    """What a caller says in one connection to a listener for this host, whose socket has this
    `address`: its `claim` at once, its `answer` after it has heard the `challenge`."""

    def __init__(self, token, hello, address):
        self._token = token
        claim = greeting.Claim(hello, greeting.door(address), sealed=False)
        self._claim = greeting.new_nonce() + msgspec.msgpack.encode(claim)
        self.claim = framed(self._claim)
        self.challenge = b""

    def answer(self, end):
        """The answer to the challenge that comes from a socket."""
        (length,) = LENGTH.unpack(_exactly(end, LENGTH.size))
        return self.answer_to(_exactly(end, length))

    def answer_to(self, payload):
        self.challenge = payload
        nonce = payload[: len(greeting.new_nonce())]
        return framed(greeting._proof(self._token, greeting._CALLER, nonce, self._claim))


def _exactly(end, size):
    received = b""
    while len(received) < size:
        more = end.recv(size - len(received))
        if not more:
            raise ConnectionResetError("the listener has closed the connection")
        received += more
    return received
