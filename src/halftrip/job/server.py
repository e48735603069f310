"""``halftrip serve``: starts ranks for clients on other hosts, which know its secret."""

from __future__ import annotations

import contextlib
import os
import queue
import resource
import secrets
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from halftrip import __version__
from halftrip.control.greeting import Guest, Hello
from halftrip.control.listener import Listener
from halftrip.control.network import Network, address_in
from halftrip.control.protocol import Abort, Address, Channel, Closed
from halftrip.errors import HalftripError, UsageError, shortage
from halftrip.job.agent import Ranks
from halftrip.job.launchers.peer import own_address
from halftrip.job.processes import ProcessOutput
from halftrip.job.session import (
    ANSWER_SECONDS,
    Busy,
    SessionRequest,
    Welcome,
    control_guest,
    new_nonce,
    receive_request,
    send,
    token_of,
)
from halftrip.job.spec import Job
from halftrip.results.run_file import moment
from halftrip.texts import printable

_CLIENT = Guest("client", -1)
# Clients who are told that the server is busy, at the same time; others are not answered.
_MOST_WAITING = 16
_NUMBER_BITS = 62
# A rank needs so much memory besides its buffers, bytes.
_RANK_BYTES = 1 << 30


class Limits(NamedTuple):
    """What clients may ask for: so many at the same time, each for so many seconds, with so many
    bytes of memory for all its ranks, and as many threads as there are cores; and whether
    transports by `libraries`."""

    clients: int
    seconds: float
    memory: int
    threads: int
    libraries: bool = False


class Server:
    """Listens as `network` says, with its one port, and starts ranks that listen on `data_ports`.
    `log` gets a line for each client. Raises OSError if the port is taken."""

    def __init__(
        self,
        secret: str,
        network: Network,
        data_ports: tuple[int, int] | None,
        limits: Limits,
        log: Callable[[str], None],
    ) -> None:
        self._secret = secret
        self._network = network
        self._data_ports = data_ports
        self._limits = limits
        self._log = log
        self._listener = Listener(secret, {_CLIENT}, network)
        self._sessions: dict[int, Session] = {}
        self._lock = threading.Lock()
        self._count = 0
        # Those that serve clients, or find out what these want, each with its connection.
        self._threads: dict[threading.Thread, Channel] = {}

    @property
    def address(self) -> Address:
        return self._listener.address

    def serve(self, once: bool) -> None:
        """Serves clients, until an error is raised in this thread, or `once` one has been served;
        then all sessions are over, and no process is left."""
        try:
            while not (once and self._count and not self._sessions):
                with contextlib.suppress(TimeoutError):
                    self._take(*self._listener.accept(0.2 if once else None))
        finally:
            self._listener.close()
            # None of them waits any longer for what a client might say.
            for channel in list(self._threads.values()):
                with contextlib.suppress(OSError):
                    channel.socket.shutdown(2)
            for session in list(self._sessions.values()):
                session.controls.put(None)
            for thread, channel in list(self._threads.items()):
                try:
                    thread.join()
                except RuntimeError:
                    # The signal that ends this came before the thread had begun.
                    channel.close()

    def _take(self, channel: Channel, hello: Hello) -> None:
        if hello.purpose == "control":
            session = self._sessions.get(hello.thread)
            if session is None:
                channel.close()
            else:
                session.controls.put((hello.rank, channel))
            return
        if len(self._threads) >= self._limits.clients + _MOST_WAITING:
            channel.close()
            return
        thread = threading.Thread(target=self._receive, args=(channel,), daemon=True)
        self._threads[thread] = channel
        thread.start()

    def _receive(self, channel: Channel) -> None:
        """One client, in a thread of its own, from its request to the end of its ranks."""
        client = address_in(channel.socket.getpeername())
        began = time.monotonic()
        try:
            said = self._admit(channel, began)
        except (Closed, HalftripError) as error:
            said = str(error)
            with contextlib.suppress(Closed):
                send(channel, Abort(said))
        except (OSError, MemoryError) as error:
            said = shortage(error) or str(error)
        finally:
            channel.close()
            del self._threads[threading.current_thread()]
        seconds = time.monotonic() - began
        at = moment().astimezone().isoformat(timespec="seconds")
        self._log(f"{at} {client}: {printable(said, 300)}, {seconds:.1f} s")

    def _admit(self, channel: Channel, began: float) -> str:
        """Serves a client, and returns how that ended. Raises Closed, HalftripError, OSError."""
        request = receive_request(channel, __version__, began + ANSWER_SECONDS)
        channel.socket.settimeout(None)
        self._check(request)
        with self._lock:
            busy = self._busy_seconds() if len(self._sessions) >= self._limits.clients else None
            if busy is None:
                self._count += 1
                # Nobody else can guess whose ranks a connection is for.
                number = secrets.randbits(_NUMBER_BITS)
                seconds = min(request.seconds or self._limits.seconds, self._limits.seconds)
                session = Session(channel, request, number, began + seconds)
                self._sessions[number] = session
        if busy is not None:
            send(channel, Busy(busy))
            return f"has to wait, for {busy:.0f} s at most"
        guests = {control_guest(number, rank) for rank in request.numbers}
        try:
            self._listener.awaited |= guests
            nonce = new_nonce()
            send(channel, Welcome(number, nonce))
            token = token_of(self._secret, request.nonce, nonce)
            client = address_in(channel.socket.getpeername())
            job = self._job(request, token, client, own_address(channel))
            return session.serve(job, self._limits.memory)
        finally:
            self._listener.awaited -= guests
            del self._sessions[number]

    def _busy_seconds(self) -> float:
        """After how long one of the sessions will be over."""
        ends = min(session.deadline for session in self._sessions.values())
        return max(ends - time.monotonic(), 0.0)

    def _check(self, request: SessionRequest) -> None:
        threads = len(request.numbers) * request.threads
        if threads > self._limits.threads:
            most = self._limits.threads
            raise UsageError(f"{threads} threads of ranks were asked for; at most {most} here")

    def _job(self, request: SessionRequest, token: str, client: str, called: str) -> Job:
        """The job of the ranks here of a `client`, who has `called` this address. Of the client's
        it has numbers alone: what is run here is said by nobody else, and no other host is called;
        with libraries, the client's is."""
        # By libraries, both ends connect.
        clients = (client,) * self._limits.libraries
        partners = (called, *self.address.hosts, *clients)
        network = Network(
            self._network.interface, self._data_ports, (request.reached_at,), partners
        )
        return Job(
            # Nobody here calls the launcher: it has called.
            address=Address(),
            token=token,
            launcher=os.getpid(),
            ranks=request.ranks,
            network=network,
            calls_upwards=True,
            serves=True,
            libraries=self._limits.libraries,
        )


class Session:
    """A client that is being served, until `deadline`, by time.monotonic, at most. `controls` gets
    its connections for control messages, each with its rank, or None when nobody serves it any
    more."""

    def __init__(
        self, channel: Channel, request: SessionRequest, number: int, deadline: float
    ) -> None:
        self.deadline = deadline
        self.controls: queue.Queue[tuple[int, Channel] | None] = queue.Queue()
        self._channel = channel
        self._numbers = request.numbers
        self._number = number

    def serve(self, job: Job, memory: int) -> str:
        """Starts the ranks, and returns how the session ended when no process of it is left. Raises
        HalftripError if it could not begin."""
        output = ProcessOutput()
        ranks = Ranks(job, self._numbers, output.file.fileno())
        channels = self._await_controls()
        try:
            ranks.start(channels)
            for pid in ranks.pids:
                limit = _RANK_BYTES + memory // len(self._numbers)
                with contextlib.suppress(ProcessLookupError):
                    # Memory that is shared, and what is printed, are files to the kernel.
                    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
                        resource.prlimit(pid, kind, (limit, limit))
            for channel in channels.values():
                channel.close()
            in_time = ranks.serve(self._channel.fileno(), self.deadline)
            # At once: to end the other ranks takes some time, and the client waits for all.
            self._tell(self._early_end(in_time, ranks.status, output))
            ranks.end()
            # What the client has seen first may be the end of a rank's connection.
            return self._early_end(in_time, ranks.status, output) or "ok"
        finally:
            ranks.end()
            output.file.close()

    def _early_end(self, in_time: bool, status: int, output: ProcessOutput) -> str | None:
        """Why the session has ended before the client wanted, by the first bad status of a rank, 0
        for none; None if it has not."""
        if not in_time:
            return "the time that a client has here was over"
        said = output.lines() or [f"a rank ended with status {status}"]
        return said[0] if status else None

    def _tell(self, reason: str | None) -> None:
        if reason is not None:
            with contextlib.suppress(Closed):
                send(self._channel, Abort(reason))

    def _await_controls(self) -> dict[int, Channel]:
        """The connections for the control messages of all ranks. Raises HalftripError if they do
        not come."""
        channels: dict[int, Channel] = {}
        deadline = time.monotonic() + ANSWER_SECONDS
        try:
            while len(channels) < len(self._numbers):
                left = deadline - time.monotonic()
                found = self.controls.get(timeout=max(left, 0.01))
                if found is None:
                    raise queue.Empty
                channels[found[0]] = found[1]
        except queue.Empty:
            for channel in channels.values():
                channel.close()
            raise HalftripError("the client has not connected for its ranks") from None
        return channels
