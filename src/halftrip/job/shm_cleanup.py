"""Removes shared memory that dead processes leave behind: its names stay in /dev/shm."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

SHARED_MEMORY = Path("/dev/shm")
# How MPI libraries name their segments: Open MPI 5, Open MPI 4, MPICH, UCX, PSM.
PREFIXES = ("sm_segment.", "vader_segment.", "mpich_shar_tmp", "ucx_shm_", "psm2_shm", "psm3_shm")


def is_of_mpi(name: str) -> bool:
    """Whether a file of that name is a segment of MPI."""
    return name.startswith(PREFIXES)


# inotify(7).
_IN_CREATE = 0x100


def watch(directory: Path = SHARED_MEMORY) -> int | None:
    """A descriptor that can be read when a file has been made in the directory, until it is; None
    where the kernel watches none."""
    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if libc.inotify_add_watch(descriptor, os.fsencode(directory), _IN_CREATE) >= 0:
        return int(descriptor)
    if descriptor >= 0:
        os.close(descriptor)
    return None


def of_libfabric(
    pids: Iterable[int], directory: Path = SHARED_MEMORY, proc: Path = Path("/proc")
) -> list[Path]:
    """The segments of these processes by libfabric's provider shm, as far as they have ended: it
    names each by the numbers of its process and of its user."""
    ended = [pid for pid in pids if not (proc / str(pid)).exists()]
    return [path for pid in ended for path in directory.glob(f"{pid}:{os.getuid()}:*")]


def orphans(
    since: float,
    is_segment: Callable[[str], bool],
    directory: Path = SHARED_MEMORY,
    proc: Path = Path("/proc"),
) -> list[Path]:
    """The files in `directory` whose names say that they are this job's segments, this user's, no
    older than `since` (seconds since the epoch), and mapped by no process."""
    found = [path for path in segments(is_segment, directory) if _is_ours(path, since)]
    mapped = _mapped_by_all(proc, is_segment) if found else set()
    return [path for path in found if str(path) not in mapped]


class Segments:
    """The segments of MPI that processes of one job were seen to map. What a killed process leaves
    has no other sign of whose it was: another job of this user may have just made its own."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._seen: set[Mapping] = set()
        self.pids: set[int] = set()

    def note(self, pids: Iterable[int]) -> None:
        """Notes what these processes map now."""
        for pid in pids:
            self.pids.add(pid)
            self._seen |= mappings(self._proc / str(pid) / "maps")

    def add(self, mapping: Mapping) -> None:
        """Adds one that was seen by somebody else."""
        self._seen.add(mapping)

    def orphans(self) -> list[Path]:
        """Those that still exist, and that no process maps."""
        left = [each for each in self._seen if each.is_there]
        if not left:
            return []
        mapped = _mapped_by_all(self._proc, is_of_mpi)
        return [Path(each.path) for each in left if each.path not in mapped]


class Mapping(NamedTuple):
    """A segment, as the list of a process's mappings has it."""

    path: str
    inode: int

    @property
    def is_there(self) -> bool:
        """Whether it still has its name."""
        return _inode(self.path) == self.inode


def mapped_segments(
    maps: Path = Path("/proc/self/maps"), is_segment: Callable[[str], bool] = is_of_mpi
) -> set[str]:
    """The segments that a process maps, from its list of mappings; none if it has ended."""
    return {mapping.path for mapping in mappings(maps, is_segment)}


def mappings(maps: Path, is_segment: Callable[[str], bool] = is_of_mpi) -> set[Mapping]:
    """The segments that a process maps, with their inodes; none if it has ended."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return set()
    # Addresses, permissions, offset, device, inode, path.
    fields = [line.split(maxsplit=5) for line in lines]
    return {
        Mapping(words[5], int(words[4]))
        for words in fields
        if len(words) == 6 and is_segment(Path(words[5]).name)
    }


def _mapped_by_all(proc: Path, is_segment: Callable[[str], bool]) -> set[str]:
    mapped: set[str] = set()
    for process in proc.iterdir():
        if process.name.isdigit():
            mapped |= mapped_segments(process / "maps", is_segment)
    return mapped


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def remove_own() -> None:
    """Removes the names of MPI's segments that this process maps, for an end without MPI_Finalize.
    Other processes that map them keep them."""
    remove([Path(path) for path in mapped_segments()])


def remove(paths: list[Path]) -> None:
    """Removes files, of which some may be missing."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def segments(is_segment: Callable[[str], bool], directory: Path = SHARED_MEMORY) -> list[Path]:
    """The files in `directory` that are segments by their names."""
    try:
        return [path for path in directory.iterdir() if is_segment(path.name)]
    except OSError:
        return []


def _is_ours(path: Path, since: float) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and status.st_mtime >= since
