"""What keeps programs from running, planted on this machine: CPU quotas, soft interrupts, and an
mpiexec that is awake."""

import contextlib
import itertools
import os
import shlex
import subprocess
import sys
from pathlib import Path

from harness.mpi import mpiexec
from harness.need import can_unshare, need

# A loopback interface of its own whose packets are handed to another core, and who sends them.
_FLOOD = """
mount -t sysfs none /sys && ip link set lo up || exit
echo {mask:x} > /sys/class/net/lo/queues/rx-0/rps_cpus || exit
exec taskset -c {sender} {python} -c '
import contextlib, os, socket
# Among other busy programs it has its share, too, whether the kernel counts sessions or programs.
with contextlib.suppress(OSError):
    os.setpriority(os.PRIO_PROCESS, 0, -8)
    open("/proc/self/autogroup", "w").write("-8")
parent, to = os.getppid(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(to.getsockname())
print(flush=True)
while os.getppid() == parent:
    for _ in range(200):
        sender.send(bytes(1000))
'
"""
# An mpiexec that has most of a core, before any other program that wants it.
_AWAKE = """
import contextlib, os, subprocess, sys, time
job = subprocess.Popen(["{mpiexec}", *sys.argv[1:]])
os.sched_setaffinity(0, {{{core}}})
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
while job.poll() is None:
    ends = time.monotonic() + 0.008
    while time.monotonic() < ends:
        pass
    time.sleep(0.002)
sys.exit(job.returncode)
"""
_numbers = itertools.count()


def inside(group):
    """What to put before a command to run it in a control group."""
    return ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")


@contextlib.contextmanager
def group(microseconds):
    """A control group whose parent may use so much CPU time in 100 ms (-1: all)."""
    for root in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        if (root / "cpu.stat").exists() and os.access(root, os.W_OK):
            break
    else:
        need(False, "no control group with CPU limits can be made")
    made = root / f"halftrip-{os.getpid()}-{next(_numbers)}"
    inner = made / "inner"
    try:
        made.mkdir()
        if (made / "cpu.cfs_quota_us").exists():
            (made / "cpu.cfs_quota_us").write_text(f"{microseconds}")
        else:
            limit = "max" if microseconds < 0 else microseconds
            need((made / "cpu.max").exists(), "the controller cpu is not enabled here")
            (made / "cpu.max").write_text(f"{limit} 100000")
        inner.mkdir()
        yield inner
    finally:
        for each in (inner, made):
            with contextlib.suppress(FileNotFoundError):
                each.rmdir()


def awake_mpiexec(directory, core):
    """The path of an mpiexec, of Open MPI of Debian, that is busy on a core while its ranks run."""
    program, path = directory / "awake.py", directory / "mpiexec"
    program.write_text(_AWAKE.format(mpiexec=mpiexec("openmpi"), core=core))
    command = shlex.join((sys.executable, str(program)))
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
    return path


@contextlib.contextmanager
def soft_interrupts(core, sender):
    """Soft interrupts on a core, for a while: of packets that are sent on another one."""
    need(can_unshare("-n", "-m"), "namespaces of a network and of mounts are needed")
    script = _FLOOD.format(mask=1 << core, sender=sender, python=shlex.quote(sys.executable))
    flood = subprocess.Popen(
        ["unshare", "-n", "-m", "sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        need(flood.stdout.readline() == b"\n", "packets cannot be handed to another core here")
        yield
    finally:
        flood.kill()
        flood.wait()
        flood.stdout.close()
