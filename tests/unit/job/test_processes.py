"""The processes of a job, as the kernel lists them."""

import os
import signal
import subprocess

from halftrip.job.processes import descendants


def test_descendants_are_children_and_theirs():
    script = "sleep 60 & sh -c 'sleep 60 & echo $!; wait' & wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as process:
        grandchild = int(process.stdout.readline())
        found = descendants(process.pid)
        for pid in (*found, process.pid):
            os.kill(pid, signal.SIGKILL)
    assert grandchild in found
    assert len(found) == 3
    assert descendants(process.pid) == []
