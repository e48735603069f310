"""``halftrip serve``, started by a test, and ended by it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time

import psutil

from harness.limits import AMPLE_SECONDS, until
from harness.shell import HALFTRIP


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Served:
    """A server, at a free port unless one is named: its `process`, its `port`, its `secret` and
    what it has `said` so far."""

    def __init__(self, directory, *options, address="127.0.0.1", prefix=(), port=None):
        self.port = port or free_port()
        self.address = address
        self._log = directory / f"serve-{self.port}.log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [*prefix, HALFTRIP, "serve", "--bind", address, "--port", str(self.port), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.await_line("for each client")
        if "--open" not in options and "--secret-file" not in options:
            self.secret = re.search(r"secret: (\S+)", self.await_line("secret: "))[1]

    @property
    def said(self):
        return self._log.read_text()

    @property
    def peer(self):
        """The options of who measures with it."""
        return "--peer", f"{self.address}:{self.port}"

    def await_line(self, part, count=1):
        """What it has said, when that has the part so many times."""
        deadline = time.monotonic() + AMPLE_SECONDS
        while self.said.count(part) < count or not self.said.endswith("\n"):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)
        return self.said

    def ranks(self):
        """The processes of ranks that it has started."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    found += [child] * ("halftrip.job.worker" in child.cmdline())
        return found

    def await_ranks(self, count):
        until(lambda: len(self.ranks()) == count, f"not {count} ranks")
        return self.ranks()

    def end(self, number=signal.SIGTERM):
        """Ends it, and returns its status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)
        return self.process.wait(AMPLE_SECONDS)


@contextlib.contextmanager
def served(directory, *options, **settings):
    server = Served(directory, *options, **settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
