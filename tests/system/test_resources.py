"""Settings of the environment in which a run is started, and what is documented for each: what is
possible is measured, the rest has a reason, and the file is whole."""

import os
import pty
import signal
import sys

import pytest

from halftrip.results.run_file import load
from harness.choice import extended
from harness.flags import flags_of
from harness.limits import AMPLE_SECONDS
from harness.mpi import chosen
from harness.need import can_unshare, need
from harness.shell import HALFTRIP

WORK = ("run", "-t", "shm,tcp,unix", "-s", "8", "--time", "5ms", "--slices", "1", "-o", "run.jsonl")
EVERY = {"shm", "tcp", "unix"}
# What is said where a resource is missing.
FILES = "too many open files"
TOO_SMALL = "halftrip: no memory: ulimit -v allows 97 MiB, halftrip needs 128\n"
# A small file system of its own for the run file, in the directory of that name.
DISK = "mount -t tmpfs -o {} none disk; cd disk"

SETTINGS = [
    # The shell's setting, the status, what is measured, and what is said.
    ("ulimit -n 9", {1}, None, FILES),
    # From here on it depends on what the ranks need at the same moment.
    ("ulimit -n 16", {0, 1}, None, None),
    ("ulimit -n 40", {0}, EVERY, ""),
    ("ulimit -v 100000", {1}, None, TOO_SMALL),
    ("ulimit -f 1", {1}, None, "run.jsonl: File too large"),
    (DISK.format("size=4k"), {1}, None, "run.jsonl: No space left on device"),
    ("exec >/dev/full", {1}, EVERY, "standard output: no space left on device"),
    ("exec <&- >&- 2>&-", {0}, EVERY, ""),
    # What is left open shows.
    ("export PYTHONWARNINGS=error", {0}, EVERY, ""),
    *extended(
        *((f"ulimit -n {count}", {1}, None, FILES) for count in (7, 8, 10, 11)),
        *((f"ulimit -n {count}", {0, 1}, None, None) for count in (13, 17, 18)),
        *((f"ulimit -v {kib}", {1}, None, None) for kib in (50000, 108000)),
        # A limit on the size of files holds for the memory of shm, too.
        ("ulimit -f 100", {0}, {"tcp", "unix"}, ""),
        ("ulimit -v 132000", {0, 1}, None, None),
        ("ulimit -v 300000", {0}, EVERY, ""),
        ("mount -t tmpfs -o size=4k none /dev/shm", {0}, EVERY, ""),
        (DISK.format("size=1m,nr_inodes=1"), {2}, None, "run.jsonl: cannot be written: no space"),
        ("exec >&-", {0}, EVERY, ""),
        ("exec 2>&-", {0}, EVERY, ""),
        ("taskset -p -c 0 $$ >/dev/null", {0}, EVERY, ""),
        ("for name in $(compgen -e); do unset $name; done", {0}, EVERY, ""),
        ("export LC_ALL=xx_YY.none PYTHONUTF8=0 PYTHONCOERCECLOCALE=0", {0}, EVERY, ""),
        ("trap '' INT HUP", {0}, EVERY, ""),
    ),
]


@pytest.mark.parametrize(("setting", "statuses", "measured", "said"), SETTINGS)
def test_a_run_under_a_setting_is_whole_or_says_why_not(shell, setting, statuses, measured, said):
    result = under(shell, setting, *WORK)
    assert result.status in statuses, result.err
    assert "Traceback" not in result.err
    assert "\N{BOX DRAWINGS LIGHT ARC DOWN AND RIGHT}" not in result.err
    if said:
        assert said in result.err.lower() or said in result.err
    if said == TOO_SMALL:
        assert result.err == said
    if said == "":
        # The shell says that there is no such locale.
        assert "\nhalftrip: " not in f"\n{result.err}"
    if shell.path.exists():
        run = load(shell.path)
        assert run.problems == ()
        assert run.interrupted is None or result.status == 1
        assert run.interrupted is None or measured is None
    if measured is not None:
        assert {m.configuration.transport for m in load(shell.path).measurements} == measured


@pytest.mark.parametrize("most", [4, *extended(2, 6)])
def test_with_few_processes_a_run_ends_with_one_line(shell, most):
    """The limit of a user, as a container has it; threads count, too."""
    need(os.geteuid() == 0, "being another user needs root")
    shell.directory.chmod(0o777)
    user = "setpriv --reuid 54321 --regid 54321 --clear-groups"
    kept = "--inh-caps=+dac_override,+dac_read_search --ambient-caps=+dac_override,+dac_read_search"
    script = f'exec {user} {kept} bash -c "ulimit -u {most}; exec \\"\\$0\\" \\"\\$@\\"" "$0" "$@"'
    result = shell.execute("bash", "-c", script, HALFTRIP, *WORK)
    assert result.status in {0, 1}
    assert "Traceback" not in result.err
    assert len(result.err.splitlines()) <= 1, result.err


def under(shell, setting, *arguments):
    """How halftrip ends under a setting; of a mounted directory the run file is kept."""
    script = f'{setting}; exec "$0" "$@"'
    if "mount" in setting:
        need(can_unshare("--mount"), "mounting a file system needs root, and unshare")
        (shell.directory / "disk").mkdir()
        kept = 'status=$?; [ ! -e run.jsonl ] || cp run.jsonl "$OLDPWD"; exit $status'
        script = f'{setting}; "$0" "$@"; {kept if "cd disk" in setting else "exit $?"}'
        return shell.execute("unshare", "--mount", "bash", "-c", script, HALFTRIP, *arguments)
    # Where the name of its directory has blanks, the command is a script, whose shell needs
    # descriptors.
    command = (sys.executable, "-P", "-m", "halftrip")
    return shell.execute("bash", "-c", script, *command, *arguments)


@pytest.mark.parametrize("name", extended("wheel", "mpich"))
def test_without_shared_memory_mpi_goes_another_way_or_says_why_not(shell, name):
    """Open MPI has other ways. MPICH has not: an mpiexec that is named has to work, so the run ends
    with its words."""
    work = ("run", "-t", "mpi,shm,tcp", "-s", "8", "--time", "0.2s", "-o", "run.jsonl")
    result = under(shell, "mount -t tmpfs -o size=4k none /dev/shm", *work, *chosen(name))
    assert "Traceback" not in result.err
    run = load(shell.path)
    assert run.problems == ()
    if name != "mpich":
        assert result.status == 0
        assert {m.configuration.transport for m in run.measurements} == {"mpi", "shm", "tcp"}
        by_transport = {each.transport: found for each, found in flags_of(run).items()}
        flags = {flag.name for flag in by_transport["mpi"]}
        assert {"mpi-warned", "slower-than-shm"} <= flags
    else:
        assert result.status == 1
        (line,) = result.err.splitlines()
        assert line == f"halftrip: {run.interrupted}"
        assert "UCX  ERROR" in line


def test_a_terminal_that_is_gone_ends_the_run_as_its_signal_does(shell):
    """As when its window is closed: SIGHUP, and nothing can be written any more."""
    controller, terminal = pty.openpty()
    # The terminal is that of its session.
    process = shell.start(
        *("setsid", "--ctty", HALFTRIP, *WORK, "--slices", "10", "--time", "60s", "--ci", "none"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    seen = b""
    while b"slice" not in seen and process.poll() is None:
        seen += os.read(controller, 4096)
    os.close(controller)
    assert process.wait(AMPLE_SECONDS) == 128 + signal.SIGHUP
    assert load(shell.path).interrupted == "stopped by SIGHUP"
