"""Which process of a job died first, as far as what the others report and print can tell."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence

from halftrip.control.protocol import Closed
from halftrip.errors import SHORTAGE_STATUS, HalftripError, Interrupted
from halftrip.job import printed
from halftrip.job.processes import Started

# Lines that name the process of a rank that died, the best witness first: a rank of UCX that could
# not read its peer's memory, and then aborted itself; and the mpiexec.
_WITNESSES = (r"\(pid=(\d+)\b.*No such process", r"\bPID (\d+)\b(?! RUNNING AT)")
# MPICH's mpiexec names the lowest of the ranks that had ended when it looked. It may have ended
# others itself by then: that a lower one had not died yet is all that this line proves.
_LOWEST = r"\bPID (\d+) RUNNING AT\b"
# How an mpiexec says that a signal ended a rank: Open MPI as shells do, MPICH by its bare number;
# and Dragon that one ended its head process: as Python has it, in eight bits.
_KILLED_STATUSES = {
    9: ("a rank", signal.SIGKILL),
    128 + signal.SIGKILL: ("a rank", signal.SIGKILL),
    128 + signal.SIGTERM: ("a rank", signal.SIGTERM),
    256 - signal.SIGKILL: ("its head process", signal.SIGKILL),
    256 - signal.SIGTERM: ("its head process", signal.SIGTERM),
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
    if reports and not isinstance(reports[0], Lost):
        return reports[0]
    first = _seen(started, names, reports, all_connected) or next(iter(reports), None)
    if isinstance(first, Lost):
        return Lost(first.name, printed.crash(_all_printed(started)))
    return first or _exit_of_launcher(started, all_connected)


def _all_printed(started: Started) -> list[str]:
    return [line for lines in started.printed().values() for line in lines]


def _exit_of_launcher(started: Started, all_connected: bool) -> HalftripError:
    """What the first process that ended says about the ranks that it has started."""
    for name, code in started.exited().items():
        if code in _KILLED_STATUSES and not all_connected:
            who, number = _KILLED_STATUSES[code]
            of = "" if who == "a rank" else f"{name}: "
            return Interrupted(f"{of}{who} was killed by {number.name}")
        said = started.reason(name)
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
        found = re.fullmatch(r"rank \d+ (was killed by \w+|ended with status \d+)", line)
        if found is not None and not all_connected:
            return (Interrupted if found[1].startswith("was killed") else LaunchFailed)(line)
    return None
