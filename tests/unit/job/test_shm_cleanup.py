"""Shared memory that MPI left behind: only this job's, and only where nobody maps it."""

import os
from pathlib import Path

import pytest

from halftrip.job import shm_cleanup


@pytest.fixture
def places(tmp_path):
    """A directory of segments, and one of processes."""
    shm, proc = tmp_path / "shm", tmp_path / "proc"
    for directory in (shm, proc / "1", proc / "2", proc / "self"):
        directory.mkdir(parents=True)
    return shm, proc


def let_map(proc, number, *paths):
    """What a process maps, as the kernel lists it."""
    lines = [f"7f00-7f01 rw-s 0000 00:19 {path.stat().st_ino}   {path}\n" for path in paths]
    (proc / str(number) / "maps").write_text("".join([*lines, "7f02-7f03 r 0 0 0\n"]))


def test_segments_of_a_job_are_those_that_its_processes_mapped(places):
    shm, proc = places
    ours, shared, strangers = (shm / f"sm_segment.h.0.{i}" for i in range(3))
    for path in (ours, shared, strangers):
        path.touch()
    let_map(proc, 1, ours, shared)
    seen = shm_cleanup.Segments(proc)
    seen.note([1, 3])
    let_map(proc, 2, shared)
    # Process 1 maps them still.
    assert seen.orphans() == []
    let_map(proc, 1)
    assert seen.orphans() == [ours]
    shm_cleanup.remove(seen.orphans())
    assert seen.orphans() == []
    assert shared.exists()
    # Another job has just made it, and does not map it yet.
    assert strangers.exists()


def test_segments_of_libfabric_are_named_by_processes_that_have_ended(places):
    shm, proc = places
    user = os.getuid()
    ended, alive, strangers = (shm / f"{each}:0" for each in (f"7:{user}", f"1:{user}", "7:99999"))
    for path in (ended, alive, strangers, shm / f"77:{user}:0"):
        path.touch()
    assert shm_cleanup.of_libfabric([1, 7], shm, proc) == [ended]


def test_a_name_that_another_job_has_since_taken_is_left_alone(places):
    shm, proc = places
    path, other = shm / "vader_segment.h.0.1.0", shm / "new"
    path.touch()
    other.touch()
    let_map(proc, 1, path)
    seen = shm_cleanup.Segments(proc)
    seen.note([1])
    let_map(proc, 1)
    other.rename(path)
    assert seen.orphans() == []


def test_only_unmapped_files_with_the_name_of_this_job_are_removed(places):
    shm, proc = places
    for name in ("_dragon_7_a", "_dragon_7_b", "_dragon_8", "_dragon_7_old"):
        (shm / name).touch()
    os.utime(shm / "_dragon_7_old", (1000, 1000))
    let_map(proc, 1, shm / "_dragon_7_b")

    def is_of_job(name):
        return name.startswith("_dragon_7")

    found = shm_cleanup.orphans(2000, is_of_job, directory=shm, proc=proc)
    assert found == [shm / "_dragon_7_a"]
    shm_cleanup.remove(found)
    shm_cleanup.remove(found)
    assert len(list(shm.iterdir())) == 3
    assert shm_cleanup.orphans(0, is_of_job, directory=shm / "nowhere", proc=proc) == []
    assert shm_cleanup.mapped_segments(Path("/nowhere")) == set()
