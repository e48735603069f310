"""Shared memory that MPI left behind: only this job's, and only where nobody maps it."""

import os
from pathlib import Path

from halftrip.job import shm_cleanup


def test_only_unmapped_segments_of_this_job_are_removed(tmp_path):
    shm, proc = tmp_path / "shm", tmp_path / "proc"
    for directory in (shm, proc / "1", proc / "self"):
        directory.mkdir(parents=True)
    for name in ("sm_segment.h.0.1.0", "vader_segment.h.0.1.1", "precious", "sm_segment.old"):
        (shm / name).touch()
    os.utime(shm / "sm_segment.old", (1000, 1000))
    mapped = shm / "vader_segment.h.0.1.1"
    (proc / "1" / "maps").write_text(f"7f00-7f01 rw-s 0000 00:19 7   {mapped}\n7f02-7f03 r 0 0 0\n")
    found = shm_cleanup.orphans(since=2000, directory=shm, proc=proc)
    assert found == [shm / "sm_segment.h.0.1.0"]
    shm_cleanup.remove(found)
    assert sorted(path.name for path in shm.iterdir()) == [
        "precious",
        "sm_segment.old",
        "vader_segment.h.0.1.1",
    ]
    shm_cleanup.remove(found)
    assert shm_cleanup.orphans(0, directory=tmp_path / "nowhere", proc=proc) == []
    assert shm_cleanup.mapped_segments(Path("/nowhere")) == set()
