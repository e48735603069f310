"""What jobs leave whose processes are all dead."""

import os
import shlex

import pytest

from halftrip.job import left_behind
from halftrip.job.left_behind import Claim, check, remove_left_behind
from halftrip.job.shm_cleanup import Mapping

OLD = (1000, 1000)


@pytest.mark.parametrize(
    ("is_dead", "is_old", "job", "stays"),
    [
        (True, True, "", False),
        (True, False, "", True),
        (False, True, "", True),
        # Of one's own job.
        (True, False, "job-", False),
        (False, False, "job-", True),
        (True, False, "other-", True),
    ],
)
def test_only_the_claims_of_the_dead_are_removed(
    tmp_path, monkeypatch, is_dead, is_old, job, stays
):
    segments = [tmp_path / f"sm_segment.h.0.{each}" for each in range(3)]
    ours, renewed, other = segments
    for path in segments:
        path.touch()
    mapped = {Mapping(str(each), each.stat().st_ino) for each in (ours, renewed)}
    gone = {Mapping(f"{ours} (deleted)", 7)}
    for found in (gone, gone | mapped):
        monkeypatch.setattr(left_behind.shm_cleanup, "mappings", lambda _, found=found: found)
        claim = Claim.of_own_segments("job-", tmp_path)
        assert (claim is None) == (found == gone)
    monkeypatch.undo()
    # Another job has its name since.
    (tmp_path / "new").touch()
    (tmp_path / "new").rename(renewed)
    if is_dead:
        os.close(claim._lock)
        claim._lock = -1
    if is_old:
        os.utime(claim.name, OLD)
    remove_left_behind(job, [tmp_path])
    assert os.path.exists(claim.name) == stays
    assert ours.exists() == stays
    assert renewed.exists()
    assert other.exists()
    claim.cleanup()
    claim.cleanup()


def test_the_doctor_names_segments_that_nobody_maps(tmp_path):
    shm, process = tmp_path / "shm", tmp_path / "proc/1"
    shm.mkdir()
    process.mkdir(parents=True)
    dead, mapped, young, other = (
        shm / name for name in ("sm_segment.h.0.1", "sm_segment.h.0.2", "vader_segment.h.1", "mine")
    )
    for path in (dead, mapped, young, other):
        path.write_bytes(b"x")
        os.utime(path, None if path == young else OLD)
    (process / "maps").write_text(f"7f-8f rw-s 0 00:19 {mapped.stat().st_ino} {mapped}\n")
    found = check(shm, process.parent)
    assert (found.state, found.found[:15]) == ("warning", "1 of dead jobs,")
    assert found.commands == [shlex.join(("rm", str(dead)))]
    dead.unlink()
    assert check(shm, process.parent).state == "ok"
