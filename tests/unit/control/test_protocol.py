"""Messages between processes."""

import socket
import struct
import subprocess
import sys
import time

import pytest

from halftrip.control.protocol import Abort, Bye, Channel, Closed, framed
from halftrip.errors import HalftripError, Interrupted, UsageError
from harness.threads import in_thread


@pytest.mark.parametrize(
    ("error", "abort"),
    [
        (HalftripError("no space left"), Abort("no space left")),
        (UsageError("--ranks: 1 is too few"), Abort("--ranks: 1 is too few", usage=True)),
        (Interrupted(""), Abort("Interrupted")),
        # A defect of the program, whose text alone says nothing.
        (KeyError("size"), Abort("rank 3 failed: KeyError: 'size'")),
    ],
)
def test_an_abort_says_why_a_rank_s_work_ended(error, abort):
    assert Abort.from_error(error, rank=3) == abort


@pytest.mark.parametrize(
    "payload",
    [
        b"nonsense",
        b"",
        b"\x81\xa4type\xa4Evil",
        # Nested deeper than the interpreter goes, and a text that is none.
        b"\x82\xa4type\xa3Ack\xa1x" + b"\x91" * 5000,
        b"\x82\xa4type\xa5Abort\xa6reason\xa2\xff\xfe",
    ],
)
def test_bytes_that_are_no_message_raise_closed(channels, payload):
    channels[0].send_bytes(payload)
    with pytest.raises(Closed):
        channels[1].receive()


def test_a_message_of_impossible_length_is_not_waited_for(channels):
    channels[0].socket.sendall(struct.pack("!I", 0xFFFFFFFF))
    with pytest.raises(Closed, match="impossible"):
        channels[1].receive()


def test_a_peer_that_went_without_reading_ends_a_poll(channels):
    """The kernel resets such a connection, which is an error of its own."""
    near, far = channels
    near.send(Bye())
    far.close()
    near.poll(1.0)
    with pytest.raises(Closed):
        near.receive()


# Each type is new, and four threads are the first to use it at the same time.
FIRST_USES = """
import sys, threading
from typing import Literal
import msgspec
from halftrip.control.protocol import decoded
sys.setswitchinterval(1e-6)
for number in range(300):
    kind = msgspec.defstruct(f"Kind{number}", [("word", Literal["a", "b"])])
    all_here = threading.Barrier(4)
    def use():
        all_here.wait()
        assert decoded(msgspec.msgpack.encode({"word": "a"}), kind).word == "a"
    threads = [threading.Thread(target=use) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
"""


def test_threads_may_be_the_first_to_use_a_type_at_the_same_time():
    command = [sys.executable, "-c", FIRST_USES]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_a_message_that_comes_byte_by_byte_has_no_more_time_than_another():
    """A dishonest server could keep a client for weeks so."""
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(0.05)

        def drip():
            for each in framed(bytes(60)):
                far.send(bytes([each]))
                time.sleep(0.01)

        dripping = in_thread(drip)
        with pytest.raises(Closed):
            Channel(near).receive_bytes()
        assert near.gettimeout() == 0.05
        assert dripping() is None
