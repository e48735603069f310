"""What tests of whole commands share: real ranks, real MPI, real processes."""

import contextlib
import os
import pty
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from halftrip.results.run_file import load

HALFTRIP = str(Path(sys.executable).with_name("halftrip"))
# Every process of a test has this variable, so that what is left behind can be told from others.
MARK = "HALFTRIP_TEST_MARK"

# Open MPI from the wheel, and what Debian packages: both families, pointer and int handles.
MPIEXECS = {
    "wheel": str(Path(sys.executable).with_name("mpiexec")),
    "openmpi": "mpirun.openmpi",
    "mpich": "mpirun.mpich",
}


def mpiexec(name):
    """The path of an mpiexec; a missing one is a failure, never a skip."""
    path = shutil.which(MPIEXECS[name])
    assert path is not None, f"{MPIEXECS[name]} is not installed; see CONTRIBUTING.md"
    return path


@dataclass
class Result:
    status: int
    out: str
    err: str
    path: Path

    @property
    def run(self):
        return load(self.path)


SHARED_MEMORY = Path("/dev/shm")
# Segments of other runs on this host come and go, and are mapped by them for nearly all of the time
# in between.
_SETTLE_SECONDS = 3.0


def shared_memory():
    """The names of all segments of this host."""
    return {path.name for path in SHARED_MEMORY.iterdir()}


def orphaned_since(before):
    """The names of segments that are new and that no process maps, once those of other runs have
    gone: what processes that have ended left behind."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while (orphans := (shared_memory() - before) - _mapped()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return orphans


def _mapped():
    """The names of the segments that some process maps."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                lines = (process / "maps").read_text(errors="replace").splitlines()
                found |= {Path(line).name for line in lines if f"{SHARED_MEMORY}/" in line}
    return found


class Shell:
    """Runs halftrip in a directory of its own, with a mark on everything that it starts, and
    `temporary` for what that keeps elsewhere: an mpiexec that is killed leaves files behind, and
    the next that gets its number takes them for those of one that lives."""

    def __init__(self, directory, temporary):
        self.directory = directory
        self.mark = uuid.uuid4().hex
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMI", "HALFTRIP_", "MPI4PY_"))
        }
        self.environment[MARK] = self.mark
        self.environment["TMPDIR"] = str(temporary)
        # Of mpiexecs that tests start themselves; halftrip must do without.
        self.as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def command(self, *arguments, prefix=()):
        return [*prefix, HALFTRIP, *(str(argument) for argument in arguments)]

    def halftrip(self, *arguments, prefix=(), timeout=120, **environment):
        if prefix:
            environment |= self.as_root
        result = subprocess.run(
            self.command(*arguments, prefix=prefix),
            cwd=self.directory,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Result(result.returncode, result.stdout, result.stderr, self.directory / "run.jsonl")

    def run(self, *arguments, **options):
        """``halftrip run -o run.jsonl ...``."""
        return self.halftrip("run", "-o", "run.jsonl", *arguments, **options)

    def on_a_terminal(self, *arguments):
        """What ``halftrip run -o run.jsonl ...`` shows on a pseudo-terminal beside its output."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            self.command("run", "-o", "run.jsonl", *arguments),
            cwd=self.directory,
            env=self.environment | {"TERM": "xterm-256color", "COLUMNS": "100"},
            stdout=subprocess.DEVNULL,
            stderr=follower,
        )
        os.close(follower)
        seen = b""
        with open(leader, "rb", buffering=0) as shown, contextlib.suppress(OSError):
            # It is an error to read what the other side has closed.
            while part := shown.read(4096):
                seen += part
        assert process.wait(timeout=60) == 0
        return seen

    def left_behind(self):
        """The processes that still carry this shell's mark."""
        left = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    if self.mark.encode() in (process / "environ").read_bytes():
                        left.append(int(process.name))
                except OSError:
                    continue
        return left
