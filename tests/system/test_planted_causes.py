"""What keeps ranks from running on a real machine: each planted cause is named, and not without
it."""

import os
import shlex

import pytest

from halftrip.analysis.flags import evidences
from halftrip.analysis.flags.cores import interrupts, own_tasks, quota
from harness.choice import extended
from harness.planted import awake_mpiexec, group, inside, soft_interrupts

SHORT = ("-s", "8", "--time", "0.3s", "-r", "1", "--ci", "none", "--launches", "1")


def found(result, rule):
    assert result.status == 0, result.err
    return {
        row.configuration.transport: finding
        for row in evidences(result.run)
        if (finding := rule(row)) is not None
    }


@pytest.mark.parametrize(("limit", "named"), extended((20_000, {"shm"}), (-1, set())))
def test_a_quota_of_a_parent_group(shell, limit, named):
    """However busy others keep the cores, two ranks that spin have used up a fifth of one soon."""
    with group(limit) as limited:
        result = shell.run("-t", "shm", *SHORT, prefix=inside(limited))
    assert found(result, quota).keys() == named
    assert ("this container may use 0.2 of a core" in " ".join(result.out.split())) == bool(named)


@pytest.mark.extended
def test_packets_that_another_core_s_soft_interrupts_take(shell):
    sender, core = sorted(os.sched_getaffinity(0))[:2]
    with soft_interrupts(core, sender):
        result = shell.run("-t", "shm,tcp", *SHORT, "--cores", f"{sender},{core}")
    named = found(result, interrupts)
    # Those of TCP may be of its own packets.
    assert named.keys() == {"shm"}
    assert f"of core {core}" in named["shm"].seen


@pytest.mark.extended
def test_the_mpiexec_of_the_run_that_is_awake(shell, tmp_path):
    core = max(os.sched_getaffinity(0))
    mpiexec = awake_mpiexec(tmp_path, core)

    def is_named():
        shell.path.unlink(missing_ok=True)
        result = shell.run("-t", "mpi", "--mpiexec", shlex.quote(str(mpiexec)), *SHORT)
        seen = found(result, own_tasks)
        return "mpi" in seen and f"of core {core}" in seen["mpi"].seen

    # Another test may have more of the core meanwhile, and is named then.
    assert any(is_named() for _ in range(5))
