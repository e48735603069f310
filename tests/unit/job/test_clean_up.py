"""Nothing of a job is left, whatever its processes do with signals."""

import os
import selectors
import signal
import subprocess
import sys

import pytest

from halftrip.control.protocol import Address
from halftrip.errors import Stopped
from halftrip.job import processes, shm_cleanup
from halftrip.job.processes import CleanUp, Started, descendants
from halftrip.job.spec import Job
from harness.limits import AMPLE_SECONDS

DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"


def test_a_child_that_is_none_of_the_job_s_ranks_and_hears_no_signal_is_killed():
    """What stands for ssh does not have the token in its environment."""
    job = Job(Address(unix="nowhere"), "a token that nobody has", launcher=0, ranks=1)
    started = Started()
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"\n"
            started.add(process, "ssh to a")
            clean_up = CleanUp(job, started)
            clean_up.prepare()
            clean_up.end(leave=False)
            assert process.poll() == -signal.SIGKILL
        finally:
            process.kill()


def test_who_awaits_ranks_of_mpi_looks_when_a_segment_is_made(tmp_path, monkeypatch):
    """A rank that is killed some milliseconds later leaves it."""
    watch = shm_cleanup.watch
    monkeypatch.setattr(shm_cleanup, "watch", lambda: watch(tmp_path))
    clean_up = CleanUp(Job(Address(unix="nowhere"), "t", launcher=0, ranks=1, mpi=True), Started())
    with selectors.DefaultSelector() as selector:
        with clean_up.awake(selector):
            assert selector.select(0) == []
            (tmp_path / "mpich_shar_tmp1").touch()
            ((key, _),) = selector.select(AMPLE_SECONDS)
            key.data(key.fileobj)
            assert selector.select(0) == []
        assert not selector.get_map()
    clean_up.close()
    assert watch(tmp_path / "nowhere") is None


def test_who_makes_files_all_the_time_has_ranks_looked_at_once_in_each_rest(tmp_path, monkeypatch):
    watch, looks = shm_cleanup.watch, []
    monkeypatch.setattr(shm_cleanup, "watch", lambda: watch(tmp_path))
    clean_up = CleanUp(Job(Address(unix="nowhere"), "t", launcher=0, ranks=1, mpi=True), Started())
    monkeypatch.setattr(clean_up._segments, "note", looks.append)
    monkeypatch.setattr(processes, "_LOOK_SECONDS", 60.0)
    clean_up._started.processes[type("Process", (), {"pid": os.getpid()})()] = "mpiexec"
    with selectors.DefaultSelector() as selector, clean_up.awake(selector):
        assert clean_up.look() > 0
        for number in range(5):
            (tmp_path / str(number)).touch()
            ((key, _),) = selector.select(AMPLE_SECONDS)
            key.data(key.fileobj)
        assert clean_up.look() > 0
    assert len(looks) == 2
    clean_up.close()


def test_a_signal_that_comes_while_ranks_of_mpi_have_started_leaves_what_can_be_looked_at(
    tmp_path, monkeypatch
):
    job = Job(Address(unix="nowhere"), "t", launcher=0, ranks=1, mpi=True)
    watch, close = shm_cleanup.watch, os.close
    monkeypatch.setattr(shm_cleanup, "watch", lambda: watch(tmp_path))

    def interrupted(descriptor):
        close(descriptor)
        raise Stopped("stopped by SIGHUP")

    clean_up = CleanUp(job, Started())
    with selectors.DefaultSelector() as selector, monkeypatch.context() as patch:
        patch.setattr(os, "close", interrupted)
        with pytest.raises(Stopped), clean_up.awake(selector):
            pass
        assert not selector.get_map()
    clean_up.prepare()


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
