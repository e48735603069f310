"""The head process of a Dragon runtime that measures: ``python -m halftrip.job.dragon_head TASK
JOB``, where JOB is the file with the job.

It starts the ranks, as processes of the runtime, and waits for them; or, where something else
starts them, it keeps the runtime up until the run has ended.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import time

from halftrip.job.deaths import end_of
from halftrip.job.dragon_runtime import (
    AWAIT_END,
    END_PIPE,
    LEAVE_SECONDS,
    START_RANKS,
    START_SECONDS,
    remove_pools,
)
from halftrip.job.spec import RANK_COMMAND, RANK_VARIABLE, Job

# How long the other ranks may go on when one has failed, s: they are told to leave.
_FOLLOW_SECONDS = 2.5


def main() -> int:
    """Does the task that the command line names, and returns the exit status."""
    task, path = sys.argv[1:]
    # The environment of the launcher does not reach other nodes.
    job = Job.from_file(path)
    tasks = {START_RANKS: _start_ranks, AWAIT_END: _await_end}
    return tasks[task](job)


def _start_ranks(job: Job) -> int:
    """Starts the ranks on all nodes of the runtime, neighbours side by side. Returns 0 if all of
    them ended well, else the status of the first that did not, as shells have it."""
    # It must come first: it prepares multiprocessing for the rest.
    import dragon  # noqa: F401
    from dragon.globalservices.process import multi_join
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
    running = {rank.puid: number for number, rank in enumerate(ranks)}
    status = 0
    while running:
        ended, _ = multi_join(list(running), timeout=_FOLLOW_SECONDS if status else None)
        if ended is None:
            break
        for puid, code in ended:
            number = running.pop(puid)
            if code and not status:
                status = code if code > 0 else 128 - code
                print(end_of(number, code), file=sys.stderr)
    return status


def _await_end(job: Job) -> int:
    """Waits until the launcher writes to the pipe, or dies."""
    runtime, began = os.getppid(), time.time()
    directory = job.attach or ""
    # Without waiting for a writer: the launcher may be dead already.
    end = os.open(os.path.join(directory, END_PIPE), os.O_RDONLY | os.O_NONBLOCK)
    try:
        said = os.read(end, 1)
    except BlockingIOError:
        select.select([end], [], [])
        said = os.read(end, 1)
    if not said:
        _outlive(runtime, began, directory)
    return 0


def _outlive(runtime: int, began: float, directory: str) -> None:
    """Leaves a process behind that removes what the runtime leaves of its pools, and its directory:
    the launcher, which does that otherwise, is dead."""
    ended = os.pidfd_open(runtime)
    if os.fork():
        return
    os.setsid()
    # The runtime reads what its processes print until nobody can print any more.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    select.select([ended], [], [], LEAVE_SECONDS)
    # Its pools are older than this process.
    remove_pools([runtime], began - START_SECONDS)
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
