"""An mpiexec that is missing, fails or complains: the reason is given once, and where nobody asked
for it the rest is measured."""

import re
import shlex
import sys

import pytest

from halftrip.interpreter import install_command
from harness.choice import extended
from harness.flags import verdicts_of
from harness.mpi import AS_ROOT, ONE_HOST, chosen, job, mpiexec, quick_start

QUICK = ("-s", "8", "--time", "10ms")


def found_instead(shell, script, interpreter="/bin/sh"):
    """An environment in which the mpiexec that is found by itself is this script."""
    shell.script("mpiexec", f"#!{interpreter}\n{script}\n")
    return ONE_HOST | shell.patched(
        "import shutil\n"
        "which = shutil.which\n"
        f"instead = {str(shell.directory / 'mpiexec')!r}\n"
        "shutil.which = lambda name, **more: (\n"
        "    instead if name == 'mpiexec' else which(name, **more)\n"
        ")\n"
    )


def test_what_an_mpiexec_says_when_it_fails_is_why_mpi_is_skipped(shell):
    broken = found_instead(shell, "echo '-----' >&2; echo 'There are not enough slots' >&2; exit 3")
    result = shell.run("-t", "mpi,mpi4py,shm", *QUICK, **broken)
    assert result.status == 0
    assert {m.configuration.transport for m in result.run.measurements} == {"shm"}
    ended = r"mpiexec \(process \d+\) ended with status 3: There are not enough slots"
    assert re.search(f"not measured: mpi, mpi4py: {ended}", result.out)


@pytest.mark.extended
def test_without_mpi4py_mpi_is_skipped_with_how_to_get_it(shell):
    without = shell.patched(
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'mpi4py' else "
        "find(name, *more)\n"
    )
    result = shell.run("-t", "mpi,shm", *QUICK, **without)
    assert result.status == 0
    assert {m.configuration.transport for m in result.run.measurements} == {"shm"}
    assert f"not measured: mpi: mpi4py is not installed; {install_command('mpi')}" in result.out


@pytest.mark.parametrize("quiet", [False, *extended(True)])
def test_what_is_printed_in_a_run_that_goes_well_is_in_its_file_and_a_line_says_so(shell, quiet):
    warns = (
        "for i in 1 2 3; do echo the fabric $i is slow; echo the fabric $i is slow >&2; "
        f'echo ------; done; exec {shlex.quote(mpiexec("wheel"))} "$@"'
    )
    found = found_instead(shell, warns)
    result = shell.run("-t", "mpi,shm", *QUICK, *(["-q"] if quiet else []), **found)
    assert result.status == 0
    said = "mpiexec or its ranks printed: the fabric 1 is slow"
    if quiet:
        assert said in "".join(result.warnings)
    else:
        assert f": {said} the fabric 2" in " ".join(result.out.split())
    (notice,) = result.run.notices
    assert notice.lines == [f"the fabric {number} is slow" for number in (1, 2, 3)]
    causes = {each.transport: each_of for each, each_of in verdicts_of(result.run).items()}
    assert "the MPI itself warned: the fabric 1" in causes["mpi"].cause.seen
    assert "warned" not in f"{causes['shm'].cause}"


@pytest.mark.parametrize("transport", extended("mpi4py", "mpi4py-object"))
def test_an_error_of_mpi_in_a_timed_call_is_said_in_a_line(shell, transport):
    """Of both ranks the one that fails first says so."""
    wrong = shell.patched(
        "from halftrip.mpi import library\nlibrary.timed_tag = lambda thread: -5\n"
    )
    result = shell.run("-t", transport, *QUICK, *chosen("wheel"), **ONE_HOST | wrong)
    assert result.status == 1
    said = rf"halftrip: {transport} pingpong 8 B failed: rank [01]: MPI error MPI_ERR_TAG: .+\n"
    assert re.fullmatch(said, result.err)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("transports", "script", "said", "status"),
    [
        ("mpi,shm", None, "is not a program that can be run", 2),
        ("mpi", "#!/bin/sh\nexit 1\n", "ended with status 1", 1),
        ("mpi,shm", "#!/bin/sh\necho no frobnicator >&2\nexit 1\n", "no frobnicator", 1),
        ("mpi,shm", "#!/nowhere/sh\n", "no such file or directory", 1),
    ],
)
def test_why_a_requested_mpiexec_fails_is_said_once(shell, transports, script, said, status):
    path = shell.script("failing", script) if script else "/nowhere/mpiexec"
    result = shell.run("-t", transports, "-s", "8", "--mpiexec", path)
    assert result.status == status
    assert (result.out + result.err).count(said) == 1
    assert result.err.count("\n") == 1
    if status == 1:
        assert result.run.interrupted in result.err


STARTS = """
import re
from pathlib import Path
from halftrip.mpi import launcher, library
library.select_library(launcher.find_mpiexec({mpiexec!r}).library)
library.start(1)
(caught,) = re.findall(r"SigCgt:\\s*(\\w+)", Path("/proc/self/status").read_text())
print(int(caught, 16) & 1)
"""


@pytest.mark.parametrize("name", ["wheel", *extended("openmpi", "mpich")])
def test_no_mpi_keeps_a_hang_up_from_ending_a_rank(shell, name):
    """UCX, which it loads, would."""
    code = STARTS.format(mpiexec=mpiexec(name))
    start = AS_ROOT | quick_start(name)
    result = shell.execute(*job(name, 1), sys.executable, "-c", code, environment=start)
    assert (result.err, result.out) == ("", "0\n")
