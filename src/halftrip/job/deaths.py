"""Which process of a job died first, as far as what the others report and print can tell."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Mapping, Sequence

from halftrip.control.protocol import Abort, Closed
from halftrip.errors import SHORTAGE_STATUS, HalftripError, Interrupted, Stopped
from halftrip.job import printed
from halftrip.job.processes import Started
from halftrip.job.shm_cleanup import SHARED_MEMORY
from halftrip.units import size_in_words

# Lines that name the process of a rank that died, the best witness first: a rank of UCX that could
# not read its peer's memory, and then aborted itself; and the mpiexec.
_WITNESSES = (r"\(pid=(\d+)\b.*No such process", r"\bPID (\d+)\b(?! RUNNING AT)")
# MPICH's mpiexec names the lowest of the ranks that had ended when it looked. It may have ended
# others itself by then: that a lower one had not died yet is all that this line proves.
_LOWEST = r"\bPID (\d+) RUNNING AT\b"
# Open MPI's mpiexec, of the rank that ended first, in one line or two; before version 5 it does not
# know its process.
_EXITED_ON = r"process rank (\d+) with PID (\d+) [^\n]*\s+exited\s+on\s+signal (\d+)"
# MPICH's, which does not say whose end it was.
_EXIT_STRING = r"EXIT STRING: .*\(signal (\d+)\)"
# A rank that waits for another one (existing.watched).
_ENDED = r"rank \d+ \(process \d+\) ended before MPI had started"
# By these a process is ended from outside: by a user, a terminal that is gone, a machine without
# memory. Others end programs that do not work.
_OUTSIDE = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM}
# What Python, and Dragon, print when they are interrupted.
_INTERRUPTED = re.compile("KeyboardInterrupt( - .*)?")
# How an mpiexec says that a signal ended a rank: Open MPI as shells do, MPICH by its bare number;
# and Dragon that one ended its head process: as Python has it, in eight bits.
_KILLED_STATUSES: dict[int, tuple[str, signal.Signals]] = {
    **{128 + number: ("a rank", number) for number in _OUTSIDE},
    signal.SIGKILL: ("a rank", signal.SIGKILL),
    **{256 - n: ("its head process", n) for n in (signal.SIGKILL, signal.SIGTERM)},
}


class LaunchFailed(HalftripError):
    """The ranks did not start; the reason is the launcher's own."""


class HostsLost(Interrupted):
    """Hosts are lost, whose ranks are in `hosts`, by name, and the others go on without them."""

    def __init__(self, reason: str, hosts: Mapping[str, Sequence[int]]) -> None:
        super().__init__(reason)
        self.hosts = hosts


class Lost(Interrupted):
    """A rank closed its connection without a reason. `name` is the rank's in messages, `crash` what
    has been printed of its end."""

    def __init__(self, name: str, crash: str | None = None) -> None:
        super().__init__(f"{name} died" + (f": {crash}" if crash else ""))
        self.name = name


def lost(name: str, closed: Closed) -> Interrupted:
    """The error of a rank whose connection was `closed`: it has died, or somebody is on the way."""
    return Lost(name) if type(closed) is Closed else Interrupted(closed.of(name))


def end_of(rank: int, code: int) -> str:
    """How a rank ended, by its exit code, negative for a signal: what a process that has started
    ranks prints, for `first_death`."""
    return f"rank {rank} {how_ended(code)}"


def how_ended(code: int) -> str:
    """How a process ended, by its exit code, negative for a signal."""
    if code == SHORTAGE_STATUS:
        return "has too few descriptors or threads, or too little memory"
    return (
        f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    )


# With less left on a file system, bytes or files, a program cannot make what it needs.
_LITTLE_ROOM, _FEW_FILES = 1 << 20, 16


def add_cause(error: HalftripError) -> None:
    """Adds a full file system among those that ranks use, of which some programs die without a
    word: what they print is a file, too."""
    if isinstance(error, LaunchFailed | Interrupted) and not isinstance(error, Stopped):
        left = map(_little_left, dict.fromkeys((tempfile.gettempdir(), str(SHARED_MEMORY))))
        error.args = ("; ".join((str(error), *filter(None, left))),)


def _little_left(directory: str) -> str | None:
    try:
        found = os.statvfs(directory)
    except OSError:
        return None
    room = found.f_bavail * found.f_frsize
    # Some file systems do not count files.
    if found.f_files > 0 and found.f_favail < _FEW_FILES:
        return f"{directory} is full: room for {found.f_favail} files"
    return f"{directory} is full: {size_in_words(room)} left" if room < _LITTLE_ROOM else None


def reported(message: Abort, rank: int) -> HalftripError:
    """The error of a rank's message, below 0: of one that cannot begin."""
    return message.error() if rank >= 0 else LaunchFailed(message.reason)


def too_few(started: Started, count: int, ranks: int, missing: Sequence[int]) -> LaunchFailed:
    """The error where only `count` of `ranks` have connected in time, and of those on hosts with
    names these are `missing`."""
    hosts = dict.fromkeys(started.hosts[rank] for rank in missing)
    where = f"; none or not all of {', '.join(hosts)}" if hosts else ""
    # Nobody has said why: processors may be busy.
    why = f": {said}" if (said := started.any_reason()) else "; --start-timeout waits longer"
    return LaunchFailed(
        f"only {count} of {ranks} ranks connected within {started.start_seconds:.3g} s{where}{why}"
    )


def ended_early(started: Started, name: str) -> HalftripError:
    """The error where the rank of this name has ended before it could connect, and its mpiexec goes
    on. One that has failed prints why."""
    if killed := _killed(started, {}):
        return killed
    said = started.any_reason()
    return LaunchFailed(f"{name} ended: {said}") if said else Lost(name)


def first_death(
    started: Started, reports: Sequence[HalftripError], names: Mapping[int, str], ranks: int
) -> HalftripError:
    """The error that names the first death. `reports` are what ranks have sent, and their losses,
    in the order in which they were noticed. `names` has the names of the ranks that connected, by
    their processes' ids, in the order of the ranks; there should be `ranks` of them."""
    for name, code in started.exited().items():
        if code < 0:
            return Interrupted(f"{name} {how_ended(code)}")
    all_connected = len(names) == ranks
    own = next(iter(reports), None)
    if own is not None and not isinstance(own, Lost):
        return own
    if not all_connected:
        killed = _killed(started, names)
        if killed is None and own is None:
            killed = _killed_by_status(started)
        if killed is not None:
            return killed
    first = _seen(started, names, reports, all_connected) or own
    if isinstance(first, Lost):
        return Lost(first.name, printed.crash(_all_printed(started)))
    return first or _exit_of_launcher(started, all_connected)


def check_end(started: Started, names: Mapping[int, str]) -> None:
    """Raises Interrupted where a signal from outside has ended a process that was about to end:
    everything is measured, and somebody wanted it to end."""
    for name, code in started.exited().items():
        if -code in _OUTSIDE:
            raise Interrupted(f"{name} {how_ended(code)}")
    if killed := _killed(started, names) or _killed_by_status(started):
        raise killed


def _killed(started: Started, names: Mapping[int, str]) -> HalftripError | None:
    """The signal that has ended a rank, by what is printed."""
    for program, lines in started.printed().items():
        for rank, pid, number in re.findall(_EXITED_ON, "\n".join(lines)):
            process = f" (process {pid})" if int(pid) else ""
            name = names.get(int(pid), f"rank {rank}{process}")
            if int(number) in _OUTSIDE:
                return Interrupted(f"{name} {how_ended(-int(number))}")
        for number in re.findall(_EXIT_STRING, "\n".join(lines)):
            if int(number) in _OUTSIDE:
                return Interrupted(f"a rank {how_ended(-int(number))}")
        for line in lines:
            if re.fullmatch(r"rank \d+ was killed by \w+", line):
                return Interrupted(line)
        if any(_INTERRUPTED.fullmatch(line) for line in lines):
            return Interrupted(f"{program}, or a rank of it, {how_ended(-signal.SIGINT)}")
    return None


def _killed_by_status(started: Started) -> HalftripError | None:
    """The same, by the status of what has started it."""
    for name, code in started.exited().items():
        if code in _KILLED_STATUSES:
            who, number = _KILLED_STATUSES[code]
            of = "" if who == "a rank" else f"{name}: "
            return Interrupted(f"{of}{who} was killed by {number.name}")
    return None


def _all_printed(started: Started) -> list[str]:
    return [line for lines in started.printed().values() for line in lines]


def _exit_of_launcher(started: Started, all_connected: bool) -> HalftripError:
    """What the first process that ended says about the ranks that it has started."""
    for name, code in started.exited().items():
        said = started.reason(name)
        # One that fails says why; this is what the others say of one that was killed.
        if said is not None and re.fullmatch(_ENDED, said):
            return Interrupted(said)
        reason = f"{name} {how_ended(code)}" + (f": {said}" if said else "")
        # Once all have connected, the launch itself has not failed.
        return Interrupted(reason) if all_connected else LaunchFailed(reason)
    return Interrupted("a rank died")


def _seen(
    started: Started,
    names: Mapping[int, str],
    reports: Sequence[HalftripError],
    all_connected: bool,
) -> HalftripError | None:
    """The death that a printed line names, if one does. The connection that is closed first may be
    another rank's: MPICH's mpiexec sends the others SIGKILL as soon as the first of a dying rank's
    files is closed, and a rank that has not connected has none."""
    lines = _all_printed(started)
    text = "\n".join(lines)
    for witness in _WITNESSES:
        for pid in map(int, re.findall(witness, text)):
            if pid in names:
                return Lost(names[pid])
    first = reports[0].name if reports and isinstance(reports[0], Lost) else None
    # Of a rank below the one whose connection closed first, the line proves nothing.
    listed = list(names.values())
    later = listed[listed.index(first) + 1 :] if first in listed else listed
    for pid in map(int, re.findall(_LOWEST, text)):
        if names.get(pid) in later:
            return Lost(names[pid])
    for line in lines:
        if re.fullmatch(r"rank \d+ ended with status \d+", line) and not all_connected:
            return LaunchFailed(line)
    return None
