"""How a server ends."""

import threading
from contextlib import closing

import pytest

from halftrip.control.calling import connect
from halftrip.control.greeting import introduce
from halftrip.control.network import Network
from halftrip.errors import Stopped
from halftrip.job import session
from halftrip.job.server import Limits, Server
from harness.limits import AMPLE_SECONDS
from harness.served import free_port


def test_a_signal_before_the_thread_of_a_client_has_begun_ends_the_server(monkeypatch):
    class Interrupted(threading.Thread):
        def start(self):
            raise Stopped("stopped by SIGTERM")

    port, secret = free_port(), session.new_secret()
    limits = Limits(clients=1, seconds=1, memory=1 << 20, threads=2)
    server = Server(secret, Network("127.0.0.1", (port, port)), None, limits, print)

    def call():
        hello = introduce("client", -1)
        with closing(connect(server.address, secret, hello, AMPLE_SECONDS)):
            pass

    client = threading.Thread(target=call)
    client.start()
    monkeypatch.setattr(threading, "Thread", Interrupted)
    with pytest.raises(Stopped, match="SIGTERM"):
        server.serve(once=False)
    client.join()
