"""Environment variables and ways to start ranks, measured against each other by real ranks."""

import json
import shutil
from pathlib import Path

import pytest

from halftrip.mpi.launcher import library_beside
from harness.ssh import stand_in

QUICK = ("-t", "shm", "-s", "8,64", "--time", "10ms", "-r", "2", "--ci", "none")
VARIABLE = "MY_SETTING"
VARY = ("--vary", f"env.{VARIABLE}=slow,unset,a b")


def variant(value, name=f"env.{VARIABLE}"):
    return ((name, value),)


EACH_OWN = {variant("slow"): {"slow"}, variant("unset"): {None}, variant("a b"): {"a b"}}


def seen_by_ranks(run):
    """What the ranks of each variant have seen of the variable."""
    found = {}
    for each in run.environments:
        value = each.variables.get(VARIABLE)
        found.setdefault(run.variant_of[each.launch], set()).add(value)
    return found


@pytest.mark.extended
@pytest.mark.parametrize("way", ["local", "openmpi", "mpich", "ssh"])
def test_a_variable_reaches_ranks_however_they_are_started(shell, tmp_path, way):
    """That of the user's own comes back for no launch."""
    options = () if way == "local" else ("--mpiexec", f"mpiexec.{way}")
    if way == "ssh":
        # It passes no variable on.
        script = f'#!/bin/bash\nunset {VARIABLE}\nexec {stand_in(tmp_path)} "$@"\n'
        ssh = shell.script("ssh-without", script)
        options = ("-t", "tcp", "--hosts", "a,b", "--ssh", ssh)
    run = shell.measure(
        *QUICK, *VARY, *options, "--launches", "2", **{VARIABLE: "mine"}, silent=True
    ).run
    assert run.interrupted is None
    assert seen_by_ranks(run) == EACH_OWN
    assert len(run.launches) == 6
    assert all(m.configuration.variant == run.variant_of[m.launch] for m in run.measurements)


@pytest.mark.extended
def test_a_variable_that_does_not_reach_a_rank_fails_its_launch(shell):
    """An mpiexec that passes nothing on: the comparison would be one with itself."""
    (shell.directory / "bin").mkdir()
    real = shutil.which("mpiexec.mpich")
    mpiexec = shell.script("bin/mpiexec", f'#!/bin/bash\nunset {VARIABLE}\nexec {real} "$@"\n')
    # The library is looked for beside an mpiexec.
    (shell.directory / "lib").mkdir()
    library = library_beside(Path(real), "mpich")
    (shell.directory / "lib" / library.name).symlink_to(library)
    result = shell.run(*QUICK, "--vary", f"env.{VARIABLE}=x,unset", "--mpiexec", mpiexec)
    assert result.status == 1
    (failure,) = result.run.launch_failures
    assert failure.variant == variant("x")
    assert f"the variable {VARIABLE} has not reached it" in failure.reason
    (found,) = json.loads(result.show("--format", "json").out)["failed_launches"]
    assert found["variant"] == f"env.{VARIABLE} x"
    assert f"failed: {VARIABLE} x: " in result.out
