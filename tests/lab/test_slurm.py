"""Jobs that srun has started, on a cluster of two nodes that are both this machine."""

import os
import random
import signal
import time

import psutil
import pytest

from harness.slurm import cluster
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


@pytest.mark.parametrize(("interface", "library"), [("pmix", "Open MPI v5"), ("pmi2", "MPICH 4")])
def test_a_job_of_srun_is_joined(slurm, shell, interface, library):
    prefix = ("srun", "-N2", "-n2", f"--mpi={interface}")
    result = shell.run(*WORK, prefix=prefix, **slurm)
    assert result.status == 0, result.err
    assert len(result.run.by_configuration) == 6
    assert {e.mpi[: len(library)] for e in result.run.environments} == {library}
    assert result.out.count("run file:") == 1


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
