"""What paths of real ranks say of the thresholds that bend their curves, and a proof by moving
one; that bends are found, named and judged is proved with planted ones (tests/unit/analysis)."""

import pytest

from halftrip.results.run_file import load
from halftrip.results.threshold import Threshold
from harness.mpi import EVERY_MPI, chosen, quick_start


def test_every_path_says_what_it_knows(shell):
    result = shell.run(
        "-t", "shm,pipe,unix,tcp,udp,mp-pipe", "-s", "8", "--time", "10ms", "-r", "3"
    )
    assert result.status == 0, result.err
    run = result.run
    assert all(isinstance(each, Threshold) for each in run.thresholds)
    of = {}
    for each in run.thresholds:
        of.setdefault((each.transport, each.rank), set()).add(each.name)
    for rank in (0, 1):
        assert {"the page", "the L2 cache"} <= of["", rank]
        assert "the smallest chunk of the shm transport" in of["shm", rank]
        assert of["pipe", rank] == {"the capacity of the pipe"}
        buffers = {"the sender's socket buffer", "the receiver's socket buffer"}
        assert of["unix", rank] == of["mp-pipe", rank] == buffers
        assert of["tcp", rank] > buffers
        assert of["tcp", rank] & {"the TCP segment", "the MTU of lo"}
        assert of["udp", rank] == {*buffers, "the MTU of lo"}
    # Once, though each path is used in several slices.
    assert len(run.thresholds) == sum(map(len, of.values()))


@pytest.mark.parametrize("mpi", EVERY_MPI)
def test_an_mpi_says_what_it_does_within_a_host(shell, mpi):
    """What is set is what is read."""
    variable, value = {
        "wheel": ("OMPI_MCA_btl_sm_eager_limit", 12345),
        "openmpi": ("OMPI_MCA_btl_vader_eager_limit", 12345),
        "mpich": ("UCX_RNDV_THRESH", None),
    }[mpi]
    environment = quick_start(mpi) | ({} if value is None else {variable: str(value)})
    result = shell.run(
        *("-t", "mpi,mpi4py", "-s", "8", "--time", "10ms", "-r", "2", *chosen(mpi)), **environment
    )
    assert result.status == 0, result.err
    found = {each.setting: each for each in result.run.thresholds if each.transport == "mpi"}
    assert value is None or found[variable].value == value
    assert variable in found
    # What carries messages between hosts has no part in it.
    assert not any("tcp" in name or "OFI" in name for name in found)
    assert all(each.same_host for each in found.values())
    of_python = {each.setting for each in result.run.thresholds if each.transport == "mpi4py"}
    assert of_python == found.keys()


@pytest.mark.extended
def test_a_bend_is_proved_by_moving_its_threshold(shell):
    """Whether it moves depends on the machine; that its threshold was moved does not."""
    curve = ("--refine", "--time", "40ms", "--slices", "5", "--ci", "none", "-s", "512..16K")
    result = shell.run("-t", "mpi", *curve, *chosen("wheel"), **quick_start("wheel"))
    assert result.status == 0, result.err
    at = ("--at", "4K")
    said = shell.call("explain", "run.jsonl", *at)
    if "OMPI_MCA_btl_sm_eager_limit" not in said.out:
        # It drowned in what else ran, or is somewhere else.
        return
    proof = shell.halftrip(
        *("explain", "run.jsonl", "--prove", "-o", "proof.jsonl", *at), **quick_start("wheel")
    )
    assert proof.status in (0, 1, 3), proof.err
    assert "OMPI_MCA_btl_sm_eager_limit" in proof.out
    moved = load(shell.directory / "proof.jsonl")
    limits = {
        (moved.variant_of[each.launch], each.value)
        for each in moved.thresholds
        if each.setting == "OMPI_MCA_btl_sm_eager_limit"
    }
    assert len(limits) > 1
