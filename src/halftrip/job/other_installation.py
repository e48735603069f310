"""A launch that another installation of halftrip measures: its own ``halftrip run``, as a whole,
whose records become those of the launch."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from halftrip.errors import HalftripError, UsageError
from halftrip.job.deaths import LaunchFailed, how_ended
from halftrip.job.limit import TimeLimit
from halftrip.job.resumption import Due
from halftrip.job.series import LaunchTask
from halftrip.plan.layers import VARIABLE
from halftrip.plan.plan import MOST_LAUNCHES, Plan, plan_text
from halftrip.results import records
from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.network_path import Connection
from halftrip.results.reported import Variant
from halftrip.results.run import Run
from halftrip.results.run_file import encode, load
from halftrip.results.threshold import Threshold
from halftrip.texts import printable

# How often to look whether the time is over, and how long it may take to end, s.
_LOOK_SECONDS = 0.2
_LEAVE_SECONDS = 10.0
_LONGEST_REASON = 300


def words_of(command: str) -> list[str]:
    """The words of a command. Raises UsageError if its program cannot be run."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r}: {str(error).lower()}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"{command!r} is not a program that can be run")
    return words


def measure_elsewhere(command: str, plan: Plan, task: LaunchTask) -> None:
    """Has ``COMMAND run PLAN -o FILE`` measure the plan of one launch, and writes what is in its
    file as that launch. Raises HalftripError where it fails, and Stopped."""
    task.view.update(0, 1, f"all of it by {command}")
    with tempfile.TemporaryDirectory(prefix="halftrip-", ignore_cleanup_errors=True) as directory:
        path = Path(directory, "run.jsonl")
        planned = Path(directory, "plan.toml")
        planned.write_text(plan_text(_alone(plan, task.limit)), encoding="utf-8")
        with open(Path(directory, "output"), "w+b") as output:
            words = [*words_of(command), "run", str(planned), "-o", str(path)]
            code = _run(words, output, task.limit)
            said = _last_line(output)
        if not path.exists():
            raise LaunchFailed(f"{command}: {how_ended(code)}{said}")
        run = load(path)
    for record in _adopted(run, task.number, task.due):
        task.records.append(encode(record))
    if run.interrupted is not None:
        raise HalftripError(f"{command}: {run.interrupted}")
    assert run.end is not None
    task.records.append(encode(run.end), last=True)


def _alone(plan: Plan, limit: TimeLimit | None) -> Plan:
    """The plan of one launch for whom nothing is varied, and who judges nothing."""
    seconds = plan.max_duration if limit is None else limit.launch_left
    return msgspec.structs.replace(
        plan,
        vary=(),
        against=None,
        preset=None,
        launches=1,
        dealt=False,
        until_ci=False,
        max_launches=MOST_LAUNCHES,
        # Several launches measure all of it again already.
        retest=0 if plan.spans_hosts else plan.retest,
        expect=None,
        baseline=None,
        tolerance=None,
        max_duration=seconds,
    )


def _run(words: list[str], output: BinaryIO, limit: TimeLimit | None) -> int:
    """Runs a command to its end, and returns its status. Raises Stopped if the time is over."""
    process = subprocess.Popen(
        words,
        # The plan has what became of somebody's own defaults.
        env=os.environ | {VARIABLE: ""},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        while True:
            try:
                return process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if limit is not None and limit.left <= 0:
                    raise limit.error() from None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it as a user does, so that it ends its ranks."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(output: BinaryIO) -> str:
    """The last line that it has printed, for a message."""
    output.seek(0)
    lines = output.read().decode(errors="replace").strip().splitlines()
    return f": {printable(lines[-1], _LONGEST_REASON)}" if lines else ""


def _adopted(run: Run, number: int, due: Due) -> Iterator[records.Record]:
    """The records of a run as those of the launch of this number, without its beginning, its end
    and what is done already."""
    variant = due.variant
    for environment in run.environments:
        version = run.header.halftrip
        yield msgspec.structs.replace(environment, launch=number, halftrip=version)
    for skip in run.skips:
        yield msgspec.structs.replace(skip, variant=variant)
    rows: tuple[records.Measurement | records.Failure | records.Aggregate, ...]
    rows = (*run.measurements, *run.failures, *run.aggregates)
    for each in rows:
        configuration = msgspec.structs.replace(each.configuration, variant=variant)
        if configuration not in due.done:
            yield msgspec.structs.replace(each, configuration=configuration, launch=number)
    for counters in run.host_counters:
        named = [_varied(each, variant) for each in counters.configurations]
        yield msgspec.structs.replace(counters, configurations=named, launch=number)
    others: tuple[
        Connection | Carrier | Threshold | records.ClockComparison | records.Notice,
        ...,
    ]
    others = (
        *run.connections,
        *run.carriers,
        *run.thresholds,
        *run.clock_comparisons,
        *run.notices,
    )
    for found in others:
        yield msgspec.structs.replace(found, launch=number)
    for lost in run.lost:
        yield msgspec.structs.replace(lost, launch=number)
    for device in run.devices:
        yield msgspec.structs.replace(device, launch=number)
    yield from run.copy_times
    yield from run.device_copies
    yield from run.device_latencies


def _varied(configuration: Configuration, variant: Variant) -> Configuration:
    return msgspec.structs.replace(configuration, variant=variant)
