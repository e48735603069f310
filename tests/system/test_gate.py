"""A gate in CI: a build that got slower is stopped, an unchanged one passes; docs/ci.md.

TRIALS is how often either is tried."""

import os
import subprocess

import pytest

from harness.preload import preloading

pytestmark = pytest.mark.extended

TRIALS = int(os.environ.get("TRIALS", "1"))
WORK = ("-t", "unix", "-s", "8", "--wait", "spin", "--launches", "5", "--time", "20ms", "-r", "3")
# What is slower in the new build: each message takes as long as this many bytes of memory take to
# be written, on whatever machine.
SLOWER = """
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static volatile char scratch[1 << 20];

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
def test_a_build_that_got_slower_is_stopped_and_an_unchanged_one_passes(shell, slower, trial):
    for environment, expected in ((preloading(slower), 1), ({}, 0)):
        status, out = gate(shell, environment)
        assert status == expected, out
