"""Ranks that end before they could connect, as the kernel shows them."""

import shutil

import pytest

from halftrip.job import starting_ranks
from halftrip.job.starting_ranks import StartingRanks


def process(proc, pid, environ, state="S"):
    (proc / str(pid)).mkdir(exist_ok=True)
    (proc / str(pid) / "environ").write_text("\0".join([*environ, ""]))
    (proc / str(pid) / "stat").write_text(f"{pid} (a (b) c) {state} 1 2 3")


@pytest.mark.parametrize("way", ["zombie", "gone"])
def test_a_rank_that_has_ended_is_named_unless_it_has_connected(tmp_path, monkeypatch, way):
    monkeypatch.setattr(starting_ranks, "_GRACE_SECONDS", -1.0)
    ranks = StartingRanks(tmp_path)
    process(tmp_path, 40, ["A=1"])
    process(tmp_path, 41, ["OMPI_COMM_WORLD_RANK=0", "B="])
    process(tmp_path, 42, ["PMI_RANK=1"])
    ranks.look([40, 41, 42, 43])
    assert ranks.dead(()) is None
    for pid in (40, 42):
        if way == "gone":
            shutil.rmtree(tmp_path / str(pid))
        else:
            process(tmp_path, pid, ["PMI_RANK=1"], "Z")
    ranks.look([41])
    assert ranks.dead(()) == "rank 1 (process 42)"
    assert ranks.dead({42}) is None
    # An mpiexec that notices it has its time to say so.
    monkeypatch.setattr(starting_ranks, "_GRACE_SECONDS", 60.0)
    assert ranks.dead(()) is None
