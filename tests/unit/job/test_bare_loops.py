"""The bare loops of `doctor --loops` run, over every path that needs no launcher."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys

import psutil
import pytest

from halftrip.errors import Unavailable
from halftrip.job.bare_loops import (
    _PROGRAM,
    PATHS,
    WITHOUT_STREAM,
    BareLoops,
    OtherHost,
    no_idle_core,
)
from harness.limits import AMPLE_SECONDS

CORES = sorted(os.sched_getaffinity(0))[:2]


@pytest.mark.parametrize("path", [path for path in PATHS if path != "mpi"])
def test_each_pattern_and_size_is_timed(path):
    with contextlib.closing(BareLoops(path, CORES)) as loops:
        loops.wait()
        for window in (0,) if path in WITHOUT_STREAM else (0, 2):
            for size in (8,) if path == "udp" else (8, 100_000):
                found = loops.time(window, size, 0.001)
                assert found.samples >= 3
                assert 0 < found.median <= found.p99


@pytest.mark.parametrize(
    ("cores", "order", "why"),
    [
        ([1 << 9, 1 << 9], (0, 8), "sched_setaffinity: Invalid argument"),
        (CORES, (0, 1 << 30), "Message too long"),
        (CORES, (1 << 30, 8), "Message too long"),
        (CORES, (-1, 8), "Message too long"),
    ],
)
def test_a_loop_that_fails_says_why(cores, order, why):
    def ask(loops):
        loops.wait()
        loops.time(*order, 0.001)

    with (
        contextlib.closing(BareLoops("pipe", cores)) as loops,
        pytest.raises(Unavailable, match=f"^the bare loop over pipe: .*{why}"),
    ):
        ask(loops)


def test_no_end_outlives_the_other_and_one_that_was_stopped_goes_on():
    with contextlib.closing(BareLoops("pipe", CORES)) as loops:
        loops.wait()
        pid = str(loops.process.pid)
        found = subprocess.run(("pgrep", "-P", pid), capture_output=True, check=True)
        other = int(found.stdout)
        os.kill(other, signal.SIGKILL)
        # An order that the other end still gets would have it fail in the middle of a loop.
        loops.process.wait(AMPLE_SECONDS)
        with pytest.raises(Unavailable, match="ended with status 1"):
            loops.time(0, 8, 0.001)
    with contextlib.closing(BareLoops("pipe", CORES)) as loops:
        loops.wait()
        group = psutil.Process(loops.process.pid)
        both = [*group.children(), group]
        for each in both:
            each.suspend()
        for each in both:
            each.resume()
        assert loops.time(0, 8, 0.001).samples >= 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_who_asked(number):
    program = (
        "import sys; from halftrip.job.bare_loops import BareLoops, no_idle_core\n"
        f"with no_idle_core({CORES}):\n"
        f"    loops = BareLoops('shm', {CORES}); loops.wait(); print(flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = (sys.executable, "-c", program)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asking:
        asking.stdout.readline()
        left = psutil.Process(asking.pid).children(recursive=True)
        # Two ends, what keeps two cores from halting, and who started that.
        assert len(left) == 5
        asking.send_signal(number)
    _, alive = psutil.wait_procs(left, timeout=10)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize("cores", [(1 << 9, CORES[0]), (CORES[0], 1 << 9)])
def test_cores_that_cannot_be_kept_from_halting_are_said(cores):
    what = "what keeps cores from halting: sched_setaffinity: Invalid argument"
    with pytest.raises(Unavailable, match=what), no_idle_core(cores):
        pytest.fail("nothing keeps the cores from halting")


def test_a_core_that_is_kept_from_halting_no_more_is_said():
    def kill_one():
        ours = psutil.Process().children(recursive=True)
        (program,) = (each for each in ours if len(each.children()) == len(CORES))
        program.children()[0].kill()
        # Its status is for its parent to take.
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)

    with pytest.raises(Unavailable, match="halting: ended with status 1"), no_idle_core(CORES):
        kill_one()


def test_what_cannot_be_started_or_reached_is_named():
    far = OtherHost("far", ("/nonexistent/ssh",))
    what = "/nonexistent/ssh: no such file or directory"
    with pytest.raises(Unavailable, match=what):
        BareLoops("tcp", CORES, far)
    with pytest.raises(Unavailable, match=what), no_idle_core(CORES, far):
        pytest.fail("nothing keeps the cores from halting")
    with pytest.raises(Unavailable, match=r"over tcp on far: no way"):
        BareLoops("tcp", CORES, OtherHost("far", ("sh", "-c", "echo no way >&2; exit 1")))


# In place of an ssh: runs the command here.
HERE = OtherHost("localhost", ("sh", "-c", 'exec sh -c "$2"', "sh"))


@pytest.mark.parametrize("path", ["tcp", "udp"])
def test_an_end_may_be_on_another_host(path):
    with contextlib.closing(BareLoops(path, CORES, HERE)) as loops:
        loops.wait()
        assert loops.time(0, 8, 0.001).samples >= 3
    assert loops.process.returncode == 0


def test_an_end_that_listens_talks_to_nobody_else_and_makes_no_room_for_any_size():
    word = b"0123456789abcdef" * 2
    command = (_PROGRAM, "tcp", *map(str, CORES), "listen")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as program, contextlib.ExitStack() as stack:

        def connected(said):
            end = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            end.sendall(said)
            return end

        program.stdin.write(word + b"\n")
        program.stdin.flush()
        port = int(program.stdout.readline())
        stranger = connected(word[::-1])
        stranger.settimeout(AMPLE_SECONDS)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
        orders, _ = connected(word), connected(word)
        # A window, a size, ns.
        orders.sendall(struct.pack("@lNd", 0, (1 << 64) - 1, 1e6))
        assert (program.wait(AMPLE_SECONDS), program.stderr.read()) == (
            1, b"order: Message too long\n",
        )  # fmt: skip
