"""Mutated greetings and messages are thrown at what reads them: each target has to take them, or to
refuse them in the way it says. Anything else, or a stranger who is let in, is a failure."""

import random
import socket
import sys
from pathlib import Path
from unittest import mock

import msgspec

from halftrip.control import greeting
from halftrip.control.collectives import _value
from halftrip.control.greeting import Claim, Guest, IncomingGreeting, introduce
from halftrip.control.link import StepResult
from halftrip.control.protocol import (
    LENGTH,
    Abort,
    Ack,
    Address,
    Assignment,
    BeforeSlice,
    Bye,
    Channel,
    Closed,
    Progress,
    RecordLines,
    framed,
)
from halftrip.errors import Interrupted

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.trials import Harness, Input, main

TOKEN = "a token that nobody guesses"
NONCE = bytes(range(32))
GUEST = Guest("group", 3, 1)
_ADDRESS = Address(hosts=("127.0.0.1", "::1", "fe00::1"), port=4711)
_HELLO = introduce("group", 3, to=2, group=_ADDRESS, thread=1)

DOOR = "127.0.0.1 4712"

_encode = msgspec.msgpack.encode
CLAIM = NONCE + _encode(Claim(_HELLO, DOOR, sealed=False))
_CHALLENGE = NONCE + greeting._proof(TOKEN, greeting._LISTENER, NONCE, CLAIM)
ANSWER = greeting._proof(TOKEN, greeting._CALLER, NONCE, CLAIM)
_MESSAGES = (
    Abort("no space left", usage=True),
    Ack(),
    Bye(),
    RecordLines(b'{"record":"run"}\n', last=True),
    Progress(3, 10, "shm 8"),
    BeforeSlice(b"{}"),
    Assignment(b"{}", _ADDRESS, True, 1, b"[]", (1.0, 2.0)),
)
_KINDS = (
    list[tuple[int, str]],
    list[Address | None],
    StepResult,
    dict[str, int],
    Abort | None,
    bool,
)
_VALUES = (
    [(0, "host a"), (1, "host b")],
    [_ADDRESS, None, _ADDRESS],
    StepResult(value={"hosts": ["::1"], "port": 1, "nonce": NONCE}),
    {"1 2": -5, "0 1": 2**40},
    Abort("rank 3 failed: KeyError: 'size'"),
    True,
)


class Failed(Exception):
    """A target has done what it must not."""


class Said(socket.socket):
    """A connection whose other end has said all it ever says."""

    def __init__(self, said: bytes) -> None:
        # No descriptor is opened: nothing of the base class is used.
        self._said = said

    family = socket.AF_UNIX

    def recv(self, size: int) -> bytes:
        received, self._said = self._said[:size], self._said[size:]
        return received

    def sendall(self, data: bytes) -> None: ...

    def settimeout(self, seconds: float | None) -> None: ...

    def close(self) -> None: ...

    def __del__(self) -> None: ...


def _visit(data: bytes, chunk: int) -> bool:
    """Whether the listener lets this caller in."""
    visitor = IncomingGreeting(TOKEN, 2, {GUEST}, {DOOR})
    position = 0
    while position < len(data) and visitor.missing:
        part = data[position : position + min(chunk, visitor.missing)]
        position += len(part)
        try:
            visitor.feed(part)
        except Closed:
            return False
    if visitor.missing > greeting.LONGEST_GREETING:
        raise Failed(f"it waits for {visitor.missing} bytes")
    return visitor.proven


def _try_claim(data: bytes) -> bool:
    # As they come from the network: in one piece, or byte by byte.
    is_guest = data.startswith(framed(CLAIM) + framed(ANSWER))
    for chunk in (1 << 20, 1) if len(data) < 64 else (1 << 20, 7):
        if _visit(data, chunk) != is_guest:
            raise Failed("a stranger was let in, or the guest was not")
    return is_guest


def _try_answer(data: bytes) -> bool:
    return _try_claim(framed(CLAIM) + data)


def _try_challenge(data: bytes) -> bool:
    try:
        greeting.greet(Channel(Said(data)), TOKEN, _HELLO, None, DOOR, sealed=False)
    except Closed:
        return False
    if not data.startswith(framed(_CHALLENGE)):
        raise Failed("the caller believes a stranger")
    return True


def _try_control(data: bytes) -> bool:
    channel, received = Channel(Said(data)), 0
    try:
        while True:
            channel.receive(longest=1 << 20)
            received += 1
    except Closed:
        return received > 0


def _try_group(data: bytes) -> bool:
    taken = 0
    for kind in _KINDS:
        try:
            _value(data, kind, 1)
            taken += 1
        except Interrupted:
            pass
    return taken > 0


TARGETS = {
    "claim": (_try_claim, (framed(CLAIM) + framed(ANSWER), framed(CLAIM))),
    "answer": (_try_answer, (framed(ANSWER),)),
    "challenge": (_try_challenge, (framed(_CHALLENGE) + framed(greeting._WELCOME),)),
    "control": (_try_control, tuple(framed(_encode(each)) for each in _MESSAGES)),
    "group": (_try_group, tuple(_encode(each) for each in _VALUES)),
}

# Where the kinds of MessagePack begin and end, and lengths at limits.
_INTERESTING = (
    *(
        bytes([number])
        for number in (0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 256))
    ),
    *(LENGTH.pack(number) for number in (0, 1, 16383, 16384, 16385, 1 << 30, (1 << 32) - 1)),
    *(b"\xcf" + number.to_bytes(8, "big") for number in (2**63, 2**64 - 1)),
    b"\xcb\x7f\xf0" + bytes(6),
    b"\xcb\x7f\xf8" + bytes(6),
    b"\xa4\xff\xfe\xfd\xfc",
    b"\xc7\x0c\xff" + b"\xff" * 12,
    b"\x91" * 2000,
    b"\x81\xa1x" * 1300,
)


def mutated(draw: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """A seed with a few changes."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((0, 1, 1, 2, 4, 8, 32)))
        kind = draw.randrange(8)
        if kind == 0 and start < len(data):
            data[start] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[start:end] = draw.choice(_INTERESTING)
        elif kind == 2:
            data[start:start] = draw.choice(_INTERESTING)
        elif kind == 3:
            del data[start:end]
        elif kind == 4:
            data[start:start] = data[start:end] * draw.choice((1, 2, 50))
        elif kind == 5:
            del data[start:]
        elif kind == 6:
            other = draw.choice(seeds)
            data[start:] = other[draw.randrange(len(other)) :]
        else:
            data[start:end] = draw.randbytes(end - start)
    if draw.random() < 0.3 and len(data) > LENGTH.size:
        # What is in the message is looked at only if its length is right.
        data[: LENGTH.size] = LENGTH.pack(len(data) - LENGTH.size)
    return bytes(data)


def draw_input(draw: random.Random) -> Input:
    target = draw.choice(list(TARGETS))
    return Input(target, mutated(draw, TARGETS[target][1]))


def attempt(tried: Input, folder: Path, draw: random.Random | None = None) -> bool:
    with mock.patch.object(greeting, "new_nonce", return_value=NONCE):
        return TARGETS[tried.what][0](tried.content)


HARNESS = Harness("greetings", draw_input, attempt)

if __name__ == "__main__":
    sys.exit(main(HARNESS))
