"""Jobs that srun has started, on a cluster of two nodes that are both this machine."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack

import pytest

from lab.hosts import need

WORK = ("-t", "mpi,shm,tcp", "-s", "8,64K", "--time", "30ms")

CONFIGURATION = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={directory}/munge.sock
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldPidFile={directory}/slurmctld.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
SlurmctldPort={port}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
TmpFS={directory}/tmp-%n
ReturnToService=2
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 RealMemory=500
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=10 State=UP
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which srun finds the cluster."""
    need(os.geteuid() == 0, "starting Slurm needs root")
    for program in ("munged", "slurmctld", "slurmd", "srun"):
        assert shutil.which(program) is not None, f"{program} is not installed; see CONTRIBUTING.md"
    directory = tmp_path_factory.mktemp("slurm")
    for name in ("state", "tmp-n1", "tmp-n2"):
        (directory / name).mkdir()
    directory.chmod(0o755)
    key = directory / "key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    port = 20000 + secrets.randbelow(10000)
    configuration = directory / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname(), directory=directory, port=port, first=port + 1, last=port + 2
        )
    )
    environment = os.environ | {"SLURM_CONF": str(configuration)}
    munge = {"key-file": key, "socket": directory / "munge.sock", "pid-file": directory / "pid",
             "log-file": directory / "munged.log", "seed-file": directory / "seed"}  # fmt: skip
    daemons = (
        ["munged", "--foreground", "--force", *(f"--{k}={v}" for k, v in munge.items())],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", "n1"],
        ["slurmd", "-D", "-N", "n2"],
    )
    with ExitStack() as running:
        for daemon in daemons:
            process = subprocess.Popen(
                daemon, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            running.callback(process.wait, 20)
            running.callback(process.terminate)
            time.sleep(0.5)
        deadline = time.monotonic() + 60
        while True:
            said = subprocess.run(
                ["sinfo", "-h", "-o", "%T %D"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if said.stdout.strip() == "idle 2":
                break
            assert time.monotonic() < deadline, said
            time.sleep(0.2)
        yield {"SLURM_CONF": str(configuration)}


@pytest.mark.parametrize(("interface", "library"), [("pmix", "Open MPI v5"), ("pmi2", "MPICH 4")])
def test_a_job_of_srun_is_joined(slurm, shell, interface, library):
    prefix = ("srun", "-N2", "-n2", f"--mpi={interface}")
    result = shell.run(*WORK, prefix=prefix, **slurm)
    assert result.status == 0, result.err
    assert len(result.run.measurements) == 6
    assert {e.mpi[: len(library)] for e in result.run.environments} == {library}
    assert result.out.count("run file:") == 1


def test_srun_without_an_interface_for_mpi_is_said_so(slurm, shell):
    prefix = ("srun", "-N2", "-n2", "--mpi=none")
    result = shell.run(*WORK, prefix=prefix, **slurm)
    assert result.status == 1
    assert result.err.count("halftrip: ") == 1
    assert "srun without --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)" in result.err
