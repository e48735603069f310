"""A Slurm cluster of two nodes, which are both this machine."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess

from harness.limits import until
from harness.need import need_root

CONFIGURATION = """\
ClusterName=lab{pid}
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
SlurmctldPort={ports[0]}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
TmpFS={directory}/tmp-%n
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=500
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=500
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=10 State=UP
"""


@contextlib.contextmanager
def cluster(directory):
    """Daemons that keep their files in an empty directory; the environment in which srun finds
    them."""
    need_root("starting Slurm")
    for program in ("munged", "slurmctld", "slurmd", "srun"):
        assert shutil.which(program) is not None, f"{program} is not installed; see CONTRIBUTING.md"
    found = {"SLURM_CONF": str(configure(directory))}
    with contextlib.ExitStack() as running:
        run_daemons(directory, os.environ | found, running)
        yield found


def free_ports(count):
    """Ports of this host that nobody listens on."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def configure(directory):
    """Makes what the daemons need, in a directory of their own; the path of the configuration."""
    for name in ("state", "tmp-n1", "tmp-n2"):
        (directory / name).mkdir()
    directory.chmod(0o755)
    key = directory / "key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    configuration = directory / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            pid=os.getpid(), host=socket.gethostname(), directory=directory, ports=free_ports(3)
        )
    )
    return configuration


def run_daemons(directory, environment, running):
    """Starts all daemons, which end with the stack `running`."""
    munge = {"key-file": "key", "socket": "munge.sock", "pid-file": "pid",
             "log-file": "munged.log", "seed-file": "seed"}  # fmt: skip
    files = [f"--{option}={directory / name}" for option, name in munge.items()]
    start_daemon(["munged", "--foreground", "--force", *files], environment, running)
    until((directory / "munge.sock").exists, "no munged")
    start_daemon(["slurmctld", "-D"], environment, running)
    for node in ("n1", "n2"):
        start_daemon(["slurmd", "-D", "-N", node], environment, running)

    def is_idle():
        said = subprocess.run(
            ["sinfo", "-h", "-o", "%T %D"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return said.stdout.strip() == "idle 2"

    until(is_idle, "the nodes do not become idle")


def start_daemon(command, environment, running):
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def end():
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    running.callback(end)


def ended_job(execute, script, *arguments, environment):
    """Submits a job script and waits for its end, which ``sbatch --wait`` sees half a minute late:
    its number, and the exit status, as ``scontrol`` has it."""
    submitted = execute("sbatch", "--parsable", script, *arguments, environment=environment)
    assert submitted.status == 0, submitted.err
    number = submitted.out.strip()
    said = {}

    def has_ended():
        shown = execute("scontrol", "show", "job", number, "--oneliner", environment=environment)
        said.update(word.split("=", 1) for word in shown.out.split() if "=" in word)
        return said["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")

    until(has_ended, "the job does not end")
    return number, said["ExitCode"]
