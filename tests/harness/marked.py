"""The processes of one test, whoever their parents are: a mark in their environment tells them from
all others on this host, and so from those of another test run."""

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path

_VARIABLE = "HALFTRIP_TEST_MARK"
_PROC = Path("/proc")
_SHARED_MEMORY = "/dev/shm/"
_END_SECONDS = 10.0


class Marked:
    """The processes that are started with `environment`, and their segments of shared memory."""

    def __init__(self):
        mark = uuid.uuid4().hex
        self.environment = {_VARIABLE: mark}
        self._entry = f"{_VARIABLE}={mark}".encode()
        self._segments = set()
        self._sockets = set()

    def processes(self):
        """Their command lines by process number. One that has ended and is not yet waited for is
        not among them."""
        found = {}
        for name in os.listdir(_PROC):
            if name.isdigit() and self._is_ours(name):
                with contextlib.suppress(OSError):
                    words = (_PROC / name / "cmdline").read_bytes().split(b"\0")
                    found[int(name)] = b" ".join(words).decode(errors="replace").strip()
        return found

    def note_segments(self):
        """Notes the named segments that they map now. Each is noted that is mapped at some time
        when this is called: what a killed rank leaves behind has no other sign of whose it was."""
        for pid in self.processes():
            with contextlib.suppress(OSError):
                lines = (_PROC / str(pid) / "maps").read_text(errors="replace").splitlines()
                paths = [line.split(maxsplit=5)[-1] for line in lines if _SHARED_MEMORY in line]
                self._segments |= {path for path in paths if not path.endswith("(deleted)")}

    def segments(self):
        """The noted segments that still exist."""
        return sorted(path for path in self._segments if os.path.exists(path))

    def note_sockets(self):
        """Notes the abstract sockets that they hold now."""
        self._sockets |= set(self.sockets())

    def sockets(self):
        """The abstract sockets of halftrip that they hold: how many connections each name has."""
        held = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                held |= {os.readlink(link) for link in (_PROC / str(pid) / "fd").iterdir()}
        found = {}
        for state, inode, name in _abstract_sockets():
            if f"socket:[{inode}]" in held:
                found[name] = found.get(name, 0) + (state == _CONNECTED)
        return found

    def await_end(self, seconds):
        """Waits until none is left, nor what has been noted, at most so long; what is left, in
        words."""
        deadline = time.monotonic() + seconds
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def _left(self):
        processes = [f"process {pid} ({words})" for pid, words in self.processes().items()]
        sockets = self._sockets and self._sockets & {name for _, _, name in _abstract_sockets()}
        return [*processes, *self.segments(), *sorted(sockets)]

    def end(self):
        """Kills all that are left, and what they start meanwhile, and removes their segments."""
        deadline = time.monotonic() + _END_SECONDS
        while (pids := self.processes()) and time.monotonic() < deadline:
            for pid in pids:
                self._kill(pid)
        for path in self.segments():
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _kill(self, pid):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                # The number may have become another's.
                if self._is_ours(str(pid)):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)

    def _is_ours(self, name):
        try:
            return self._entry in (_PROC / name / "environ").read_bytes().split(b"\0")
        except OSError:
            return False


_CONNECTED = "03"


def _abstract_sockets():
    """The state, inode and name of every abstract Unix socket of halftrip in this namespace."""
    lines = (_PROC / "net/unix").read_text().splitlines()
    fields = [line.split() for line in lines if "@halftrip-" in line]
    return [(words[5], words[6], words[7]) for words in fields]
