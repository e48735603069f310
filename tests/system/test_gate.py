"""A gate in CI: a build that got slower is stopped, an unchanged one passes; docs/ci.md.

TRIALS is how often either is tried."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.files import ROOT
from harness.need import need

pytestmark = pytest.mark.extended

TRIALS = int(os.environ.get("TRIALS", "1"))
PAGE = (ROOT / "docs" / "ci.md").read_text()
WORK = (
    "-t",
    "unix",
    "-s",
    "8,1K",
    "--wait",
    "spin",
    "--launches",
    "5",
    "--time",
    "20ms",
    "-r",
    "3",
)
# What is slower in the new build: each message takes as long as this many bytes of memory take to
# be written, on whatever machine.
SLOWER = """
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static volatile char scratch[1 << 14];

ssize_t send(int fd, const void* out, size_t size, int flags) {
  for (size_t i = 0; i < sizeof scratch; i++) scratch[i] = (char)i;
  return syscall(SYS_sendto, fd, out, size, flags, NULL, 0);
}
"""


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """A library that makes each message take longer."""
    directory = tmp_path_factory.mktemp("slower")
    source, library = directory / "slower.c", directory / "slower.so"
    source.write_text(SLOWER)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def gate(shell, environment):
    """The status of the gate on a build with this environment, and what it says. The base and the
    new build are measured one after the other: by then the machine may be another."""
    for name in ("base", "new"):
        build = environment if name == "new" else {}
        result = shell.halftrip("run", *WORK, "-q", "-o", f"{name}.jsonl", **build)
        assert result.status == 0, result.err
    compared = shell.halftrip("compare", "base.jsonl", "new.jsonl", "--threshold", "30%")
    for name in ("base", "new"):
        (shell.directory / f"{name}.jsonl").unlink()
    return compared.status, compared.out


@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_build_that_got_slower_is_stopped(shell, slower, trial):
    status, out = gate(shell, {"LD_PRELOAD": str(slower)})
    assert status == 1, out


@pytest.mark.parametrize("trial", range(TRIALS))
def test_an_unchanged_build_passes(shell, trial):
    status, out = gate(shell, {})
    assert status == 0, out


# The page.


def test_the_check_of_reframe_runs(shell):
    """It passes where nothing is slower, and fails where its halftrip says that something is."""
    reframe = Path(sys.executable).with_name("reframe")
    need(reframe.exists(), "ReFrame is not installed; see CONTRIBUTING.md")
    (check,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (shell.directory / "communication_gate.py").write_text(check)
    work = "-t shm -s 8 --launches 2 --time 5ms -r 1"
    result = shell.halftrip("run", *work.split(), "-q", "-o", "baseline.jsonl")
    assert result.status == 0, result.err
    path = f"{Path(sys.executable).parent}:{shell.environment['PATH']}"
    command = (
        str(reframe),
        *("-c", "communication_gate.py", "-r", "--prefix", str(shell.directory)),
        *("-S", f"arguments={work}"),
    )
    base = shell.directory / "baseline.jsonl"
    # Nothing is slower by such a threshold; and without a baseline nothing can be compared.
    for threshold, name, status in (("99%", base, 0), ("5%", "none.jsonl", 1)):
        options = ("-S", f"baseline={name}", "-S", f"threshold={threshold}")
        ended = shell.execute(*command, *options, environment={"PATH": path})
        assert ended.status == status, ended.out + ended.err
