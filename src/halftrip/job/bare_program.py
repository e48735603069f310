"""A process that answers lines, as the bare loops do."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import time
from collections.abc import Sequence

from halftrip.errors import Unavailable, system_reason
from halftrip.job.deaths import how_ended
from halftrip.job.processes import Output

# It may have to start MPI first.
_ANSWER_SECONDS = 60.0
# One that has been told to end has so long.
_END_SECONDS = 5.0


class BareProgram:
    """A process that answers each line of its input with a line, and ends with its input. `name` is
    what errors call it. With a `listener`, lines go over the connection that it makes to that: an
    mpiexec does not tell its ranks that its own input has ended. Raises Unavailable, here and in
    all methods but `close`, if the process cannot be started, ends, or does not answer."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: dict[str, str] | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        self._name = name
        self._listener = listener
        self._connection: socket.socket | None = None
        # A pipe would be full at some time.
        self._errors = Output()
        try:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors.file,
            )
        except OSError as error:
            self._errors.file.close()
            why = f"{command[0]}: {system_reason(error).lower()}"
            raise Unavailable(f"{name}: {why}") from None

    def __enter__(self) -> BareProgram:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def ask(self, line: str) -> str:
        """The answer to a line."""
        to = self._connection or self.process.stdin
        assert to is not None
        try:
            os.write(to.fileno(), f"{line}\n".encode())
        except OSError:
            raise self._failed() from None
        return self.line()

    def line(self) -> str:
        """The next line."""
        if self._listener is not None and self._connection is None:
            self._connection = self._accept(self._listener)
        source = self._connection or self.process.stdout
        assert source is not None
        line = b""
        until = time.monotonic() + _ANSWER_SECONDS
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise self._failed(f"no answer within {_ANSWER_SECONDS:g} s")
            try:
                read = os.read(source.fileno(), 4096)
            except ConnectionError:
                read = b""
            if not read:
                raise self._failed()
            line += read
        return line.decode().strip()

    def check(self) -> None:
        """Raises Unavailable if it has ended."""
        if self.process.poll() is not None:
            raise self._failed()

    def close(self) -> None:
        """Ends it: by the end of its input, or else by a signal."""
        if self._connection is not None:
            self._connection.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        for end in (self.process.terminate, self.process.kill):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_SECONDS)
                break
            end()
        self.process.wait()
        self._errors.file.close()

    def _accept(self, listener: socket.socket) -> socket.socket:
        ended = os.pidfd_open(self.process.pid)
        try:
            # Either comes, or the process ends.
            either = (listener.fileno(), ended)
            ready, _, _ = select.select(either, (), (), _ANSWER_SECONDS)
        finally:
            os.close(ended)
        if listener.fileno() not in ready:
            raise self._failed(None if ready else f"no connection within {_ANSWER_SECONDS:g} s")
        return listener.accept()[0]

    def _failed(self, why: str | None = None) -> Unavailable:
        """The error of a process that has ended, or that (`why`) cannot go on."""
        return Unavailable(f"{self._name}: {why or self._last_words()}")

    def _last_words(self) -> str:
        # They precede its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        said = self._errors.lines()
        if said:
            return said[-1].strip()
        status = self.process.poll()
        return "its output has ended" if status is None else how_ended(status)
