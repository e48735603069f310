"""A server that knows the secret, and does not do what `halftrip serve` does: the client ends with
a line that says so, and has written nothing but its run file."""

import itertools
import time
from contextlib import closing, suppress

import pytest

from halftrip import __version__
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener
from halftrip.control.network import Network
from halftrip.control.protocol import (
    Abort,
    Address,
    Assignment,
    Closed,
    RecordLines,
    encoded,
)
from halftrip.job import session
from halftrip.job.session import Welcome, control_guest
from harness.choice import extended
from harness.limits import AMPLE_SECONDS
from harness.threads import in_thread

SECRET = "sixteen letters at least"
NUMBER = 7
PLAN = b'{"output": "%s", "system_log": true, "mpiexec": "touch %s"}'


def hello(**changes):
    return encoded(introduce("control", **{"rank": 1} | changes))


# What is sent in answer to the request; in the place of a server's rank, after the welcome; and
# what the client says of it.
ANSWERS = {
    "garbage": (lambda victim: [b"\xc1" * 99], "no answer: malformed message"),
    "nested": (lambda victim: [b"\x91" * 4000], "no answer: malformed message"),
    "what no server says": (
        lambda victim: [encoded(Assignment(PLAN % (victim, victim), None, False))],
        "no answer: malformed message",
    ),
    "too long": (lambda victim: [bytes(9000)], "no answer: a message of impossible length"),
    "a reason with more in it": (
        lambda victim: [encoded(Abort(f"\x1b[2J\n> {victim}"))],
        "\\x1b[2J",
    ),
}
RANKS = {
    "garbage": (lambda victim: [hello(), b"\xc1"], "malformed message"),
    "no greeting": (lambda victim: [b"\xc1"], "rank 1: malformed message"),
    "another rank": (lambda victim: [hello(rank=0)], "rank 1 says that it is rank 0"),
    "a plan of its own": (
        lambda victim: [hello(), encoded(Assignment(PLAN % (victim, victim), None, False))],
        "Assignment is not for a rank to say",
    ),
    "records without end": (
        lambda victim: itertools.chain(
            [hello()], itertools.repeat(encoded(RecordLines(b'{"record":"end"}\n' * 1000)))
        ),
        "RecordLines is not for a rank to say",
    ),
    "a socket of the client's host": (
        lambda victim: [hello(group=Address(unix=str(victim))), b"\xc1"],
        "malformed message",
    ),
}
CASES = [
    *extended(*((ANSWERS, name) for name in ANSWERS)),
    (RANKS, "records without end"),
    *extended(*((RANKS, name) for name in RANKS if name != "records without end")),
]


def pretend(listener, cases, messages):
    """Serves one client so."""
    channel, _ = listener.accept(AMPLE_SECONDS)
    with closing(channel):
        session.receive_request(channel, __version__, time.monotonic() + AMPLE_SECONDS)
        if cases is RANKS:
            listener.awaited |= {control_guest(NUMBER, 1)}
            session.send(channel, Welcome(NUMBER, session.new_nonce()))
            saying, _ = listener.accept(AMPLE_SECONDS)
        else:
            saying = channel
        with closing(saying), suppress(Closed):
            for each in messages:
                saying.send_bytes(each)
            # Until the client has gone.
            while True:
                saying.receive_bytes()


@pytest.mark.parametrize(("cases", "name"), CASES)
def test_a_client_ends_and_has_written_nothing_but_its_run_file(shell, tmp_path, cases, name):
    make, said = cases[name]
    victim = tmp_path / "victim"
    network = Network("127.0.0.1")
    with closing(Listener(SECRET, {Guest("client", -1)}, network)) as listener:
        served = in_thread(lambda: pretend(listener, cases, make(victim)))
        peer = f"127.0.0.1:{listener.address.port}"
        options = ("-t", "tcp", "-s", "8", "--time", "1ms", "--peer", peer)
        before = {*shell.directory.iterdir()}
        result = shell.run(*options, HALFTRIP_SECRET=SECRET)
        assert served() is None
    assert result.status == 1
    assert said in result.err
    assert result.err.startswith(f"halftrip: {peer}") or "rank 1" in result.err
    assert result.err.count("\n") == 1
    assert result.err[:-1].isprintable()
    assert not victim.exists()
    assert {*shell.directory.iterdir()} - before <= {shell.directory / "run.jsonl"}
