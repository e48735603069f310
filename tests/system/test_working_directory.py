"""What lies in the working directory, where anybody may have put it, is not run as a module."""

import sys

import pytest

from harness.choice import extended
from harness.mpi import MPIEXECS
from harness.shell import HALFTRIP

# Modules that halftrip, or what it uses, imports.
NAMES = ("numpy", "signal", "msgspec", "mpi4py", "shutil", "dragon", "zmq")
BRIEFLY = ("-s", "8", "--time", "5ms", "--slices", "1")


@pytest.fixture
def littered(shell):
    """A shell whose directory has a module of each name, which says that it was run."""
    for name in NAMES:
        text = f"open({str(shell.directory / 'was-run')!r}, 'a').write({name + ' '!r})\n"
        (shell.directory / f"{name}.py").write_text(text)
    yield shell
    assert not (shell.directory / "was-run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-t", "shm,tcp,zmq", "--launcher", "local"),
        *extended(
            (("-t", "mpi,mpi4py"),),
            (("-t", "mpi", "--mpiexec", MPIEXECS["mpich"]),),
            (("-t", "dragon"),),
            (("-t", "shm,dragon", "--launcher", "local"),),
        ),
    ],
    ids=" ".join,
)
def test_ranks_import_nothing_from_it(littered, arguments):
    result = littered.measure(*arguments, *BRIEFLY)
    assert result.run.skips == ()


@pytest.mark.parametrize("prefix", [(sys.executable, "-m", "halftrip"), *extended(((HALFTRIP,),))])
def test_commands_import_nothing_from_it(littered, prefix):
    assert littered.execute(*prefix, "doctor").status in (0, 1)
    assert littered.execute(*prefix, "recipes").status == 0
