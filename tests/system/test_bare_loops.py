"""What halftrip adds to a bare loop, on this machine, and that a disturbance is found."""

import subprocess

import pytest

from halftrip.cli.doctor_loops import compare
from harness.files import ROOT
from harness.loops import LIMIT, check_ratios
from harness.preload import preloading

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
    compared, _ = compare(("shm", "pipe"), launches=2, slices=3)
    small = {(each.row.path, each.row.pattern): each for each in compared if each.row.size == 8}
    # One read of 20 us more in each message. Paths without it are not blamed.
    disturbed = small["pipe", "pingpong"]
    assert disturbed.halftrip - disturbed.bare > 15_000
    assert {path for (path, _), each in small.items() if each.ratio.low > LIMIT} == {"pipe"}


def test_a_path_without_a_bare_loop_is_named(shell):
    result = shell.call("doctor", "--loops", "-t", "pipe,zmq")
    assert result.status == 2
    assert "zmq" in result.err
