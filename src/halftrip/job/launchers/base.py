"""The interface of a launcher: it says whether it can be used here, and starts ranks."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from halftrip.control.listener import Listener, Reach
from halftrip.job.processes import Started
from halftrip.job.spec import Job, new_token
from halftrip.plan.plan import Plan


class Launcher(ABC):
    """One way to start ranks. The constructor raises Unavailable if it cannot be used here.
    `starts_dragon`: its ranks are processes of a Dragon runtime. `may_fork`: its ranks may be forks
    of one process, since they have the environment of this one."""

    starts_dragon: bool = False
    may_fork: bool = False

    @cached_property
    def token(self) -> str:
        """The token of the job."""
        return new_token()

    @abstractmethod
    def __init__(self, plan: Plan) -> None: ...

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """From where its ranks connect."""

    @property
    def hosts(self) -> Sequence[str]:
        """The host of each rank, if ranks go on where another host is lost; else none."""
        return ()

    @property
    def job_fields(self) -> Mapping[str, Any]:
        """What its ranks have to know of it: fields of a Job."""
        return {}

    def job(self, listener: Listener, ranks: int, absent: dict[int, str]) -> Job:
        """The job as its ranks see it."""
        return Job(
            address=listener.address,
            token=self.token,
            launcher=os.getpid(),
            ranks=ranks,
            absent=absent,
            **self.job_fields,
        )

    @abstractmethod
    def start(self, job: Job, started: Started) -> None:
        """Starts the ranks, and adds each process to `started` at once. They get no input, and no
        signal that a terminal sends to this process. Raises what Started.add does, and OSError if
        a program is missing."""
