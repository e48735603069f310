"""What dead jobs of this user have left: the next start removes what is surely of one of
halftrip's, and ``halftrip doctor`` names the rest.

MPI removes its segments in MPI_Finalize, which no killed rank reaches. Where all ranks of a job are
killed, nobody is left who could do it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from halftrip.job import shm_cleanup
from halftrip.job.shm_cleanup import SHARED_MEMORY, Mapping

if TYPE_CHECKING:
    from halftrip.telemetry.doctor import Check

_PREFIX = "halftrip-job-"
_SEGMENTS = "segments"
# What is younger may belong to somebody who has not locked it, or mapped it, yet, s.
_YOUNG_SECONDS = 60.0
_MOST_NAMED = 5


class Claim:
    """A new directory for files of the job of that name, in `parent` or where temporary files are.
    It is this process's as long as it lives, by a lock, which the kernel releases in any case.
    Raises OSError where there can be none."""

    def __init__(self, parent: Path | None = None, job: str = "") -> None:
        self.name = tempfile.mkdtemp(prefix=f"{_PREFIX}{job}", dir=parent)
        self._lock = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @classmethod
    def of_own_segments(cls, job: str, parent: Path = SHARED_MEMORY) -> Claim | None:
        """A claim for the segments of MPI that this process maps now, which go with it; None if
        there are none that have a name, or there can be no claim."""
        own = [each for each in shm_cleanup.mappings(Path("/proc/self/maps")) if each.is_there]
        if not own:
            return None
        with contextlib.suppress(OSError):
            claim = cls(parent, job)
            lines = [f"{each.inode} {each.path}\n" for each in own]
            Path(claim.name, _SEGMENTS).write_text("".join(lines))
            return claim
        return None

    def cleanup(self) -> None:
        """Removes the directory. It may be called twice, by two threads."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            shutil.rmtree(self.name, ignore_errors=True)
            os.close(lock)


def remove_left_behind(job: str = "", parents: Sequence[Path] = ()) -> None:
    """Removes the claims of processes that are dead, and the segments that they have noted: those
    of a job, all of whose processes have made theirs, or those of any job that are not young."""
    for parent in parents or (SHARED_MEMORY, Path(tempfile.gettempdir())):
        for path in parent.glob(f"{_PREFIX}{job}*"):
            # Somebody else may remove it at the same time.
            with contextlib.suppress(OSError):
                _remove_if_dead(path, also_young=bool(job))


def _remove_if_dead(path: Path, also_young: bool) -> None:
    """Raises OSError where it is not this user's, or somebody's who lives."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(directory)
        if status.st_uid != os.geteuid() or (_is_young(status) and not also_young):
            return
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        noted = shm_cleanup.Segments()
        with contextlib.suppress(FileNotFoundError):
            for line in Path(path, _SEGMENTS).read_text().splitlines():
                inode, _, name = line.partition(" ")
                if inode.isdecimal() and shm_cleanup.is_of_mpi(os.path.basename(name)):
                    noted.add(Mapping(name, int(inode)))
        shm_cleanup.remove(noted.orphans())
        shutil.rmtree(path)
    finally:
        os.close(directory)


def _is_young(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime < _YOUNG_SECONDS


def check(directory: Path = SHARED_MEMORY, proc: Path = Path("/proc")) -> Check:
    """Whether MPI has left segments: this user's, which no process maps."""
    # A run needs this module, and not those.
    from halftrip.telemetry.doctor import Check

    name = "segments of MPI"
    left: dict[Path, int] = {}
    for path in sorted(shm_cleanup.orphans(0.0, shm_cleanup.is_of_mpi, directory, proc)):
        with contextlib.suppress(OSError):
            status = path.stat()
            if not _is_young(status):
                left[path] = status.st_size
    if not left:
        return Check(name, "ok", "none is left of a dead job")
    found = f"{len(left)} of dead jobs, up to {sum(left.values()) / 1e6:.0f} MB"
    advice = "no process here maps them"
    if len(left) > _MOST_NAMED:
        advice += f"; the first {_MOST_NAMED}"
    command = shlex.join(["rm", *map(str, list(left)[:_MOST_NAMED])])
    return Check(name, "warning", found, advice, commands=[command])
