"""Environment variables and ways to start ranks, measured against each other by real ranks."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from halftrip.mpi.launcher import library_beside
from halftrip.results.run_file import load
from harness.ssh import stand_in
from harness.victim import Victim

QUICK = ("-t", "shm", "-s", "8,64", "--time", "10ms", "-r", "2", "--ci", "none")
VARIABLE = "MY_SETTING"
VARY = ("--vary", f"env.{VARIABLE}=slow,unset,a b")
MPIS = ("mpiexec.openmpi", "mpiexec.mpich")


def variant(value, name=f"env.{VARIABLE}"):
    return ((name, value),)


def seen_by_ranks(run):
    """What the ranks of each variant have seen of the variable."""
    found = {}
    for each in run.environments:
        value = each.variables.get(VARIABLE)
        found.setdefault(run.variant_of[each.launch], set()).add(value)
    return found


@pytest.mark.extended
def test_a_variable_reaches_every_rank_of_its_launches(shell):
    """That of the user's own comes back for no launch."""
    result = shell.run(*QUICK, *VARY, "--launches", "2", **{VARIABLE: "mine"})
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert run.interrupted is None
    assert seen_by_ranks(run) == {
        variant("slow"): {"slow"}, variant("unset"): {None}, variant("a b"): {"a b"},
    }  # fmt: skip
    assert [launch.number for launch in run.launches] == list(range(6))
    assert sorted((launch.round, launch.variant) for launch in run.launches) == [
        (number, variant(value)) for number in range(2) for value in ("a b", "slow", "unset")
    ]
    for measurement in run.measurements:
        assert measurement.configuration.variant == run.variant_of[measurement.launch]
    assert run.header.plan["vary"] == {f"env.{VARIABLE}": ["slow", "unset", "a b"]}
    assert len({e.pid for e in run.environments}) == 12
    # Side by side in the table, a column in CSV, a field in JSON.
    heads = [line for line in result.out.splitlines() if line.startswith("transport")]
    assert [line.split()[2] for line in heads] == ["slow"]
    rows = list(csv.DictReader(io.StringIO(result.show("--format", "csv").out)))
    assert [row["variant"] for row in rows] == [
        f"env.{VARIABLE} {value}" for value in ("a b", "slow", "unset") for _ in (8, 64)
    ]
    assert VARIABLE in result.show("--details").out
    found = json.loads(result.show("--format", "json").out)
    assert {row["variant"] for row in found["rows"]} == {row["variant"] for row in rows}
    assert found["failed_launches"] == []


def test_cores_are_varied_in_a_plan(shell):
    (shell.directory / "plan.toml").write_text('[vary]\ncores = ["0,1", [1, 0], "none"]\n')
    result = shell.run("plan.toml", *QUICK)
    assert (result.status, result.err) == (0, "")
    ranks = {
        variant[0][1]: [each.core for each in found]
        for variant, found in result.run.first_environments.items()
    }
    assert ranks == {"0,1": [0, 1], "1,0": [1, 0], "none": [None, None]}
    # The heading names no cores that only some launches had.
    assert "cores 0 and 1" not in result.out.splitlines()[0]


@pytest.mark.extended
def test_one_mpi_against_the_other_is_one_command_and_one_table(shell):
    result = shell.run(
        *("-t", "mpi", "-s", "8,64K", "--time", "10ms", "-r", "2"),
        *("--vary", f"mpiexec={','.join(MPIS)}"),
    )
    assert (result.status, result.err) == (0, "")
    software = {v[0][1]: ranks[0].mpi for v, ranks in result.run.first_environments.items()}
    assert software["mpiexec.openmpi"].startswith("Open MPI")
    assert software["mpiexec.mpich"].startswith("MPICH")
    (head,) = (line for line in result.out.splitlines() if line.startswith("transport"))
    assert [word for word in head.split() if word.startswith("mpiexec.")] == list(MPIS)
    for name in MPIS:
        assert f"{name}: {software[name]}" in result.out
    rows = [line.split() for line in result.out.splitlines() if line.startswith("mpi ")]
    assert [row[1] for row in rows] == ["8", "64K"]


@pytest.mark.extended
@pytest.mark.parametrize("name", MPIS)
def test_a_variable_reaches_the_ranks_of_an_mpiexec(shell, name):
    result = shell.run(*QUICK, *VARY, "--mpiexec", name)
    assert (result.status, result.err) == (0, "")
    assert seen_by_ranks(result.run) == {
        variant("slow"): {"slow"}, variant("unset"): {None}, variant("a b"): {"a b"},
    }  # fmt: skip


@pytest.mark.extended
def test_a_variable_reaches_ranks_on_other_hosts(shell, tmp_path):
    """An ssh passes no variable on."""
    ssh = tmp_path / "ssh-without"
    ssh.write_text(f'#!/bin/bash\nunset {VARIABLE}\nexec {stand_in(tmp_path)} "$@"\n')
    ssh.chmod(0o755)
    result = shell.run(*QUICK, *VARY, "-t", "tcp", "--hosts", "a,b", "--ssh", ssh)
    assert (result.status, result.err) == (0, "")
    assert seen_by_ranks(result.run) == {
        variant("slow"): {"slow"}, variant("unset"): {None}, variant("a b"): {"a b"},
    }  # fmt: skip


@pytest.mark.extended
def test_a_variable_that_does_not_reach_a_rank_fails_its_launch(shell, tmp_path):
    """An mpiexec that passes nothing on: the comparison would be one with itself."""
    mpiexec = tmp_path / "bin" / "mpiexec"
    mpiexec.parent.mkdir()
    real = shutil.which("mpiexec.mpich")
    mpiexec.write_text(f'#!/bin/bash\nunset {VARIABLE}\nexec {real} "$@"\n')
    mpiexec.chmod(0o755)
    # The library is looked for beside an mpiexec.
    (tmp_path / "lib").mkdir()
    library = library_beside(Path(real), "mpich")
    (tmp_path / "lib" / library.name).symlink_to(library)
    result = shell.run(*QUICK, "--vary", f"env.{VARIABLE}=x,unset", "--mpiexec", mpiexec)
    assert result.status == 1
    (failure,) = result.run.launch_failures
    assert failure.variant == variant("x")
    assert f"the variable {VARIABLE} has not reached it" in failure.reason


@pytest.mark.extended
def test_a_combination_that_fails_is_named_and_the_others_go_on(shell):
    options = ("--vary", "launcher=local,mpiexec", "--vary", f"env.{VARIABLE}=1,2")
    result = shell.run(*QUICK, *options, **no_mpiexec(shell))
    assert result.status == 1
    run = result.run
    assert run.interrupted is None
    failed = {dict(each.variant)["launcher"] for each in run.launch_failures}
    assert failed == {"mpiexec"}
    assert len(run.launch_failures) == 2
    measured = {dict(m.configuration.variant)["launcher"] for m in run.measurements}
    assert measured == {"local"}
    for value in "12":
        assert f"failed: {VARIABLE} {value}, launcher mpiexec: no mpiexec" in result.out
    found = json.loads(result.show("--format", "json").out)["failed_launches"]
    assert [each["variant"] for each in found] == [
        f"env.{VARIABLE} {dict(each.variant)[f'env.{VARIABLE}']}, launcher mpiexec"
        for each in run.launch_failures
    ]
    # It is tried again, and now it works.
    (shell.directory / "sitecustomize.py").unlink()
    again = shell.halftrip("run", "--resume", shell.path)
    assert again.status == 0, again.err
    run = load(shell.path)
    assert len(run.by_configuration) == 8


def no_mpiexec(shell):
    """An environment in which no mpiexec is found beside this Python either."""
    return shell.patched(
        "import shutil\n"
        "found = shutil.which\n"
        "shutil.which = lambda name, *more, **named: "
        "None if name == 'mpiexec' else found(name, *more, **named)\n"
    )


def test_where_all_combinations_are_mistakes_there_is_no_file(shell):
    result = shell.run(*QUICK, "--vary", "mpiexec=none-such,nor-this")
    assert result.status == 2
    assert result.err.count("\n") == 1
    for name in ("none-such", "nor-this"):
        assert f"mpiexec {name}: --mpiexec: '{name}' is not a program" in result.err
    assert not shell.path.exists()


@pytest.mark.extended
def test_an_interrupted_run_goes_on_with_what_each_combination_lacks(shell):
    victim = Victim(
        shell,
        *("-t", "shm", "-s", "8,64", "--ci", "none", "--time", "0.3s", "-r", "10"),
        *("--vary", f"env.{VARIABLE}=a,b,c", "--launches", "2"),
    )
    victim.await_launch(3)
    victim.interrupt()
    before = load(shell.path)
    assert before.interrupted == "stopped by SIGINT"
    result = shell.halftrip("run", "--resume", shell.path)
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert run.interrupted is None
    # A busy machine gets fewer slices than planned: the last that has begun may be over.
    *done, last = [(each.round, each.variant) for each in before.launches]
    later = [(each.round, each.variant) for each in run.launches[len(before.launches) :]]
    everything = {(number, variant(x)) for number in range(2) for x in "abc"}
    assert set(later) | {last} == everything - set(done)
    assert len(later) == len(set(later))
    numbers = [each.number for each in run.launches]
    assert numbers == sorted(set(numbers))
    round_of = {each.number: each.round for each in run.launches}
    for found in run.by_configuration.values():
        assert {round_of[measurement.launch] for measurement in found} == {0, 1}


@pytest.mark.extended
def test_max_duration_is_that_of_all_launches(shell):
    options = ("-t", "shm", "-s", "8", "--ci", "none", "--time", "60s", "--max-duration", "6s")
    result = shell.run(*options, *VARY)
    assert result.status == 0, result.err
    assert {m.configuration.variant for m in result.run.measurements} == {
        variant("slow"), variant("unset"), variant("a b"),
    }  # fmt: skip


def test_a_job_that_exists_has_one_environment(shell):
    joined = {"PMI_RANK": "0", "PMI_SIZE": "2"}
    result = shell.run(*QUICK, *VARY, timeout=60, **joined)
    assert result.status == 2
    assert "--vary: this job was started once, with one environment" in result.err


@pytest.mark.extended
def test_progress_says_which_combination(shell):
    result, seen = shell.on_a_terminal(
        *QUICK, "--time", "0.3s", "--vary", f"env.{VARIABLE}=one,two"
    )
    assert result.status == 0
    assert f"launch 1 of 2 · env.{VARIABLE} ".encode() in seen
    assert f"launch 2 of 2 · env.{VARIABLE} ".encode() in seen
