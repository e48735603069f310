"""Several launches of fresh processes into one file."""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

from halftrip.analysis.summaries import summarize_case
from halftrip.stats.summary import relative_width
from halftrip.stats.variance import launch_interval
from harness.shell import mpiexec

QUICK = ("--time", "10ms")

SIMULATED = """
sizes = "{sizes}"
[simulated]
latency = "2us"
noise = {{ kind = "lognormal", spread = 0.02 }}
launch = {launch}
"""


def plan(shell, launch=0.0, sizes="8"):
    path = shell.directory / "simulated.toml"
    path.write_text(SIMULATED.format(launch=launch, sizes=sizes))
    return str(path)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_launch_is_of_fresh_processes(shell):
    result = shell.run("-t", "shm,udp", "-s", "8,128K", "--launches", "3", "-r", "2", *QUICK)
    assert result.status == 0, result.err
    run = result.run
    done = [(m.launch, m.repetition, m.case.transport, m.case.size) for m in run.measurements]
    cases = [("shm", 8), ("shm", 128 << 10), ("udp", 8)]
    assert sorted(done) == sorted((k, r, *c) for k in range(3) for r in range(2) for c in cases)
    # One launch after the other, as they stand in the file.
    assert [k for k, *_ in done] == sorted(k for k, *_ in done)
    assert [(e.launch, e.rank) for e in run.environments] == [
        (k, r) for k in range(3) for r in (0, 1)
    ]
    assert len({e.pid for e in run.environments}) == 6
    kinds = [record["record"] for record in records(result.path)]
    assert kinds.count("run") == kinds.count("end") == kinds.count("skip") == 1
    assert kinds[-1] == "end"
    assert result.out.count("not measured: udp 128K") == 1
    assert run.interrupted is None
    assert run.end.seconds > run.end.timed > 0
    # However often they were measured.
    assert len(run.copy_times) == 15
    assert result.out.count("bound: memcpy") == result.out.count(" 32M ") == 1


def test_the_interval_is_over_the_medians_of_launches(shell):
    result = shell.run(plan(shell, 0.05), "--launches", "7", "-r", "2", *QUICK)
    assert result.status == 0, result.err
    ((case, measurements),) = result.run.by_case.items()
    assert case.transport == "simulated"
    assert len(measurements) == 14
    medians = [
        float(np.median([np.median(m.series.times) for m in measurements if m.launch == k]))
        for k in range(7)
    ]
    # Each launch has a factor of its own.
    assert len({round(median) for median in medians}) == 7
    summary = summarize_case(measurements)
    interval = launch_interval(medians)
    assert (
        (summary.low, summary.high) == (interval.low, interval.high) == (min(medians), max(medians))
    )
    assert summary.latency == float(np.median(medians))
    row = json.loads(shell.halftrip("show", "run.jsonl", "--style", "json").out)["rows"][0]
    assert row["low_ns"] == interval.low


def test_launches_draw_orders_of_their_own(shell):
    result = shell.run(plan(shell, sizes="1..4M"), "--launches", "2", *QUICK)
    orders = [[m.case.size for m in result.run.measurements if m.launch == k] for k in range(2)]
    assert len(orders[0]) == 23
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_a_rank_that_dies_in_the_second_launch_ends_the_run_and_the_first_stays(shell):
    with started(
        shell, "-t", "shm", "-s", "8", "--launches", "3", "--ci", "none", "--time", "1s"
    ) as process:
        pids = await_launch(shell, 1)
        os.kill(pids[1], signal.SIGKILL)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    run = shell_run(shell)
    assert [m.launch for m in run.measurements] == [0]
    reason = f"rank 1 (process {pids[1]}) was killed by SIGKILL"
    assert run.interrupted == reason
    assert err == f"halftrip: {reason}\n"


def test_an_interrupt_in_the_second_launch(shell):
    with started(
        shell, "-t", "shm", "-s", "8", "--launches", "3", "--ci", "none", "--time", "1s"
    ) as process:
        await_launch(shell, 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    run = shell_run(shell)
    assert [m.launch for m in run.measurements] == [0]
    assert run.interrupted == "stopped by SIGINT"
    assert err == "halftrip: stopped by SIGINT\n"
    assert "interrupted: stopped by SIGINT" in out


def test_a_launch_that_does_not_start_is_named(shell):
    """The mpiexec works once."""
    script = shell.directory / "mpiexec-once"
    script.write_text(
        f'#!/bin/sh\ncd "{shell.directory}"\n'
        # To be asked for its version is no launch.
        'case "$*" in *halftrip.job.worker*)\n'
        '[ -e used ] && { echo "no more slots" >&2; exit 3; }; touch used;; esac\n'
        f'exec {mpiexec("openmpi")} "$@"\n'
    )
    script.chmod(0o755)
    result = shell.run("-t", "shm", "-s", "8", "--launches", "3", "--mpiexec", str(script), *QUICK)
    assert result.status == 1
    assert re.search(
        r"halftrip: launch 2: mpiexec-once .* ended with status 3: no more slots", result.err
    )
    assert [m.launch for m in result.run.measurements] == [0]
    assert "launch 2: mpiexec-once" in result.run.interrupted


@pytest.mark.parametrize("name", ["wheel", "mpich"])
def test_an_mpiexec_starts_every_launch(shell, name):
    result = shell.run(
        *("-t", "mpi", "-s", "8", "--launches", "2", *QUICK), "--mpiexec", mpiexec(name)
    )
    assert result.status == 0, result.err
    assert [m.launch for m in result.run.measurements] == [0, 1]
    assert len({e.pid for e in result.run.environments}) == 4


def test_launches_go_on_until_the_interval_is_narrow(shell):
    result = shell.run(plan(shell, 0.02), "--until-ci", "--ci", "2%", *QUICK)
    assert result.status == 0, result.err
    ((_, measurements),) = result.run.by_case.items()
    launches = {m.launch for m in measurements}
    count = len(launches)
    assert launches == set(range(count))
    assert 3 <= count < 30

    def width(most):
        return relative_width(summarize_case([m for m in measurements if m.launch < most]))

    assert width(count) <= 0.02
    # It stopped as soon as it could.
    assert all(width(most) > 0.02 for most in range(3, count))


def test_launches_end_where_they_have_to(shell):
    result = shell.run(plan(shell, 0.2), "--until-ci", "--max-launches", "4", *QUICK)
    assert result.status == 0, result.err
    assert [m.launch for m in result.run.measurements] == [0, 1, 2, 3]
    assert result.run.interrupted is None
    assert "not-converged" in result.out


@pytest.mark.parametrize("option", [("--launches", "2"), ("--until-ci",)])
def test_a_job_that_was_started_once_is_launched_once(shell, option):
    result = shell.run("-t", "shm", "-s", "8", *option, prefix=(mpiexec("openmpi"), "-n", "2"))
    assert result.status == 2
    said = f"halftrip: {option[0]}: this job was started once; start it again as often by itself"
    assert result.err.splitlines()[0] == said
    assert result.err.count("halftrip:") == 1
    assert not result.path.exists()


def test_progress_says_which_launch_it_is(shell):
    seen = shell.on_a_terminal("-t", "shm", "-s", "1..64", "--launches", "2")
    for number in (1, 2):
        assert f"launch {number}/2 shm pingpong".encode() in seen


# Processes that go on while a test does something to them.


def started(shell, *arguments):
    return subprocess.Popen(
        shell.command("run", "-o", "run.jsonl", *arguments),
        cwd=shell.directory,
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def shell_run(shell):
    from halftrip.results.run_file import load

    return load(shell.directory / "run.jsonl")


def await_launch(shell, number, seconds=30.0):
    """The processes of that launch, by rank, as soon as they measure."""
    path = shell.directory / "run.jsonl"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists():
            here = [e for e in shell_run(shell).environments if e.launch == number]
            if len(here) == 2:
                return {e.rank: e.pid for e in here}
        time.sleep(0.02)
    pytest.fail(f"launch {number} does not come")
