"""A stranger on a third host, while a rank on one waits for a rank on another."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.extended

# Waits for rank 1, and then for its message; both hosts know the token.
LISTENER = """
import sys
from halftrip.control.greeting import Guest
from halftrip.control.listener import Listener
from halftrip.control.network import Network
listener = Listener(sys.argv[1], {Guest("life", 1)}, Network(), rank=0)
print(listener.address.port, flush=True)
channel, hello = listener.accept(60)
print(hello.name.partition(" (")[0], channel.socket.getpeername()[0], flush=True)
print(channel.receive_bytes().decode(), len(listener.awaited), flush=True)
"""
# Connects 200 times: silent, with garbage, and with a token of its own. Lives until it is killed.
STRANGER = """
import socket, sys, time
from halftrip.control.greeting import introduce
from halftrip.control.calling import connect
from halftrip.control.protocol import Address, Closed
host, port = sys.argv[1], int(sys.argv[2])
ends = [socket.create_connection((host, port)) for _ in range(200)]
for end in ends[::2]:
    end.sendall(b"GET / HTTP/1.1" + bytes(100))
try:
    connect(Address(hosts=(host,), port=port), "another", introduce("life", 1, to=0), 30)
except Closed:
    print("refused", flush=True)
time.sleep(60)
"""
RANK = """
import sys
from halftrip.control.greeting import introduce
from halftrip.control.calling import connect
from halftrip.control.protocol import Address
address = Address(hosts=(sys.argv[2],), port=int(sys.argv[3]))
connect(address, sys.argv[1], introduce("life", 1, to=0), 30).send_bytes(b"the message")
"""
TOKEN = "known to two hosts"


def start(host, code, *arguments):
    command = (*host.prefix(), sys.executable, "-c", code, *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_stranger_on_another_host_neither_gets_in_nor_keeps_a_rank_out(three):
    here, there, elsewhere = three.hosts
    started = [start(here, LISTENER, TOKEN)]
    try:
        port = started[0].stdout.readline().strip()
        started.append(start(elsewhere, STRANGER, here.address, port))
        assert started[1].stdout.readline() == "refused\n"
        started.append(start(there, RANK, TOKEN, here.address, port))
        name, address = started[0].stdout.readline().rsplit(" ", 1)
        assert name == "rank 1"
        assert address.strip().endswith(there.address)
        assert started[0].stdout.readline() == "the message 0\n"
    finally:
        for process in started:
            process.kill()
            process.communicate()
