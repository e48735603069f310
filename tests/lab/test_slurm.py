"""Jobs that srun has started, on a cluster of two nodes that are both this machine."""

import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from halftrip.results.run_file import load
from harness.files import ROOT
from harness.mpi import AS_ROOT, mpiexec
from harness.shell import HALFTRIP
from harness.slurm import cluster, ended_job
from harness.victim import WITH_MPI, Victim

pytestmark = pytest.mark.extended

WORK = ("-t", "mpi,shm,tcp", "-s", "8,64K", "--time", "30ms")
# Seeds of test_random_kills, of which a fifth are drawn for srun, too.
KILLS = int(os.environ.get("KILLS", "5")) // 5
LATEST_SECONDS = 1.5


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which srun finds the cluster."""
    with cluster(tmp_path_factory.mktemp(f"slurm{os.getpid()}")) as found:
        yield found


@pytest.fixture
def script(shell):
    """The path of the job script in docs/slurm.md."""
    after = (ROOT / "docs" / "slurm.md").read_text().partition("    #!/bin/bash\n")[2]
    lines = ["    #!/bin/bash", *after.partition("\n\n")[0].splitlines()]
    path = shell.directory / "halftrip.sbatch"
    path.write_text("".join(f"{line[4:]}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("starter", "library"),
    [
        ((), "Open MPI v5"),
        (("srun", "--mpi=pmi2"), "MPICH 4"),
        ((mpiexec("mpich"), "-n", "2"), "MPICH 4"),
    ],
    ids=["srun", "pmi2", "mpiexec"],
)
def test_the_script_of_the_docs_measures_between_two_nodes(slurm, shell, script, starter, library):
    found = {"PATH": f"{Path(HALFTRIP).parent}:{shell.environment['PATH']}"}
    (shell.directory / "config.toml").write_text('time = "30ms"\n')
    found["HALFTRIP_CONFIG"] = str(shell.directory / "config.toml")
    environment = slurm | AS_ROOT | found
    number, status = ended_job(shell.execute, script, *starter, environment=environment)
    out = (shell.directory / f"halftrip-{number}.txt").read_text()
    assert status == "0:0", out
    run = load(shell.directory / f"halftrip-{number}.jsonl")
    assert len(run.by_configuration) == 8
    assert {each.mpi[: len(library)] for each in run.environments} == {library}
    assert out.count("run file:") == 1


def test_ucx_and_libfabric_measure_between_two_nodes(slurm, shell):
    over_tcp = ("-t", "ucx,libfabric", "--ucx-tls", "tcp", "--provider", "tcp;ofi_rxm")
    work = (*over_tcp, "-s", "8,64K", "--time", "5ms", "-p", "pingpong,put", "--verify")
    result = shell.run(*work, prefix=("srun", "-N2", "-n2", "--mpi=pmix"), **slurm)
    assert (result.status, result.run.failures, result.run.skips) == (0, (), ()), result.err
    assert len(result.run.by_configuration) == 8


def test_srun_without_an_interface_for_mpi_is_a_failure_that_says_so(slurm, shell):
    prefix = ("srun", "-N2", "-n2", "--mpi=none")
    result = shell.run(*WORK, prefix=prefix, **slurm)
    assert result.status == 1
    assert result.err.count("halftrip: ") == 1
    assert "srun without --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)" in result.err


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_is_lost_and_nothing_left_whoever_of_srun_dies(slurm, shell, seed):
    draw = random.Random(seed)
    interface = draw.choice(("pmix", "pmi2"))
    victim = Victim(shell, *WITH_MPI, prefix=("srun", "-N2", "-n2", f"--mpi={interface}"), **slurm)
    victim.await_file()
    time.sleep(draw.uniform(0, LATEST_SECONDS))
    words = {pid: psutil.Process(pid).cmdline() for pid in shell.marked.processes()}
    ranks = [pid for pid, of in words.items() if of[:1] != ["srun"]]
    # Slurm lets the ranks of an srun go on that is killed, or interrupted once.
    choices = [(victim.process.pid, signal.SIGTERM)]
    choices += [
        (pid, number)
        for pid in ranks
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    ]
    ended = victim.kill(*draw.choice(choices))
    # srun prints what it likes.
    assert ended.status != 0
