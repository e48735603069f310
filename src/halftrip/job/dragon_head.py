"""The head process of a Dragon runtime that measures: ``python -m halftrip.job.dragon_head TASK
JOB``, where JOB is the file with the job.

It starts the ranks, as processes of the runtime, and waits for them; or, where something else
starts them, it keeps the runtime up until the run has ended.
"""

from __future__ import annotations

import os
import select
import sys
import time

from halftrip.job.dragon_runtime import (
    AWAIT_END,
    END_PIPE,
    LEAVE_SECONDS,
    START_RANKS,
    START_SECONDS,
    remove_pools,
)
from halftrip.job.launchers.base import RANK_COMMAND
from halftrip.job.spec import RANK_VARIABLE, Job


def main() -> int:
    """Does the task that the command line names, and returns the exit status."""
    task, path = sys.argv[1:]
    # The environment of the launcher does not reach other nodes.
    job = Job.from_file(path)
    tasks = {START_RANKS: _start_ranks, AWAIT_END: _await_end}
    return tasks[task](job)


def _start_ranks(job: Job) -> int:
    """Starts the ranks on all nodes of the runtime, neighbours side by side. Returns 0 if all of
    them ended well."""
    # It must come first: it prepares multiprocessing for the rest.
    import dragon  # noqa: F401
    from dragon.infrastructure.policy import Policy
    from dragon.infrastructure.process_desc import ProcessOptions
    from dragon.native.machine import Node, System
    from dragon.native.process import Process

    hosts = [Node(node).hostname for node in System().nodes]
    program, *arguments = RANK_COMMAND
    ranks = [
        Process(
            target=program,
            args=arguments,
            env=job.environment() | {RANK_VARIABLE: str(rank)},
            # So that they can talk with the runtime, as processes that run Python functions can.
            options=ProcessOptions(make_inf_channels=True),
            policy=Policy(
                placement=Policy.Placement.HOST_NAME,
                host_name=hosts[rank * len(hosts) // job.ranks],
            ),
        )
        for rank in range(job.ranks)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return int(any(rank.returncode for rank in ranks))


def _await_end(job: Job) -> int:
    """Waits until the launcher closes its end of the pipe, or dies."""
    runtime, began = os.getppid(), time.time()
    with open(os.path.join(job.attach or "", END_PIPE), "rb") as end:
        end.read()
    if _has_ended(job.launcher):
        _outlive(runtime, began)
    return 0


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, perhaps without being waited for yet."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return True
    ended, _, _ = select.select([descriptor], [], [], 0.0)
    os.close(descriptor)
    return bool(ended)


def _outlive(runtime: int, began: float) -> None:
    """Leaves a process behind that removes what the runtime leaves of its pools: the launcher,
    which does that otherwise, is dead."""
    ended = os.pidfd_open(runtime)
    if os.fork():
        return
    os.setsid()
    select.select([ended], [], [], LEAVE_SECONDS)
    # Its pools are older than this process.
    remove_pools(runtime, began - START_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
