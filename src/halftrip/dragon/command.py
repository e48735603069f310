"""The command that starts a Dragon runtime, and what it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from halftrip.dragon.process import in_runtime, is_installed, no_dragon
from halftrip.errors import Unavailable, UsageError
from halftrip.interpreter import RUN_MODULE

SINGLE_NODE = "-s"
_SINGLE_NODE_OPTIONS = (SINGLE_NODE, "--single-node-override")
# In an allocation of these workload managers, Dragon starts on all nodes by itself: the variable
# with their number, or with a file that names them.
_NODE_COUNTS = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
_NODE_FILE = "PBS_NODEFILE"
# The workload managers that Dragon looks for, by their commands.
_MANAGERS = {"Slurm": "srun", "PBS": "qstat"}
# Lines that say how a healthy runtime ends.
_NOISE = re.compile(
    r"^\+\+\+ head proc exited|^warning: \d+ leftover files|^D\w+[MD]$|dragon-config"
)


class RuntimeCommand:
    """How a runtime is started: `words` before the program that it is to run. `spans_nodes`: its
    processes may be on several. `note` is what its user may not expect, if there is something."""

    def __init__(self, words: Sequence[str], note: str = "") -> None:
        self.words = tuple(words)
        self.spans_nodes = not set(_SINGLE_NODE_OPTIONS) & set(words)
        self.note = note

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment to start it in. On several nodes it needs the other programs of its
        package; on one, those that it would find only take time."""
        return {**environ, "PATH": _path(environ)} if self.spans_nodes else dict(environ)


def runtime_command(requested: str | None, environ: Mapping[str, str]) -> RuntimeCommand:
    """The command that was `requested`, or Dragon beside this Python: on all nodes of an
    allocation of several, else on this node alone.

    Raises UsageError if what was requested is not a program, Unavailable if Dragon is not
    installed.
    """
    if not is_installed():
        raise Unavailable(no_dragon())
    if requested is not None:
        try:
            words = shlex.split(requested)
        except ValueError as error:
            raise UsageError(f"--dragon: {requested!r}: {str(error).lower()}") from None
        program = shutil.which(words[0], path=_path(environ)) if words else None
        if program is None:
            raise UsageError(f"--dragon: {requested!r} is not a program that can be run")
        return RuntimeCommand((program, *words[1:]))
    own = (*RUN_MODULE, "dragon")
    if _nodes(environ) > 1:
        return RuntimeCommand(own)
    return RuntimeCommand((*own, SINGLE_NODE), _without_allocation(environ))


def notes(requested: str | None) -> list[str]:
    """What the user may not expect of the runtime that is started, a line for each."""
    if in_runtime() or requested is not None or not is_installed():
        return []
    note = runtime_command(None, os.environ).note
    return [note] if note else []


def _path(environ: Mapping[str, str]) -> str:
    """Where programs are: beside this Python first."""
    return f"{os.path.dirname(sys.executable)}{os.pathsep}{environ.get('PATH', os.defpath)}"


def _nodes(environ: Mapping[str, str]) -> int:
    """How many nodes the allocation has that this process runs in; 0 if it runs in none."""
    for name in _NODE_COUNTS:
        if environ.get(name, "").isdecimal():
            return int(environ[name])
    try:
        return len(set(Path(environ[_NODE_FILE]).read_text(encoding="utf-8").split()))
    except (KeyError, OSError):
        return 0


def _without_allocation(environ: Mapping[str, str]) -> str:
    """What to tell where there is a workload manager, but no allocation: Dragon by itself would
    refuse to start."""
    found = [name for name, program in _MANAGERS.items() if shutil.which(program)]
    if not found or _nodes(environ):
        return ""
    return f"no allocation of {' or '.join(found)}: Dragon runs on this node alone (dragon -s)"


def telling(lines: Sequence[str]) -> list[str]:
    """The lines that Dragon and its processes printed, without those of a healthy end."""
    return [line for line in lines if not _NOISE.search(line)]


def reason(lines: Sequence[str]) -> str | None:
    """Why a runtime did not start, in its own words: those of the last error, or its last line."""
    lines = [line.strip() for line in telling(lines) if line.strip()]
    errors = [line for line in lines if re.match(r"\w+(\.\w+)*(Error|Exception): ", line)]
    said = (errors or lines)[-1:]
    return re.sub(r"^[\w.]+(Error|Exception): ", "", said[0]) if said else None
