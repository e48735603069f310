"""Settings of the environment in which a run is started, and what is documented for each: what is
possible is measured, the rest has a reason, and the file is whole."""

import os
import pty
import signal
import subprocess

import pytest

from halftrip.results.run_file import load
from harness.limits import AMPLE_SECONDS
from harness.shell import HALFTRIP

WORK = ("run", "-t", "shm,tcp,unix", "-s", "8", "--time", "5ms", "--slices", "1", "-o", "run.jsonl")
EVERY = {"shm", "tcp", "unix"}
# What is said where a resource is missing.
FILES = "too many open files"

SETTINGS = [
    # The shell's setting, the status, what is measured, and what is said.
    *((f"ulimit -n {count}", {1}, None, FILES) for count in (7, 8, 9, 10, 11)),
    ("ulimit -n 13", {0, 1}, None, None),
    ("ulimit -n 40", {0}, EVERY, ""),
    ("ulimit -v 100000", {1}, None, None),
    ("ulimit -v 300000", {0}, EVERY, ""),
    ("ulimit -f 1", {1}, None, "run.jsonl: File too large"),
    ("exec >/dev/full", {1}, EVERY, "standard output: no space left on device"),
    ("exec >&-", {0}, EVERY, ""),
    ("exec 2>&-", {0}, EVERY, ""),
    ("exec <&- >&- 2>&-", {0}, EVERY, ""),
    ("taskset -p -c 0 $$ >/dev/null", {0}, EVERY, ""),
    ("for name in $(compgen -e); do unset $name; done", {0}, EVERY, ""),
    ("export LC_ALL=xx_YY.none PYTHONUTF8=0 PYTHONCOERCECLOCALE=0", {0}, EVERY, ""),
    ("trap '' INT HUP", {0}, EVERY, ""),
]


@pytest.mark.parametrize(("setting", "statuses", "measured", "said"), SETTINGS)
def test_a_run_under_a_setting_is_whole_or_says_why_not(shell, setting, statuses, measured, said):
    result = shell.execute("bash", "-c", f'{setting}; exec "$0" "$@"', HALFTRIP, *WORK)
    assert result.status in statuses, result.err
    assert "Traceback" not in result.err
    assert "\N{BOX DRAWINGS LIGHT ARC DOWN AND RIGHT}" not in result.err
    if said:
        assert said in result.err.lower() or said in result.err
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


def test_a_terminal_that_is_gone_ends_the_run_as_its_signal_does(shell):
    """As when its window is closed: SIGHUP, and nothing can be written any more."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        # The terminal is that of its session.
        [
            "setsid",
            "--ctty",
            HALFTRIP,
            *WORK[:-4],
            "--time",
            "60s",
            "--ci",
            "none",
            "-o",
            "run.jsonl",
        ],
        cwd=shell.directory,
        env=shell.environment,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    try:
        shell_sees = b""
        while b"slice" not in shell_sees and process.poll() is None:
            shell_sees += os.read(controller, 4096)
        os.close(controller)
        assert process.wait(AMPLE_SECONDS) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()
    assert load(shell.path).interrupted == "stopped by SIGHUP"
