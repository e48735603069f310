"""What halftrip adds to a bare loop, on this machine, and that a disturbance is found."""

import contextlib
import re
import signal
import subprocess

import psutil
import pytest

from halftrip.cli import doctor_loops
from halftrip.cli.doctor_loops import compare
from halftrip.job.view import NoView
from halftrip.job.worker import PROCESS_NAME
from halftrip.telemetry.load import CoreLoad, Load, Program
from harness.files import ROOT
from harness.limits import END_SECONDS, until
from harness.loops import LIMIT, check_ratios
from harness.mpi import ONE_HOST, job
from harness.preload import preloading
from harness.shell import HALFTRIP

pytestmark = pytest.mark.extended

PATHS = ("shm", "pipe", "unix", "tcp", "udp", "mpi")


def test_halftrip_adds_nothing_to_a_bare_loop(shell):
    check_ratios(shell, PATHS)


def test_a_disturbance_is_found_with_its_path_and_how_large_it_is(tmp_path, monkeypatch):
    library = tmp_path / "slow_read.so"
    source = ROOT / "tests" / "native" / "stand_in" / "slow_read.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    for name, value in preloading(library).items():
        monkeypatch.setenv(name, value)
    compared, *_ = compare(("shm", "pipe"), launches=2, slices=3)
    small = {(each.row.path, each.row.pattern): each for each in compared if each.row.size == 8}
    # One read of 20 us more in each message. Paths without it are not blamed.
    disturbed = small["pipe", "pingpong"]
    assert disturbed.halftrip - disturbed.bare > 15_000
    assert {path for (path, _), each in small.items() if each.ratio.low > LIMIT} == {"pipe"}


def test_there_are_no_loops_in_a_job(shell):
    result = shell.halftrip("doctor", "--loops", "-t", "pipe", prefix=job("wheel"), **ONE_HOST)
    assert result.status != 0
    assert result.err.count("--loops: starts ranks of its own; call it outside of a job\n") == 1


def test_a_path_without_a_bare_loop_is_named(shell):
    result = shell.call("doctor", "--loops", "-t", "pipe,zmq")
    assert result.status == 2
    assert "zmq" in result.err


class Interrupting(NoView):
    """A signal comes to all, as that of Ctrl-C, in the second launch: of those that end a run the
    one that nohup and scripts leave alone."""

    visible = True

    def update(self, done, total, what, later=0):
        if what.startswith("launch 2"):
            every = psutil.Process().children(recursive=True)
            bare = [each for each in every if each.name() == "bare_loops"]
            for each in (*bare, psutil.Process()):
                each.send_signal(signal.SIGTERM)


def test_a_signal_leaves_the_rows_that_have_two_turns(monkeypatch):
    load = Load(0.2, [CoreLoad(0, 0.9, None, [Program("thief", 9, 0.9)])], [])
    monkeypatch.setattr(doctor_loops, "look", lambda cores: load)
    found = compare(("pipe",), launches=3, slices=2, view=Interrupting())
    assert (str(found.ended), found.missing) == ("stopped by SIGTERM", {})
    assert len(found.ratios) == 6
    assert {each.turns for each in found.ratios} <= {2, 3}
    assert found.load.startswith("in 2 of 2 looks between launches others had these cores: core 0 ")


def test_a_killed_rank_is_one_line_and_leaves_nothing(shell):
    process = shell.start(HALFTRIP, "doctor", "--loops", "-t", "pipe")
    started = []

    def there():
        with contextlib.suppress(psutil.NoSuchProcess):
            started[:] = psutil.Process(process.pid).children(recursive=True)
            return [each for each in started if each.name() == f"{PROCESS_NAME}1"]
        return []

    (rank,) = until(there, "no rank")
    rank.kill()
    _, said = process.communicate(timeout=END_SECONDS)
    assert process.returncode == 1
    # It may not have connected to the launcher yet.
    how = "(died|was killed by SIGKILL)"
    assert re.fullmatch(rf"halftrip: rank 1 \(process {rank.pid}\) {how}\n", said), said
    _, alive = psutil.wait_procs(started, timeout=END_SECONDS)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []
