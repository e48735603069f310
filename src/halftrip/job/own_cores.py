"""The cores of the launcher's own process: beside those that its ranks time on, while they do."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Set

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.records import Environment
from halftrip.results.run_file import environments_in
from halftrip.telemetry import environment
from halftrip.telemetry.topology import Core, beside, core_of


class OwnCores:
    """Keeps this thread off the cores of its ranks, where it may use others, from when they have
    said which these are until the end of `lent`. They have chosen by then: what it starts before
    or after that inherits all of its cores. Other threads of this process are their owners'."""

    def __init__(self, reader: Reader = HOST_FILES) -> None:
        self._reader = reader
        self._timed: set[int] = set()
        self._known: dict[int, Core] = {}
        self._is_lent = False
        # The cores that this thread had, and those that it has meanwhile.
        self._before: set[int] | None = None
        self._meanwhile: set[int] | None = None

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """All cores are this process's again at the end."""
        self._is_lent = True
        try:
            yield
        finally:
            self._is_lent = False
            self._take_back()

    @contextlib.contextmanager
    def taken_back(self) -> Iterator[None]:
        """Meanwhile this process has all of its cores: it may start others."""
        self._take_back()
        try:
            yield
        finally:
            self._step_aside()

    def note(self, lines: bytes) -> None:
        """Takes lines of the run file: those of environments name cores."""
        host = environment.host()
        found = environments_in(lines.splitlines(keepends=True))
        timed = set().union(*(_cores(each) for each in found if each.host == host))
        if not timed <= self._timed:
            self._timed |= timed
            self._step_aside()

    def _step_aside(self) -> None:
        if not (self._is_lent and self._timed):
            return
        # Cores that a container has just lost.
        with contextlib.suppress(OSError):
            before = self._before or os.sched_getaffinity(0)
            left = beside(self._cores_of(before), self._cores_of(self._timed))
            if left != os.sched_getaffinity(0):
                os.sched_setaffinity(0, left)
                self._before, self._meanwhile = before, left

    def _cores_of(self, numbers: Set[int]) -> list[Core]:
        for number in numbers - self._known.keys():
            self._known[number] = core_of(number, self._reader)
        return [self._known[number] for number in numbers]

    def _take_back(self) -> None:
        before, self._before = self._before, None
        # Nobody else has given this thread other cores.
        if before is not None and os.sched_getaffinity(0) == self._meanwhile:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, before)


def _cores(found: Environment) -> set[int]:
    """The cores on which a rank may time something."""
    cores = found.thread_cores or [found.core]
    named = {core for core in cores if core is not None}
    # The scheduler may give a thread without a core any of them.
    return named | set(found.allowed_cores) if None in cores else named
