"""What every launcher does: say whether it can be used here, and start ranks."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod

from halftrip.control.protocol import Listener, Reach
from halftrip.job.processes import Started
from halftrip.job.spec import Job
from halftrip.plan.plan import Plan

# What a rank runs.
RANK_COMMAND = (sys.executable, "-m", "halftrip.job.worker")


class Launcher(ABC):
    """One way to start ranks. Made only where it can be used: raises Unavailable if not."""

    @abstractmethod
    def __init__(self, plan: Plan) -> None: ...

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """From where its ranks have to be able to connect."""

    @abstractmethod
    def job(self, listener: Listener, token: str, ranks: int) -> Job:
        """What its ranks are told."""

    @abstractmethod
    def start(self, job: Job, started: Started) -> None:
        """Starts the ranks and notes each process in `started` as soon as it is there. They get no
        input, and no signal that is meant for this process. Raises what Started.add does, OSError
        if there is no such program."""
