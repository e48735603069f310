"""Two hosts without MPI: ``halftrip serve`` on one, ``halftrip run --peer`` on the other."""

import re
import signal
import time
from contextlib import closing

import pytest

from halftrip import __version__
from halftrip.control.calling import connect
from halftrip.control.greeting import introduce
from halftrip.control.protocol import Address
from halftrip.job import session
from harness.choice import extended
from harness.limits import AMPLE_SECONDS, END_SECONDS, until
from harness.served import served
from harness.victim import Victim

SECONDS = END_SECONDS + 4.0
QUICK = ("-s", "8,32K", "--time", "20ms", "-r", "3")
CALLED = "(serve --reached-at)"
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s")


def client(server, secret=None):
    """A connection that has proved the secret."""
    address = Address(hosts=(server.address,), port=server.port)
    return connect(address, secret or server.secret, introduce("client", -1), AMPLE_SECONDS)


def ask(server, **changes):
    """What the server says to a request."""
    asked = {"version": __version__, "nonce": session.new_nonce(), "ranks": 2, "numbers": (1,)}
    asked |= {"threads": 1, "seconds": None, "reached_at": "127.0.0.1"}
    with closing(client(server)) as channel:
        session.send(channel, session.SessionRequest(**asked | changes))
        return session.receive_answer(channel, time.monotonic() + AMPLE_SECONDS)


def begun(shell, server):
    """A run with it that goes on until something happens to it."""
    victim = Victim(shell, *WORK, *server.peer, HALFTRIP_SECRET=server.secret)
    victim.await_work(0)
    return victim


def test_a_peer_is_measured(shell, tmp_path):
    with served(tmp_path) as server:
        for _ in range(2):
            result = shell.measure(*QUICK, *server.peer, HALFTRIP_SECRET=server.secret, silent=True)
            run = result.run
            assert {m.configuration.transport for m in run.measurements} == {"tcp", "udp"}
            assert {m.configuration.pair for m in run.measurements} == {(0, 1)}
            assert run.header.plan["peer"] == server.peer[1]
            assert server.secret not in result.path.read_text()
            result.path.unlink()
        said = server.await_line(": ok, ", 2)
        assert len(re.findall(r"^\S+ 127\.0\.0\.1: ok, \d+\.\d s$", said, re.MULTILINE)) == 2


# Who is not served.


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (None, "it wants a secret: --secret-file, or the variable HALFTRIP_SECRET"),
        ("wrong", f"it has another secret, version or address {CALLED}, or is not halftrip serve"),
    ],
)
def test_nothing_is_done_for_who_does_not_have_the_secret(shell, tmp_path, secret, said):
    with served(tmp_path) as server:
        given = {} if secret is None else {"HALFTRIP_SECRET": secret}
        result = shell.run(*QUICK, *server.peer, **given)
        assert (result.status, result.err) == (1, f"halftrip: {server.peer[1]}: {said}\n")
        assert server.ranks() == []
        assert "ok" not in server.said


@pytest.mark.extended
def test_others_are_told_to_wait_and_how_long(shell, tmp_path):
    with served(tmp_path, "--max-time", "100s") as server:
        victim = begun(shell, server)
        answer = ask(server)
        assert isinstance(answer, session.Busy)
        assert 0 < answer.seconds <= 100
        server.await_line(": has to wait, for ")
        victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
        # Soon it is the next one's turn.
        until(lambda: not isinstance(ask(server), session.Busy))


def test_what_may_be_asked_for_is_bounded(tmp_path):
    with served(tmp_path) as server:
        for changes, said in (
            ({"version": "9.9"}, "halftrip [0-9.]+ serves, 9.9 asks; install the same"),
            ({"numbers": ()}, "what was asked for makes no sense"),
            ({"ranks": 4000, "numbers": tuple(range(3000, 4000))},
             "1000 threads of ranks were asked for; at most [0-9]+ here"),
        ):  # fmt: skip
            assert re.fullmatch(said, ask(server, **changes).reason), changes
        assert server.ranks() == []


# Ends.


@pytest.mark.extended
def test_the_time_of_a_client_is_limited(shell, tmp_path):
    with served(tmp_path, "--max-time", "2s") as server:
        result = shell.run(*WORK, *server.peer, HALFTRIP_SECRET=server.secret)
        assert result.status == 1
        assert result.err.startswith("halftrip: ")
        assert server.await_ranks(0) == []
        server.await_line("the time that a client has here was over")


@pytest.mark.parametrize("number", extended(signal.SIGKILL, signal.SIGINT))
def test_a_client_that_leaves_leaves_nothing(shell, tmp_path, number):
    with served(tmp_path) as server:
        victim = begun(shell, server)
        victim.kill(victim.process.pid, number, seconds=SECONDS)
        assert server.await_ranks(0) == []
        assert server.process.poll() is None


@pytest.mark.parametrize("number", extended(signal.SIGKILL, signal.SIGTERM))
def test_a_server_that_ends_is_named(shell, tmp_path, number):
    with served(tmp_path) as server:
        victim = begun(shell, server)
        ranks = server.ranks()
        server.end(number)
        ended = victim.wait(SECONDS)
        assert ended.status == 1
        assert server.peer[1] in ended.err
        until(lambda: not any(rank.is_running() for rank in ranks), seconds=SECONDS)
        # Nobody serves any more.
        result = shell.halftrip("run", "-o", "again.jsonl", *QUICK, *server.peer)
    assert result.status == 1
    assert re.fullmatch(
        rf"halftrip: {server.peer[1]}: no way to port \d+: 127.0.0.1: .*refused\n", result.err
    )
    # The next one is soon there.
    with served(tmp_path, port=server.port) as again:
        work = ("run", "-o", "last.jsonl", *QUICK, *again.peer)
        result = shell.halftrip(*work, HALFTRIP_SECRET=again.secret)
        assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("rank", [0, *extended(1)])
def test_a_rank_of_the_server_that_dies_before_it_connects_ends_the_run(shell, tmp_path, rank):
    """Others of the server wait for it, and would for ever."""
    with served(tmp_path) as server:
        victim = Victim(shell, *WORK, *server.peer, "-n", "4", HALFTRIP_SECRET=server.secret)
        server.await_ranks(2)[rank].kill()
        ended = victim.wait(SECONDS)
        assert ended.status == 1
        # It may just have connected.
        named = rf"(: rank {2 + rank} was killed by SIGKILL|rank {2 + rank} on .* died)\n"
        assert re.search(named, ended.err)
        assert server.await_ranks(0) == []


@pytest.mark.extended
def test_a_server_that_ends_does_not_wait_for_who_has_said_nothing(tmp_path):
    with served(tmp_path) as server, closing(client(server)):
        server.process.terminate()
        assert server.process.wait(END_SECONDS) == 128 + signal.SIGTERM


@pytest.mark.extended
def test_a_rank_of_the_server_that_dies_is_named(shell, tmp_path):
    with served(tmp_path) as server:
        victim = begun(shell, server)
        (rank,) = server.ranks()
        rank.kill()
        ended = victim.wait(SECONDS)
        said = f"halftrip: rank 1 on {server.peer[1]} (process {rank.pid}) died\n"
        assert (ended.status, ended.err) == (1, said)
        server.await_line("rank 1 was killed by SIGKILL")
