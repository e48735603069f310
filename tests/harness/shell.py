"""Runs the command halftrip as a user does: real ranks, real MPI, real processes."""

import contextlib
import csv
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from halftrip.analysis.figure import names
from halftrip.analysis.setting_figures import CONFIGURATION
from halftrip.cli import main
from halftrip.results.run_file import load
from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.marked import Marked
from harness.mpi import AS_ROOT

_CONFIGURATION = names(CONFIGURATION)
HALFTRIP = str(Path(sys.executable).with_name("halftrip"))
_WARNING = "halftrip: warning: "
# How often to look which segments a running command maps.
_LOOK_SECONDS = 0.25
# Variables of launchers and MPIs, which would change what a test is about; and one that has every
# Python compile halftrip again.
_FORGOTTEN = ("OMPI_", "PMI", "SLURM_", "HALFTRIP_", "MPI4PY_", "PYTHONDONTWRITEBYTECODE")


@dataclass
class Result:
    """How a command ended, and what it printed; `path` is where its run file is, if it has one.
    `warnings` are those of a busy machine, which `err` leaves out: tests may run beside others."""

    status: int
    out: str
    err: str
    path: Path

    def __post_init__(self):
        lines = self.err.splitlines(keepends=True)
        self.warnings = [line.rstrip("\n") for line in lines if line.startswith(_WARNING)]
        self.err = "".join(line for line in lines if not line.startswith(_WARNING))

    @property
    def run(self):
        return load(self.path)

    def rows(self):
        """The rows of the run, as CSV has them, each in the state of the machine that held most."""
        return first_states(csv.DictReader(io.StringIO(self.show("--format", "csv").out)))

    def cells(self, *columns):
        """These cells of the rows of the run, as JSON has them."""
        rows = json.loads(self.show("--format", "json").out)["rows"]
        return {tuple(row[column] for column in columns) for row in rows}

    def reasons(self, *transports):
        """Why something was skipped, of these transports or of all."""
        skips = self.run.skips
        return {each.reason for each in skips if each.transport in transports or not transports}

    def show(self, *arguments):
        """``halftrip show`` of the run file."""
        return call(self.path.parent, "show", self.path.name, *arguments)


def first_states(rows):
    """The first of the rows of each configuration, of which CSV and JSON have one for each state of
    the machine where its times go with that: whether it changes, nobody knows."""
    seen, found = set(), []
    for row in rows:
        configuration = tuple(str(row[name]) for name in _CONFIGURATION)
        if not row["state"] or configuration not in seen:
            found.append(row)
        seen.add(configuration)
    return found


def call(directory, *arguments):
    """Calls the command line within this process: ten times as fast, for what starts no ranks."""
    # With a status other than 0 it would then end this process at once.
    assert "mpi4py.MPI" not in sys.modules
    out, err = io.StringIO(), io.StringIO()
    words = ["halftrip", *(str(argument) for argument in arguments)]
    with (
        mock.patch.object(sys, "argv", words),
        # Where the tests are started as ``python -m pytest``, that is what usage would name.
        mock.patch.object(sys.modules["__main__"], "__package__", None),
        mock.patch.dict(os.environ, {"COLUMNS": "400"}),
        contextlib.chdir(directory),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    return Result(ended.value.code, out.getvalue(), err.getvalue(), directory / "run.jsonl")


def _with_signals(ignored):
    """The words before a command that signals end as usual, also where whoever started the tests
    ignores some of them; those that are `ignored` do not end it."""
    names = (number.name.removeprefix("SIG") for number in ignored)
    return ["env", "--default-signal=INT,TERM,HUP", *(f"--ignore-signal={name}" for name in names)]


class Shell:
    """Runs commands in `directory`, with a mark on all their processes. `temporary` is for what
    they keep elsewhere: an mpiexec that is killed leaves files behind, and the next that gets its
    number takes them for those of one that lives."""

    def __init__(self, directory, temporary):
        self.directory = directory
        self.temporary = Path(temporary)
        self.path = directory / "run.jsonl"
        self.marked = Marked()
        self._started = []
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(_FORGOTTEN)
        }
        self.environment |= self.marked.environment | {
            "TMPDIR": str(temporary),
            # Wide enough that no line is wrapped.
            "COLUMNS": "400",
            # What a user has set for halftrip is not for tests.
            "HALFTRIP_CONFIG": "",
        }

    def start(self, *command, environment=None, ignored=(), **options):
        """Starts a command that ignores some signals; `options` are those of subprocess.Popen."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(
            [*_with_signals(ignored), *(str(word) for word in command)],
            cwd=self.directory,
            env=self.environment | (environment or {}),
            **(streams | options),
        )
        self._started.append(process)
        return process

    def execute(self, *command, timeout=AMPLE_SECONDS, environment=None, **options):
        """Runs a command to its end; fails the test if it takes longer than `timeout` seconds."""
        process = self.start(*command, environment=environment, **options)
        out, err = self._communicate(process, timeout)
        return Result(process.returncode, out, err, self.path)

    def _communicate(self, process, timeout):
        waited = 0.0
        while True:
            try:
                return process.communicate(timeout=_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                self.marked.note_segments()
                waited += _LOOK_SECONDS
            if waited >= timeout:
                self.marked.end()
                out, err = process.communicate()
                pytest.fail(f"{process.args} has not ended after {timeout} s:\n{out}{err}")

    def halftrip(self, *arguments, prefix=(), timeout=AMPLE_SECONDS, **environment):
        """Runs ``halftrip ARGUMENTS``, after `prefix`, which may start it several times."""
        if prefix:
            environment |= AS_ROOT
        command = (*prefix, HALFTRIP, *arguments)
        return self.execute(*command, timeout=timeout, environment=environment)

    def run(self, *arguments, **options):
        """Runs ``halftrip run -o run.jsonl ARGUMENTS``."""
        return self.halftrip("run", "-o", self.path.name, *arguments, **options)

    def measure(self, *arguments, silent=False, **options):
        """Runs ``halftrip run -o run.jsonl ARGUMENTS``, which has to go well; if it has to be
        `silent`, without a word about it."""
        result = self.run(*arguments, **options)
        assert (result.status, result.err if silent else "") == (0, ""), result.err or result.out
        return result

    def program(self, code):
        """Runs a program in Python."""
        return self.execute(sys.executable, "-c", code)

    @contextlib.contextmanager
    def inside(self):
        """This process has the directory and the environment of a command, for a while."""
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            contextlib.chdir(self.directory),
        ):
            yield

    def call(self, *arguments):
        """The command line within this process: for what starts no ranks."""
        with self.inside():
            return call(self.directory, *arguments)

    def script(self, name, text):
        """Writes a program into the directory; its path, quoted."""
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return shlex.quote(str(path))

    def patched(self, code):
        """An environment in which every Python process runs `code` first."""
        (self.directory / "sitecustomize.py").write_text(code)
        return {"PYTHONPATH": str(self.directory)}

    def small_cache(self):
        """An environment in which the last-level cache of every core has 1 MiB: a ring of buffers
        that does not fit into the real one takes seconds to fill."""
        return self.patched(
            "from halftrip.telemetry import topology\n"
            "topology.last_level_cache = lambda *_: 1 << 20\n"
        )

    def close(self):
        """Waits for the end of all processes of the test, and kills what is left after that; what
        was left: processes, segments, halftrip's temporary files."""
        left = self.marked.await_end(END_SECONDS)
        self.marked.end()
        for process in self._started:
            process.communicate()
        return [*left, *(str(path) for path in self.temporary.glob("halftrip-*"))]


@contextlib.contextmanager
def opened_shell(directory):
    """A shell that ends all that it has started, and fails if that has not ended by itself."""
    # A short name: the path of a socket in it must have fewer than 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ht-", ignore_cleanup_errors=True) as temporary:
        shell = Shell(directory, temporary)
        try:
            yield shell
        finally:
            left = shell.close()
    assert not left, f"left behind, and killed or removed: {'; '.join(left)}"
