"""A client that knows the secret, and says something else to a rank of `halftrip serve` than a
launcher does: its session ends at once, in one line, and nothing is left of it."""

import time
from contextlib import closing

import msgspec
import pytest

from halftrip import __version__
from halftrip.control.calling import connect
from halftrip.control.greeting import introduce
from halftrip.control.protocol import LENGTH, Abort, Address, Assignment, Pong, framed
from halftrip.job import session
from halftrip.plan.plan import Plan
from harness.choice import extended
from harness.limits import AMPLE_SECONDS, END_SECONDS, until
from harness.served import served

PLAN = msgspec.json.encode(Plan(transport=("tcp",)))


def assigning(**parts):
    assigned = Assignment(**{"plan": PLAN, "group": None, "progress": False} | parts)
    return lambda control: control.send(assigned)


def raw(make):
    """What is on the wire, made of the seal of the connection; then this end says no more."""

    def say(control):
        control.socket.sendall(make(control.seal))
        control.socket.shutdown(1)

    return say


# What is said in place of a launcher's assignment, and what the rank answers, if it does.
NONE = "the launcher sends no assignment"
SAID = {
    "a plan cut off": (assigning(plan=PLAN[:-9]), NONE),
    "a plan of another kind": (assigning(plan=b"[]"), NONE),
    "what is done, cut off": (assigning(done=b'[{"'), NONE),
    "nested without end": (assigning(earlier=b"[" * 90000), NONE),
    "another message": (lambda control: control.send(Pong()), None),
    "garbage": (lambda control: control.send_bytes(b"\xc1"), None),
    "forged": (raw(lambda seal: bytes(200)), None),
    "half a length": (raw(lambda seal: seal.seal(LENGTH.pack(9))[:7]), None),
    "half a message": (
        raw(lambda seal: seal.seal(LENGTH.pack(99)) + seal.seal(bytes(99))[:50]),
        None,
    ),
    "a length that lies": (raw(lambda seal: framed(bytes(9), seal)[:20] + bytes(99)), None),
    "not the first": (raw(lambda seal: seal.seal(b"") and framed(b"\xc1", seal)), None),
}


def first(control, kind):
    """The first message of this kind."""
    while not isinstance(message := control.receive(), kind):
        pass
    return message


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.mark.parametrize("name", ["a plan cut off", *extended(*list(SAID)[1:])])
def test_a_session_ends_in_a_line_whatever_the_client_says(server, name):
    say, expected = SAID[name]
    address = Address(hosts=(server.address,), port=server.port)
    asked = {"version": __version__, "nonce": session.new_nonce(), "ranks": 2, "numbers": (1,)}
    request = session.SessionRequest(**asked, threads=1, seconds=None, reached_at="127.0.0.1")
    before = server.said.count("\n")
    hello = introduce("client", -1)
    with closing(connect(address, server.secret, hello, AMPLE_SECONDS)) as channel:
        session.send(channel, request)
        deadline = time.monotonic() + AMPLE_SECONDS
        answer = session.receive_answer(channel, deadline)
        assert isinstance(answer, session.Welcome), answer
        number = answer.session
        guest = session.control_guest(number, 1)
        hello = introduce(guest.purpose, guest.rank, thread=guest.thread)
        with closing(connect(address, server.secret, hello, AMPLE_SECONDS)) as control:
            control.receive_bytes()
            say(control)
            if expected is not None:
                assert expected in first(control, Abort).reason
            # It ends while this client is still there.
            answer = session.receive_answer(channel, deadline)
        assert answer == Abort("rank 1 ended with status 1")
    # Then the server is free for the next.
    until(lambda: server.said.count("\n") > before, "nothing in the log")
    (line,) = server.said.splitlines()[before:]
    assert ": rank 1 ended with status 1, " in line
    until(lambda: not server.ranks(), "ranks are left", END_SECONDS)
