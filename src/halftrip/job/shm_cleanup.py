"""Removes shared memory that dead processes leave behind: its names stay in /dev/shm."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
# How MPI libraries name their segments: Open MPI 5, Open MPI 4, MPICH, UCX, PSM.
PREFIXES = ("sm_segment.", "vader_segment.", "mpich_shar_tmp", "ucx_shm_", "psm2_shm", "psm3_shm")


def is_of_mpi(name: str) -> bool:
    """Whether a file of that name is a segment of MPI."""
    return name.startswith(PREFIXES)


def orphans(
    since: float,
    is_segment: Callable[[str], bool] = is_of_mpi,
    directory: Path = SHARED_MEMORY,
    proc: Path = Path("/proc"),
) -> list[Path]:
    """The files in `directory` that are segments by their names, this user's, no older than `since`
    (seconds since the epoch), and mapped by no process."""
    found = [path for path in segments(is_segment, directory) if _is_ours(path, since)]
    if not found:
        return []
    mapped: set[str] = set()
    for process in proc.iterdir():
        if process.name.isdigit():
            mapped |= mapped_segments(process / "maps", is_segment)
    return [path for path in found if str(path) not in mapped]


def mapped_segments(
    maps: Path = Path("/proc/self/maps"), is_segment: Callable[[str], bool] = is_of_mpi
) -> set[str]:
    """The segments that a process maps, from its list of mappings; none if it has ended."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return set()
    paths = {line.split(maxsplit=5)[-1] for line in lines}
    return {path for path in paths if is_segment(Path(path).name)}


def remove_own() -> None:
    """Removes the names of MPI's segments that this process maps, for an end without MPI_Finalize.
    Other processes that map them keep them."""
    remove([Path(path) for path in mapped_segments()])


def remove(paths: list[Path]) -> None:
    """Removes files, of which some may be missing."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def segments(
    is_segment: Callable[[str], bool] = is_of_mpi, directory: Path = SHARED_MEMORY
) -> list[Path]:
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
