"""SMPI, SimGrid's MPI: programs compiled for it, and run on a platform."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.files import ROOT
from harness.need import need

# For whatever SimGrid does here; a run of two ranks takes a fraction of a second.
SECONDS = 120


def need_simgrid():
    need(
        None not in (shutil.which("smpicc"), shutil.which("smpirun")),
        "needs SimGrid: apt-get install libsimgrid-dev",
    )


@dataclass
class Smpi:
    """Programs of benchmarks/, compiled for SMPI, in a directory."""

    directory: Path

    def compiled(self, name):
        """The program of that name."""
        program = self.directory / name
        if not program.exists():
            source = ROOT / "benchmarks" / f"{name}.c"
            done = called("smpicc", "-O2", source, "-o", program)
            assert (done.returncode, done.stderr) == (0, "")
        return program

    def replayed(self, platform, sizes, *options):
        """Half of the round trip, ns, of messages of these sizes, bytes, between two ranks."""
        program = self.compiled("smpi_pingpong")
        on_two = ("smpirun", "-platform", platform, "-np", "2", *options)
        done = called(*on_two, program, *map(str, sizes))
        assert done.returncode == 0, done.stderr
        return {int(size): float(ns) for size, ns in map(str.split, done.stdout.splitlines())}


def called(*command):
    """Runs a command to its end, with all that it starts: smpirun starts the simulator."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
