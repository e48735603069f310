"""Bends of real paths are named with the thresholds that cause them, and proved to move with what
moves these. Other programs may hide a bend, or make one: one of several tries shows it."""

import json
import os

import pytest

from halftrip.results.threshold import Threshold
from harness.choice import drawn
from harness.mpi import EVERY_MPI, chosen, quick_start

# A curve that is refined around its bends.
CURVE = ("--refine", "--time", "40ms", "--slices", "5", "--ci", "none")
TRIES = 6
# Before all other programs, in which a bend may drown, where that is allowed.
FIRST = ("chrt", "--rr", "1") if os.geteuid() == 0 else ()


def causes(shell, name, *options):
    """The bends of each curve of a run, as `halftrip explain` names their causes."""
    found = shell.call("explain", name, *options, "--format", "json")
    assert found.status == 0, found.err
    return json.loads(found.out)["curves"]


def first_causes(curve):
    """The likeliest cause of each bend, by name."""
    return {bend["causes"][0]["name"]: bend for bend in curve["bends"] if bend["causes"]}


def tried(shell, named, *arguments, **options):
    """A run of which the first curve has a bend that is named so, of at most TRIES; its file."""
    seen = []
    for number in range(TRIES):
        name = f"try-{number}.jsonl"
        result = shell.halftrip("run", "-o", name, *CURVE, *arguments, prefix=FIRST, **options)
        assert result.status == 0, result.err
        found = causes(shell, name)
        if any(named in cause for cause in first_causes(found[0])):
            return name
        seen.append(found[0]["bends"])
    pytest.fail(f"no bend is named {named!r}: {seen}")


def proved(shell, run, *options, **environment):
    """Whether `--prove` finds that a bend moves, in one of TRIES; the last answer."""
    for number in range(TRIES):
        proof = shell.halftrip(
            "explain",
            run,
            "--prove",
            "-o",
            f"proof-{number}.jsonl",
            *options,
            prefix=FIRST,
            **environment,
        )
        assert proof.status in (0, 1, 3), proof.err
        if proof.status == 0:
            break
    return proof


def test_every_path_says_what_it_knows(shell):
    result = shell.run("-t", "shm,pipe,unix,tcp,udp,mp-pipe", "-s", "8", "--time", "10ms")
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
    # Once, though each path is used in ten slices.
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
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("mpi", "named", "sizes", "place"),
    drawn(
        [
            ("openmpi", "the eager limit of Open MPI's btl vader", "512..16K", 4096),
            ("wheel", "the eager limit of Open MPI's btl sm", "512..16K", 4096),
            ("mpich", "the rendezvous threshold of UCX", "2K..32K", None),
        ],
        1,
    ),
)
def test_an_eager_limit_is_named_and_moves(shell, mpi, named, sizes, place):
    environment = quick_start(mpi)
    run = tried(shell, named, "-t", "mpi", "-s", sizes, *chosen(mpi), **environment)
    bend = next(
        bend for cause, bend in first_causes(causes(shell, run)[0]).items() if named in cause
    )
    if place is not None:
        assert bend["low_bytes"] < place
        assert bend["high_bytes"] > place - 128
    said = shell.call("explain", run, "--at", str(bend["high_bytes"]))
    setting = bend["causes"][0]["setting"]
    assert f"set {setting}" in said.out
    proof = proved(shell, run, "--at", str(bend["high_bytes"]), **environment)
    assert "proved" in proof.out, proof.out
    assert setting in proof.out


@pytest.mark.extended
def test_a_pipe_holds_64_kib(shell):
    run = tried(
        shell, "the capacity of the pipe", "-t", "pipe", "--wait", "block", "-s", "16K..256K"
    )
    bend = first_causes(causes(shell, run)[0])["the capacity of the pipe"]
    assert bend["low_bytes"] <= 65536 < bend["high_bytes"]
    refused = shell.call("explain", run, "--at", "64K", "--prove")
    assert refused.status == 2
    assert "halftrip cannot move the capacity of the pipe" in refused.err
