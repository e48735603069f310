"""What paths of real ranks say of the thresholds that bend their curves, and a proof by moving
one; that bends are found, named and judged is proved with planted ones (tests/unit/analysis)."""

import msgspec
import pytest

from halftrip.results.run_file import load
from halftrip.results.threshold import Threshold
from harness import curves, runs
from harness.choice import extended
from harness.mpi import chosen, quick_start


def test_every_path_says_what_it_knows(shell):
    run = shell.measure(
        "-t", "shm,pipe,unix,tcp,udp,mp-pipe", "-s", "8", "--time", "10ms", "-r", "3"
    ).run
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


@pytest.mark.parametrize("mpi", extended("wheel", "openmpi", "mpich"))
def test_an_mpi_says_what_it_does_within_a_host(shell, mpi):
    """What is set is what is read."""
    variable, value = {
        "wheel": ("OMPI_MCA_btl_sm_eager_limit", 12345),
        "openmpi": ("OMPI_MCA_btl_vader_eager_limit", 12345),
        "mpich": ("UCX_RNDV_THRESH", None),
    }[mpi]
    environment = quick_start(mpi) | ({} if value is None else {variable: str(value)})
    result = shell.measure(
        *("-t", "mpi,mpi4py", "-s", "8", "--time", "10ms", "-r", "2", *chosen(mpi)), **environment
    )
    found = {each.setting: each for each in result.run.thresholds if each.transport == "mpi"}
    assert value is None or found[variable].value == value
    assert variable in found
    # What carries messages between hosts has no part in it.
    assert not any("tcp" in name or "OFI" in name for name in found)
    assert all(each.same_host for each in found.values())
    of_python = {each.setting for each in result.run.thresholds if each.transport == "mpi4py"}
    assert of_python == found.keys()


@pytest.mark.extended
def test_a_planted_bend_is_proved_or_not_by_moving_the_setting_of_real_ranks(shell):
    setting = "OMPI_MCA_btl_sm_eager_limit"
    eager = Threshold(
        name="the eager limit", value=4096, acts="protocol", source="MPI_T", setting=setting,
        transport="mpi", same_host=True,
    )  # fmt: skip
    sizes = (256, 512, 1024, 2048, 3072, 3584, 4000, 4104, 5120, 6144, 8192, 12288)
    made = curves.run_of([(4104, 3000.0, 0.3)], sizes, per_byte=0.3, transport="mpi")
    runs.save(msgspec.structs.replace(made, thresholds=(eager,)), shell.path)
    few = shell.patched("from halftrip.cli import explain_prove\nexplain_prove._LAUNCHES = 2\n")
    options = ("--prove", "-o", "proof.jsonl")
    proof = shell.halftrip("explain", "run.jsonl", *options, **few, **quick_start("wheel"))
    # Whether it moves depends on the machine; that the setting was moved does not.
    assert proof.status in (0, 1, 3), proof.err
    found = load(shell.directory / "proof.jsonl").thresholds
    assert {each.value for each in found if each.setting == setting} == {4096, 8192}
