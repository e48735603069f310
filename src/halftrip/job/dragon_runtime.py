"""Starts a Dragon runtime for the ranks of a job: one that starts them, or one beside another
launcher, to which they attach."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from halftrip.dragon.command import RuntimeCommand, reason, runtime_command, telling
from halftrip.dragon.process import attachment, is_pool_of, spans_nodes
from halftrip.errors import Stopped, Unavailable
from halftrip.interpreter import RUN_MODULE
from halftrip.job import deaths, shm_cleanup
from halftrip.job.processes import POLL_SECONDS, ProcessOutput, Started, job_processes
from halftrip.job.spec import Job

# What the head process of the runtime does: see dragon_head.
START_RANKS, AWAIT_END = "start-ranks", "await-end"
# The pipe in its directory that tells a head process that waits when to end.
END_PIPE = "end"
_ATTACH_FILE, _JOB_FILE = "attach_info.txt", "job"
# How long a runtime may take to start, and to end, s: on one node, where both take one or two if
# the machine is idle, and on several, where the start takes 30 to 40 without a fast network.
START_SECONDS = 15.0
NODES_START_SECONDS = 180.0
LEAVE_SECONDS = 4.0
NODES_LEAVE_SECONDS = 8.0
# How long its processes may take to be gone after it, s.
_UNMAP_SECONDS = 2.0


class Runtime(NamedTuple):
    """A runtime that has been started: its process, its name in messages, and what it prints."""

    process: subprocess.Popen[bytes]
    name: str
    output: ProcessOutput


def start(
    command: RuntimeCommand | None,
    task: str,
    job: Job,
    directory: str,
    started: Started,
    *options: str,
) -> Runtime:
    """Starts a runtime whose head process does `task`, or, where `command` is None, that head
    process in the runtime that there is. All nodes have to reach the empty `directory`, which only
    this user may read. Raises what Started.add does."""
    output = ProcessOutput(telling, reason)
    began = time.time()
    path = Path(directory, _JOB_FILE)
    job.write(path)
    words = (*command.words, *options) if command is not None else ()
    environment = dict(os.environ) if command is None else command.environment(os.environ)
    process = subprocess.Popen(
        (*words, *RUN_MODULE, "halftrip.job.dragon_head", task, str(path)),
        env=environment | job.environment() | attachment(job.attach, job.token),
        # Where it writes its logs, on all nodes.
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=output.file,
        stderr=output.file,
        # Signals of a terminal do not reach it. A leader of a session could not start: it leads a
        # group again.
        process_group=0,
    )
    if command is not None:
        started.pool_makers.add(process.pid)
        started.until_end.callback(remove_pools, started.pool_makers, began)
    spans = spans_nodes() if command is None else command.spans_nodes
    started.spans_nodes = spans
    started.leave_seconds = max(
        started.leave_seconds, NODES_LEAVE_SECONDS if spans else LEAVE_SECONDS
    )
    runtime = Runtime(process, f"dragon (process {process.pid})", output)
    started.add(process, runtime.name, output)
    return runtime


def remove_pools(pids: Collection[int], since: float) -> None:
    """Removes what these processes of a runtime have left of their pools, as soon as no process
    maps them: those that it has started may outlive it for a moment."""
    is_pool = partial(is_pool_of, pids=pids)
    deadline = time.monotonic() + _UNMAP_SECONDS
    while shm_cleanup.segments(is_pool) and time.monotonic() < deadline:
        shm_cleanup.remove(shm_cleanup.orphans(since, is_pool))
        time.sleep(POLL_SECONDS)


def start_beside(requested: str | None, job: Job, started: Started) -> Job:
    """Starts a runtime to which the ranks of `job` can attach. Returns the job with the directory
    that says how, or with why they cannot. Raises Stopped, and UsageError where what was
    requested is not a program."""
    # Others than this user must not attach.
    directory = tempfile.TemporaryDirectory(prefix="halftrip-dragon-", ignore_cleanup_errors=True)
    started.until_end.callback(directory.cleanup)
    try:
        command = runtime_command(requested, os.environ)
    except Unavailable as error:
        return msgspec.structs.replace(job, no_dragon=str(error))
    end_pipe = os.path.join(directory.name, END_PIPE)
    os.mkfifo(end_pipe)
    # Its head process reads it: a byte, or nothing once the only writer, this process, has died.
    writer = os.open(end_pipe, os.O_RDWR | os.O_CLOEXEC)
    started.until_finished.callback(os.close, writer)
    started.until_finished.callback(os.write, writer, b"e")
    beside = msgspec.structs.replace(job, attach=directory.name)
    runtime = start(command, AWAIT_END, beside, directory.name, started, "--attachable")
    problem = _await_start(runtime, os.path.join(directory.name, _ATTACH_FILE), started)
    if problem is not None:
        _kill(runtime, job.token, started)
        return msgspec.structs.replace(job, no_dragon=f"the Dragon runtime: {problem}")
    return msgspec.structs.replace(job, attach=directory.name)


def _await_start(runtime: Runtime, path: str, started: Started) -> str | None:
    """Waits until the runtime has written the file by which others attach; why it has not, or
    None. Raises Interrupted where a signal from outside has ended it, and Stopped where the run has
    ended meanwhile."""
    deadline = time.monotonic() + START_SECONDS
    while not os.path.exists(path):
        if started.stop_reason is not None:
            raise Stopped(started.stop_reason)
        status = runtime.process.poll()
        if status is not None:
            deaths.check_end(started, {})
            return runtime.output.reason() or f"{runtime.name} ended with status {status}"
        if time.monotonic() > deadline:
            said = runtime.output.reason()
            late = f"it did not start within {START_SECONDS:.0f} s"
            return f"{late}: {said}" if said else late
        time.sleep(POLL_SECONDS)
    return None


def _kill(runtime: Runtime, token: str, started: Started) -> None:
    """Ends a runtime that has not started, and forgets it."""
    for pid in {runtime.process.pid, *job_processes(token)}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    runtime.process.wait()
    del started.processes[runtime.process], started.outputs[runtime.name]
