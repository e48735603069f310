"""Why a program failed, by what it and its children have printed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

# Open MPI's account of a crash, each line behind the host and process: a signal, and the calls that
# led to it, the innermost first.
_SIGNAL = re.compile(r"(?P<who>\[[^]]+:\d+\]) Signal: (?P<signal>.+?) \(\d+\)")
_CALL = r"{who} \[ *\d+\] (/[^(\[]+)"
# Lines that Open MPI prints of processes; why they are printed stands in others.
_OF_PROCESS = re.compile(r"\*\*\* |\[[^]\s]+:\d+\] ")
# What its other lines are about.
_ABOUT = re.compile(r"\s*(Framework|Component):\s+(\S+)")
# The first of the calls is the signal handler's.
_OF_HANDLER = ("libc.so", "libc-", "libpthread", "ld-linux")


def crash(lines: Sequence[str]) -> str | None:
    """The crash that these lines tell of, and in which file the code was that crashed; None if they
    tell of none."""
    for line in lines:
        found = _SIGNAL.search(line)
        if found is None:
            continue
        call = re.compile(_CALL.format(who=re.escape(found["who"])))
        files = [os.path.basename(match[1]) for each in lines if (match := call.match(each))]
        where = next((file for file in files if not file.startswith(_OF_HANDLER)), None)
        return found["signal"] + (f" in {where}" if where else "")
    return None


def first_sentence(lines: Sequence[str]) -> str | None:
    """The first line with those on which its sentence goes on: what follows a colon, and what
    begins in lower case; of an exception of Python's, what is behind its calls. None where there
    is no line."""
    if not lines:
        return None
    if lines[0].startswith("Traceback "):
        lines = [line for line in lines[1:] if not line.startswith(" ")] or lines
    said = lines[0].strip()
    for line in map(str.strip, lines[1:]):
        if not (said.endswith(":") or line[:1].islower()):
            break
        said += f" {line}"
    return said


def reason(lines: Sequence[str]) -> str | None:
    """Why a program failed, in its own words; None if it has not said."""
    crashed = crash(lines)
    if crashed is not None:
        return f"a rank crashed: {crashed}"
    said = first_sentence([line for line in lines if not _OF_PROCESS.match(line)] or lines)
    about = dict.fromkeys(" ".join(found.groups()) for found in map(_ABOUT.match, lines) if found)
    if said is None or not about:
        return said
    return f"{said.partition('.  ')[0]} ({', '.join(about).lower()})"
