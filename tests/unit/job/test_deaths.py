"""Who died first, by what ranks have reported and programs have printed."""

import os
import re
import subprocess
import tempfile
import types

import pytest

from halftrip.errors import HalftripError, Interrupted, Stopped, UsageError
from halftrip.job.deaths import (
    LaunchFailed,
    Lost,
    add_cause,
    check_end,
    end_of,
    ended_early,
    first_death,
    too_few,
)
from halftrip.job.processes import ProcessOutput, Started

# The ranks that have connected, by process.
BOTH = {40: "rank 0 (process 40)", 41: "rank 1 (process 41)"}
ONE = {40: "rank 0 (process 40)"}
LOST_0, LOST_1 = Lost("rank 0 (process 40)"), Lost("rank 1 (process 41)")
UCX = "cma_ep.c:81 process_vm_readv(pid=41 {0x55,52}-->{0x7f,52}) returned -1: No such process"
OTHER = "cma_ep.c:81 process_vm_readv(pid=99 {0x55,52}-->{0x7f,52}) returned -1: No such process"
HYDRA = "=   PID {} RUNNING AT host"
CRASH = (
    "[vm:00041] *** Process received signal ***",
    "[vm:00041] Signal: Segmentation fault (11)",
    "[vm:00040] [ 1] /lib/other.so(+0x1)[0x1]",
    "[vm:00041] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x45330)[0x7f951c245330]",
    "[vm:00041] [ 1] /opt/lib/libucs.so.0(ucs_free+0x4)[0x7f9516259af4]",
    "prterun noticed that process rank 1 with PID 41 on node vm exited on",
)
BOX = (
    'The value of the MCA parameter "plm_rsh_agent" was set to a path',
    "that could not be found:",
    "  plm_rsh_agent: ssh : rsh",
    "Please either unset the parameter, or check that the path is correct",
)
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "a.py", line 1, in <module>',
    "    import a",
    "ModuleNotFoundError: No module named 'a'",
)
BOGUS = (
    "*** An error occurred in MPI_Init_thread",
    "[vm:41] Local abort before MPI_INIT completed completed successfully",
    "A requested component was not found, or was unable to be opened.  This",
    "means that this component is either not installed or is unable to be",
    "Framework: btl",
    "Component: bogus",
)
BOGUS_SAID = (
    "A requested component was not found, or was unable to be opened (framework btl, component "
    "bogus)"
)
OPEN_MPI = "prterun noticed that process rank 0 with PID {} on node host exited on signal 9"
FULL = "/scratch/full"
OPEN_MPI_4 = "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 1 (Hangup)."
WAITED = "rank 1 (process 41) ended before MPI had started"
SEGFAULT = f"mpiexec ended with status 139: {OPEN_MPI_4.replace('1 (Hangup)', '11')}"
EXIT_STRING = "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)"
NO_MPI = LaunchFailed("MPI does not start")
BY_PYTHON = "mpiexec, or a rank of it, was killed by"
KILLED, ENDED = end_of(1, -9), end_of(1, 3)


@pytest.fixture
def launcher():
    """A launcher that has printed these lines and ended by this command of a shell."""
    outputs = []

    def ended(end, lines):
        output = ProcessOutput()
        outputs.append(output)
        output.file.write("\n".join(lines).encode())
        output.file.flush()
        process = subprocess.Popen(["sh", "-c", end])
        process.wait()
        started = Started()
        started.add(process, "mpiexec", output)
        return started

    yield ended
    for output in outputs:
        output.file.close()


@pytest.mark.parametrize(
    ("status", "printed", "reports", "connected", "kind", "said"),
    [
        (1, (), (LOST_0,), BOTH, Interrupted, "rank 0 (process 40) died"),
        (1, (HYDRA.format(41),), (LOST_0,), BOTH, Interrupted, "rank 1 (process 41) died"),
        (1, (HYDRA.format(40), UCX), (LOST_0,), BOTH, Interrupted, "rank 1 (process 41) died"),
        (1, (HYDRA.format(40), OTHER), (LOST_0,), BOTH, Interrupted, "rank 0 (process 40) died"),
        # MPICH's mpiexec names the lowest rank that has ended, which it may have ended itself.
        (1, (HYDRA.format(40),), (LOST_1, LOST_0), BOTH, Interrupted, "rank 1 (process 41) died"),
        (1, (HYDRA.format(40),), (), BOTH, Interrupted, "rank 0 (process 40) died"),
        (1, (OPEN_MPI.format(40),), (LOST_1,), BOTH, Interrupted, "rank 0 (process 40) died"),
        # Its own reason comes before whatever else is printed.
        (1, (HYDRA.format(41),), (UsageError("wrong"),), BOTH, UsageError, "wrong"),
        (137, (KILLED,), (LOST_0,), BOTH, Interrupted, "rank 0 (process 40) died"),
        (137, (KILLED,), (LOST_0,), ONE, Interrupted, "rank 1 was killed by SIGKILL"),
        (3, (ENDED,), (), {}, LaunchFailed, "rank 1 ended with status 3"),
        (137, (), (), ONE, Interrupted, "a rank was killed by SIGKILL"),
        (247, (), (), {}, Interrupted, "mpiexec: its head process was killed by SIGKILL"),
        (137, (), (), BOTH, Interrupted, "mpiexec ended with status 137"),
        # Its own words count: the mpiexec ends others by signals after it.
        (1, (OPEN_MPI_4,), (NO_MPI,), ONE, LaunchFailed, str(NO_MPI)),
        (129, (OPEN_MPI_4,), (), {}, Interrupted, "rank 1 was killed by SIGHUP"),
        (
            1,
            (OPEN_MPI.format(41),),
            (),
            ONE,
            Interrupted,
            "rank 0 (process 41) was killed by SIGKILL",
        ),
        (130, (TRACEBACK[0], "KeyboardInterrupt"), (), {}, Interrupted, f"{BY_PYTHON} SIGINT"),
        # A rank that fails is why its host ends the others.
        (143, (end_of(1, -15),), (NO_MPI,), ONE, LaunchFailed, "MPI does not start"),
        (15, (EXIT_STRING,), (), {}, Interrupted, "a rank was killed by SIGTERM"),
        (1, (f"halftrip: {WAITED}",), (), {}, Interrupted, WAITED),
        # Also the number of an error of MPICH's.
        (15, ("no way",), (), {}, LaunchFailed, "mpiexec ended with status 15: no way"),
        (139, (OPEN_MPI_4.replace("1 (Hangup)", "11"),), (), {}, LaunchFailed, SEGFAULT),
        (3, ("no such host",), (), {}, LaunchFailed, "mpiexec ended with status 3: no such host"),
        # All of a sentence, and what crashed.
        (
            *(243, BOX, (), {}, LaunchFailed),
            f"mpiexec ended with status 243: {BOX[0]} {BOX[1]} plm_rsh_agent: ssh : rsh",
        ),
        (
            *(14, BOGUS, (), {}, LaunchFailed),
            f"mpiexec ended with status 14: {BOGUS_SAID}",
        ),
        (1, TRACEBACK, (), {}, LaunchFailed, f"mpiexec ended with status 1: {TRACEBACK[-1]}"),
        (
            *(139, CRASH, (), {}, LaunchFailed),
            "mpiexec ended with status 139: a rank crashed: Segmentation fault in libucs.so.0",
        ),
        (
            *(139, CRASH, (LOST_0,), BOTH, Interrupted),
            "rank 1 (process 41) died: Segmentation fault in libucs.so.0",
        ),
    ],
)
def test_the_first_death_is_named(launcher, status, printed, reports, connected, kind, said):
    found = first_death(launcher(f"exit {status}", printed), reports, connected, 2)
    assert isinstance(found, kind)
    assert isinstance(found, HalftripError)
    assert str(found) == said


@pytest.mark.parametrize(
    ("error", "free", "said"),
    [
        (LaunchFailed("status 213"), (8, 100), f"status 213; {FULL} is full: 32 KiB left"),
        (
            Interrupted("killed by SIGBUS"),
            (8, 100),
            f"killed by SIGBUS; {FULL} is full: 32 KiB left",
        ),
        (
            LaunchFailed("status 213"),
            (900, 1),
            f"status 213; {FULL} is full: room for 1 files",
        ),
        (LaunchFailed("status 213"), (900, 100), "status 213"),
        (Stopped("stopped by SIGINT"), (8, 100), "stopped by SIGINT"),
        (UsageError("wrong"), (8, 100), "wrong"),
    ],
)
def test_a_death_on_a_full_file_system_has_a_cause(monkeypatch, error, free, said):
    blocks, files = free
    full = types.SimpleNamespace(f_bavail=blocks, f_frsize=4096, f_files=9999, f_favail=files)
    monkeypatch.setattr(tempfile, "tempdir", FULL)
    usual = os.statvfs("/")
    monkeypatch.setattr(os, "statvfs", lambda path: full if path == FULL else usual)
    add_cause(error)
    assert str(error) == said


@pytest.mark.parametrize(
    ("end", "printed", "said"),
    [
        ("exit 0", ("a warning",), None),
        # What crashes as it ends has measured everything.
        ("exit 139", (), None),
        ("kill -TERM $$", (), "mpiexec was killed by SIGTERM"),
        ("exit 137", (OPEN_MPI.format(41),), "rank 1 (process 41) was killed by SIGKILL"),
        (
            *("exit 137", [OPEN_MPI.format(41).removesuffix("signal 9"), "signal 9 (Killed)."]),
            "rank 1 (process 41) was killed by SIGKILL",
        ),
        ("exit 9", (), "a rank was killed by SIGKILL"),
    ],
)
def test_who_is_killed_as_it_ends_is_named(launcher, end, printed, said):
    started = launcher(end, printed)
    if said is None:
        check_end(started, BOTH)
        return
    with pytest.raises(Interrupted, match=f"^{re.escape(said)}$"):
        check_end(started, BOTH)


@pytest.mark.parametrize(
    ("printed", "kind", "said"),
    [
        ((), Lost, "rank 1 died"),
        ((EXIT_STRING,), Interrupted, "a rank was killed by SIGTERM"),
        (BOGUS, LaunchFailed, f"rank 1 ended: {BOGUS_SAID}"),
    ],
)
def test_a_rank_that_ends_before_its_mpiexec_is_named(launcher, printed, kind, said):
    found = ended_early(launcher("exit 0", printed), "rank 1")
    assert (type(found), str(found)) == (kind, said)
    late = str(too_few(launcher("exit 0", printed), 0, 2, ()))
    assert late.startswith("only 0 of 2 ranks connected within 30 s")
    assert (BOGUS_SAID in late) == (printed == BOGUS)
    assert late.endswith("; --start-timeout waits longer") == (not printed)


def test_a_killed_launcher_comes_first(launcher):
    started = launcher("kill -9 $$", ())
    found = first_death(started, (LOST_0,), BOTH, 2)
    assert str(found) == "mpiexec was killed by SIGKILL"
