"""``halftrip explain``: bends in two sentences, and what cannot be explained or proved, and why."""

import json

import msgspec
import numpy as np
import pytest

from halftrip.results.threshold import Threshold
from harness.curves import run_of
from harness.imports import sample
from harness.runs import environment, measurement, run, save
from harness.shell import call

SIZES = (256, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4000, 4104, 4224, 5120, 6144, 8192, 12288)
EAGER = Threshold(
    name="the eager limit", value=4096, header=96, acts="protocol", source="MPI_T eager",
    setting="OMPI_MCA_eager", transport="mpi", same_host=True,
)  # fmt: skip
BOX = Threshold(
    name="the fast box", value=4096, acts="protocol", source="MPI_T box", transport="mpi"
)
PIPE = Threshold(
    name="the pipe", value=4096, acts="capacity", source="F_GETPIPE_SZ", transport="mpi"
)


def rows(jump=1.5, at=4000, sizes=SIZES, slices=10):
    """A ping-pong over MPI that takes longer by the factor `jump` above a size."""
    random = np.random.default_rng(7)
    return [
        measurement(
            "mpi",
            size,
            half_ns=(1000 + 0.3 * size) * (jump if size > at else 1) * random.normal(1, 0.003),
            slice=number,
            seed=int(random.integers(1 << 30)),
        )
        for size in sizes
        for number in range(slices)
    ]


@pytest.fixture
def saved(tmp_path):
    """Writes a run of these rows and thresholds, and explains it."""

    def explain(*options, found=None, thresholds=(EAGER, BOX), **changes):
        made = run(*(rows() if found is None else found), thresholds=tuple(thresholds), **changes)
        save(made, tmp_path / "run.jsonl")
        return call(tmp_path, "explain", "run.jsonl", *options)

    return explain


def test_a_bend_is_said_in_two_sentences_with_the_setting_to_try(saved):
    result = saved()
    assert (result.status, result.err) == (0, "")
    first, other = result.out.splitlines()
    assert first.startswith("mpi pingpong: at 4000 to 4104 B, the time jumps by ")
    assert (
        "where the eager limit is, 4 KiB of which up to 96 B hold no payload (MPI_T eager)" in first
    )
    assert "longer messages go by another protocol. To move it, set OMPI_MCA_eager;" in first
    assert other.strip() == "It could also be the fast box, 4 KiB."
    content = json.loads(saved("-j").out)
    (curve,) = content["curves"]
    (bend,) = curve["bends"]
    assert (bend["low_bytes"], bend["high_bytes"], bend["kind"]) == (4000, 4104, "jump")
    assert 1.45 < bend["step_low"] < bend["step"] < bend["step_high"] < 1.55
    causes = [(each["name"], each["setting"]) for each in bend["causes"]]
    assert causes == [("the eager limit", "OMPI_MCA_eager"), ("the fast box", None)]


def test_at_a_size_there_is_the_nearest_bend_or_a_straight_piece(saved):
    assert "at 4000 to 4104 B" in saved("--at", "5K").out
    straight = saved("--at", "1K").out
    assert straight.startswith(
        "mpi pingpong: the curve is straight at 1 KiB: from 256 to 4000 B it is "
    )
    assert straight.rstrip().endswith("it bends at 4000 to 4104 B")
    assert "1 MiB was not measured; the run has 256 to 12K" in saved("--at", "1M").out
    out = saved(found=rows(jump=1.0)).out
    assert out.startswith("mpi pingpong: the curve is straight: from 256 B to 12 KiB it is 1.0")


def test_a_curve_that_may_bend_is_not_called_straight(saved):
    few = saved(found=rows(jump=1.0, sizes=(8, 1024, 65536)))
    assert few.out == "mpi pingpong: no bend can be told; 3 sizes are too few\n"
    noisy = run_of(sizes=(8, 64, 512, 4096, 32768, 1 << 20), noise=0.3).measurements
    for options in ((), ("--at", "512")):
        said = saved(*options, found=noisy).out
        assert "shm pingpong: no bend can be told; sizes are off one line by up to " in said
        assert "straight" not in said
    assert json.loads(saved("-j", found=noisy).out)["curves"][0]["unclear"]
    assert "2 MiB was not measured" in saved("--at", "2M", found=noisy).out


def test_what_is_unknown_is_said(saved):
    nothing = saved(thresholds=(msgspec.structs.replace(EAGER, value=100_000),)).out
    assert "Nothing that is known of this run has a threshold there." in nothing
    chosen = saved(thresholds=(msgspec.structs.replace(EAGER, value=0),)).out
    assert "a threshold there. It may be the eager limit (MPI_T eager), which is chosen" in chosen
    assert "To move it, set OMPI_MCA_eager" in chosen
    many = [
        msgspec.structs.replace(EAGER, name=f"limit {n}", value=n) for n in range(1000, 4200, 300)
    ]
    sparse = rows(at=3000, sizes=(256, 512, 1024, 2048, 4096, 8192, 16384))
    vague = saved(found=sparse, thresholds=many).out
    assert "No known cause lies nearer than chance would put one. To know the place" in vague
    assert "--prove measures whether it moves with a setting" in vague
    assert "limit" not in vague
    (bend,) = json.loads(saved("-j", found=sparse, thresholds=many[5:6]).out)["curves"][0]["bends"]
    assert [each["named"] for each in bend["causes"]] == [False]
    older = saved(thresholds=()).out
    assert "The run has no thresholds" in older
    assert "Measure it again" in older
    few = saved(found=rows(sizes=SIZES[:2])).out
    assert "mpi pingpong: 2 sizes; a line needs 3 at least: measure more" in few
    # A curve on other hosts has their thresholds alone.
    out = saved(environments=(environment(0), environment(1, host="node2"))).out
    assert ("the eager limit" in out, "the fast box" in out) == (False, True)


def test_an_imported_table_has_no_causes(tmp_path):
    (tmp_path / "osu.txt").write_text(sample("osu", "latency"))
    assert call(tmp_path, "import", "osu.txt", "-o", "run.jsonl").status == 0
    result = call(tmp_path, "explain", "run.jsonl")
    assert (result.status, result.err) == (0, "")
    assert "The run has no thresholds: it was imported" in result.out
    refused = call(tmp_path, "explain", "run.jsonl", "--prove", "--at", "16K")
    assert refused.status == 2
    assert len(refused.err.splitlines()) == 1


def test_a_mistake_is_one_line(saved):
    for options, said in (
        (("--at", "much"), "--at: 'much' is not a size"),
        (("-t", "tcp"), "no such curve; the run has -t mpi; -p pingpong; --pair 0-1"),
        (("-o", "x.jsonl"), "--output: only with --prove"),
        (("--prove", "--moved", "run.jsonl"), "--moved: proves by a run that is there"),
        (("--prove", "--at", "1K"), "--prove: there is no bend at 1 KiB"),
        (("--moved", "run.jsonl"), "no threshold of this bend has another value"),
    ):
        result = saved(*options)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
        assert said in result.err


def test_what_cannot_be_proved_is_said(saved):
    other = [
        msgspec.structs.replace(
            each, configuration=msgspec.structs.replace(each.configuration, transport="shm")
        )
        for each in rows()
    ]
    for changes, said in (
        ({"thresholds": (PIPE,)}, "halftrip cannot move the pipe; move it yourself, measure again"),
        ({"thresholds": ()}, "nothing that is known of this run has a threshold there"),
        ({"found": [*rows(), *other]}, "one bend at a time; choose by --at, -t"),
    ):
        result = saved("--prove", **changes)
        assert result.status == 2
        assert said in result.err


@pytest.mark.parametrize(
    ("at", "status", "said"),
    [
        (8064, 0, "the bend moved from 4000 to 4096 B to 8096 to 8192 B with it: proved"),
        (4000, 1, "did not move to 8096 to 8192 B with it: it has another cause"),
        (10**6, 3, "cannot tell"),
    ],
)
def test_another_run_proves_it(saved, tmp_path, at, status, said):
    sizes = (*SIZES, 7800, 8000, 8250, 8400)
    moved = msgspec.structs.replace(EAGER, value=8192)
    save(run(*rows(at=at, sizes=sizes), thresholds=(moved,)), tmp_path / "moved.jsonl")
    result = saved("--moved", "moved.jsonl", found=rows(sizes=sizes))
    assert (result.status, result.err) == (status, "")
    assert said in result.out
    proof = json.loads(call(tmp_path, "explain", "run.jsonl", "--moved", "moved.jsonl", "-j").out)
    assert proof["outcome"] == {0: "moved", 1: "stayed", 3: "unknown"}[status]
    assert proof["values"] == ["4096", "8192"]
