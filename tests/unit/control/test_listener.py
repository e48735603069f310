"""Who may connect: only awaited processes of the job, each once; nobody else holds them up."""

import contextlib
import os
import resource
import socket
import struct
import time
from types import SimpleNamespace

import pytest

from halftrip.control import listener as module
from halftrip.control.calling import connect, open_connection
from halftrip.control.greeting import introduce
from halftrip.control.listener import BackgroundListener, Listener
from halftrip.control.network import Network
from halftrip.control.protocol import Address, Bye, Channel, Closed
from harness.doors import GUEST, HELLO, TOKEN
from harness.need import need_root
from harness.paths import NOTHING, added, held
from harness.strangers import Greeting, as_nobody
from harness.threads import in_thread


@contextlib.contextmanager
def serving(listener, count=1):
    """Lets guests in, in a thread: their connections and hellos."""
    found = []
    finish = in_thread(lambda: found.extend(listener.connections(count, 20)))
    yield SimpleNamespace(found=found, finish=finish)
    assert finish() is None
    assert len(found) == count
    for channel, _ in found:
        channel.close()


def call(listener, hello=HELLO, token=TOKEN):
    return connect(listener.address, token, hello, seconds=10)


def check_let_in(listener):
    """The guest is still let in."""
    with serving(listener) as served, contextlib.closing(call(listener)) as channel:
        assert served.finish() is None
        ((accepted, hello),) = served.found
        assert hello == HELLO
        channel.send(Bye())
        assert accepted.receive() == Bye()


def hear_out(end):
    """Reads until the connection has ended."""
    with contextlib.suppress(ConnectionResetError):
        while end.recv(4096):
            pass


def check_refused(listener, hello=HELLO, token=TOKEN):
    with in_background(listener), pytest.raises(Closed):
        call(listener, hello, token)


@contextlib.contextmanager
def in_background(listener):
    """Goes on with greetings, in a thread, and lets in whoever may; the hellos of those."""
    done, hellos = [], []

    def serve():
        while not done:
            for channel, hello in listener.admit():
                hellos.append(hello)
                channel.close()
            time.sleep(0.002)

    finish = in_thread(serve)
    try:
        yield hellos
    finally:
        done.append(True)
        assert finish() is None


@pytest.mark.parametrize("reach", ["unix", "loopback", Network()])
def test_a_guest_is_let_in(reach):
    with contextlib.closing(Listener(TOKEN, {GUEST}, reach)) as listener:
        check_let_in(listener)


def test_a_hello_arrives_as_it_was():
    hello = introduce("group", 3, to=2, group=Address(unix="name"), thread=5)
    with contextlib.closing(Listener(TOKEN, {hello.guest}, rank=2)) as listener:
        with serving(listener) as served:
            call(listener, hello).close()
        assert served.found[0][1] == hello


# Strangers.


def drip(stranger):
    """A greeting without end, a byte now and then."""
    with contextlib.suppress(ConnectionError):
        for byte in struct.pack("!I", 1000) + b"x" * 200:
            stranger.send(bytes([byte]))
            time.sleep(0.01)


def said_to(end):
    """The guest's greeting, for where this socket has connected to."""
    return Greeting(TOKEN, HELLO, end.getpeername())


GREETINGS = {
    "no greeting": lambda stranger: Channel(stranger).send(Bye()),
    "garbage": lambda stranger: stranger.sendall(b"GET / HTTP/1.1\r\n\r\n"),
    "endless": lambda stranger: stranger.sendall(struct.pack("!I", 1 << 29) + b"x" * 20000),
    "empty": lambda stranger: stranger.sendall(bytes(4)),
    "nested": lambda stranger: stranger.sendall(struct.pack("!I", 4096) + b"\x91" * 4096),
    "dripping": drip,
    "half": lambda stranger: stranger.sendall(said_to(stranger).claim[:40]),
    "claim alone": lambda stranger: stranger.sendall(said_to(stranger).claim),
    "silence": lambda stranger: None,
}


@pytest.mark.parametrize("greeting", GREETINGS)
def test_a_stranger_is_dropped_and_does_not_take_the_guest_s_place(door, greeting, monkeypatch):
    monkeypatch.setattr(module, "_GREETING_SECONDS", 0.2)
    with open_connection(door.address) as stranger:
        with in_background(door):
            finish = in_thread(lambda: GREETINGS[greeting](stranger))
            stranger.settimeout(10)
            # At most a challenge, and then the end.
            hear_out(stranger)
            assert finish() is None
        check_let_in(door)


def test_silent_connections_do_not_delay_a_guest(door):
    with contextlib.ExitStack() as open_ones, in_background(door) as hellos:
        for _ in range(500):
            open_ones.enter_context(open_connection(door.address))
        began = time.monotonic()
        call(door).close()
        while not hellos:
            time.sleep(0.001)
        # Not one deadline of a silent connection has passed.
        assert time.monotonic() - began < module._GREETING_SECONDS
        assert len(door._pending) <= module._MOST_PENDING + 1


def test_connections_that_wait_unserved_do_not_count_as_late(door, monkeypatch):
    """A rank looks at its listener only when it waits for a peer."""
    monkeypatch.setattr(module, "_GREETING_SECONDS", 0.05)
    calling = in_thread(lambda: call(door).close())
    deadline = time.monotonic() + 10
    # It may be quick enough to be let in at once.
    while not (door._pending or door._admitted) and time.monotonic() < deadline:
        door._handle(0.1)
    time.sleep(0.2)
    with serving(door):
        pass
    assert calling() is None


@contextlib.contextmanager
def descriptors_left(count):
    """This process may open so many more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + count, hard))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for _ in range(count):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_strangers_do_not_use_up_the_descriptors(door):
    with contextlib.ExitStack() as open_ones:
        for _ in range(40):
            open_ones.enter_context(open_connection(door.address))
        ours = open_ones.enter_context(open_connection(door.address))
        ours.sendall(said_to(ours).claim)
        with descriptors_left(5):
            for _ in range(5):
                door.admit()
            assert len(door._pending) <= 5
        # It got its challenge.
        ours.settimeout(10)
        assert ours.recv(1)


def test_a_listener_that_is_closed_holds_nothing(door):
    before = held()
    background = BackgroundListener(TOKEN, [GUEST], "loopback", 0)
    strangers = [open_connection(background.address) for _ in range(5)]
    with pytest.raises(TimeoutError):
        background.take(0.05)
    background.close()
    for stranger in strangers:
        stranger.close()
    assert added(before) == NOTHING


def test_a_caller_gives_up_on_a_listener_that_says_nothing():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address(hosts=("127.0.0.1",), port=silent.getsockname()[1])
        with pytest.raises(Closed, match="timed out"):
            connect(address, TOKEN, HELLO, seconds=0.01)


# Proofs.


def test_who_does_not_know_the_token_is_refused(door):
    check_refused(door, token="fälsch")
    check_let_in(door)
    # Nor anybody twice.
    check_refused(door)


@pytest.mark.parametrize(
    "hello",
    [
        introduce("events", 1),
        introduce("control", 2),
        introduce("control", -1),
        introduce("control", 1, thread=1),
        introduce("control", 1, to=0),
    ],
)
def test_a_wrong_role_or_rank_is_refused(door, hello):
    check_refused(door, hello)
    check_let_in(door)


def test_of_two_greetings_of_a_rank_at_the_same_time_one_is_let_in(door):
    with open_connection(door.address) as one, open_connection(door.address) as other:
        first, second = said_to(one), said_to(other)
        for end, greeting in ((one, first), (other, second)):
            end.sendall(greeting.claim)
        with in_background(door) as hellos:
            for end, greeting in ((one, first), (other, second)):
                with contextlib.suppress(ConnectionError):
                    end.sendall(greeting.answer(end))
                    hear_out(end)
        assert hellos == [HELLO]


def test_a_recorded_greeting_cannot_be_replayed(door):
    """Neither to the same listener, which then waits for the rank again, nor to another."""
    with in_background(door) as hellos, open_connection(door.address) as end:
        recorded = said_to(end)
        end.sendall(recorded.claim)
        answer = recorded.answer(end)
        end.sendall(answer)
        assert TOKEN.encode() not in recorded.claim + recorded.challenge + answer
        # It is welcome, and the test's listener closes the connection of a guest.
        assert end.recv(4096).endswith(b"welcome")
        assert end.recv(1) == b""
    assert hellos == [HELLO]
    door.awaited.add(GUEST)
    with in_background(door) as hellos, open_connection(door.address) as end:
        end.sendall(recorded.claim + answer)
        hear_out(end)
    assert hellos == []


def test_a_caller_does_not_prove_anything_to_a_stranger():
    """Who listens at the address does not know the token, and hears nothing but a claim."""
    listener = Listener("another", {GUEST}, "loopback")
    refused = pytest.raises(Closed, match="does not know")
    with contextlib.closing(listener), in_background(listener), refused:
        call(listener)


def test_a_caller_tries_the_next_address_where_a_stranger_listens():
    guest = Listener(TOKEN, {GUEST}, "loopback")
    port = guest.address.port
    with contextlib.closing(guest), socket.create_server(("127.0.0.2", port)) as stranger:
        finish = in_thread(lambda: stranger.accept()[0].close())
        both = Address(hosts=("127.0.0.2", "127.0.0.1"), port=port, local=True)
        with serving(guest):
            connect(both, TOKEN, HELLO, seconds=10).close()
        assert finish() is None


# Other users.


def test_another_user_is_dropped_at_once_from_a_unix_socket():
    need_root("to be another user")
    with contextlib.closing(Listener(TOKEN, {GUEST})) as listener:
        with in_background(listener):
            # It even knows the token.
            assert as_nobody(refused_call, listener.address)
        check_let_in(listener)


def refused_call(address):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as end:
        end.settimeout(10)
        end.connect(f"\0{address.unix}")
        with contextlib.suppress(BrokenPipeError):
            end.sendall(said_to(end).claim)
        try:
            return end.recv(1) == b""
        except ConnectionResetError:
            return True


def test_nobody_calls_a_socket_of_another_user():
    need_root("to be another user")
    with contextlib.closing(Listener(TOKEN, {GUEST})) as listener:
        assert as_nobody(is_not_called, listener.address)


def is_not_called(address):
    try:
        connect(address, TOKEN, HELLO)
    except PermissionError as error:
        return error.strerror == "another user listens there"
    return False


# What the kernel notices.


@contextlib.contextmanager
def both_ends():
    """The caller's end of a connection, and the listener's."""
    listener = Listener(TOKEN, {GUEST}, "loopback")
    with contextlib.closing(listener), serving(listener) as served:
        channel = call(listener)
        with contextlib.closing(channel):
            assert served.finish() is None
            yield channel, served.found[0][0]


def test_both_ends_notice_within_seconds_that_a_host_is_silent():
    with both_ends() as ends:
        for end in ends:
            assert 0 < end.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 5000
            assert end.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            # What ranks say goes in segments that pass everywhere.
            assert end.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= 1280 - 60
