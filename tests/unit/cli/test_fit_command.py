"""``halftrip fit`` and ``explain``: what they print, and what they say where they cannot."""

import json
import re

import msgspec
import numpy as np
import pytest

from halftrip.cli.fit import fit
from halftrip.errors import UsageError
from halftrip.results.threshold import Threshold
from harness import runs
from harness.curves import GRID, run_of
from harness.imports import sample
from harness.runs import environment, measurement, run, save, with_settings
from harness.shell import call


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A run of two curves: one is straight, one has a jump."""
    straight, bent = (
        run_of(segments, transport=transport, slices=6).measurements
        for transport, segments in (("shm", []), ("tcp", [(4096, 3000.0, 0.1)]))
    )
    folder = tmp_path_factory.mktemp("runs")
    return str(runs.save(runs.run(*straight, *bent), folder / "run.jsonl"))


def said(capsys, path, **asked):
    assert fit(path, **asked) == 0
    return capsys.readouterr().out


def test_it_says_what_curves_are_made_of_before_the_tables_of_the_models(path, capsys):
    both = said(capsys, path)
    shm, tcp, *_ = both.split("\n")
    assert shm == "shm: straight; no bend"
    assert tcp.startswith("tcp: 2 straight pieces: jump to ")
    assert "between 2K and 4K" in tcp
    lines, pieces = (said(capsys, path, model=model) for model in ("hockney", "piecewise"))
    assert ("n-half" in lines, "after" in lines) == (True, False)
    assert ("n-half" in pieces, "after" in pieces) == (False, True)
    assert all(line in both for line in [*lines.split("\n"), *pieces.split("\n")])


def test_only_selected_rows_are_fitted(path, capsys):
    found = said(capsys, path, transport="tcp")
    assert found.startswith("tcp: 2 straight pieces")
    with pytest.raises(UsageError, match=r"run\.jsonl: no such curve; the run has -t shm, tcp; "):
        fit(path, transport="mpi")


def test_json_has_every_figure_with_its_interval(path, capsys):
    straight, bent = json.loads(said(capsys, path, format_="json"))["curves"]
    assert straight["over"] == "slices"
    relative = straight["hockney"][1]
    assert (relative["method"], relative["unfit"]) == ("relative", None)
    assert relative["start_ns"] == pytest.approx(1000, rel=0.02)
    assert relative["n_half_low_bytes"] < 10_000 < relative["n_half_high_bytes"]
    for name in ("start", "per_byte"):
        assert relative[f"{name}_low_ns"] < relative[f"{name}_ns"] < relative[f"{name}_high_ns"]
    assert relative["bandwidth_low_bytes_per_s"] < 1e10 < relative["bandwidth_high_bytes_per_s"]
    assert straight["bends"] == []
    assert all(each["unfit"] for each in bent["hockney"])
    (bend,) = bent["bends"]
    assert (bend["low_size_bytes"], bend["high_size_bytes"], bend["kind"]) == (2048, 4096, "jump")
    assert bend["time_ratio_low"] < bend["time_ratio"] < bend["time_ratio_high"]
    first, second = bent["pieces"]
    assert (first["last_size_bytes"], second["first_size_bytes"]) == (2048, 4096)
    assert [each["start_ns"] for each in (first, second)] == pytest.approx([1000, 3000], rel=0.02)
    assert second["per_byte_ns"] == pytest.approx(0.1, rel=0.02)


def test_of_many_curves_the_answer_counts_and_none_that_may_bend_is_called_straight(
    tmp_path, capsys
):
    jump = [(4096, 3000.0, 0.1)]
    every = [m for n in range(1, 7) for m in run_of(jump, slices=4, pair=(0, n)).measurements]
    ranks = tuple(runs.environment(rank) for rank in range(7))
    path = runs.save(runs.run(*every, environments=ranks), tmp_path / "run.jsonl")
    first, *_ = said(capsys, str(path)).split("\n")
    assert first == "6 curves: 0 straight, 6 bend; most often between 2K and 4K: 6"
    few, noisy = {"sizes": (8, 1024, 65536)}, {"sizes": GRID[::4], "noise": 0.3}
    made = [few, few, noisy, noisy, {}, {}]
    every = [run_of(slices=6, pair=(0, n), **of) for n, of in enumerate(made, start=1)]
    ranks = tuple(runs.environment(rank) for rank in range(7))
    found = [measurement for each in every for measurement in each.measurements]
    path = str(runs.save(runs.run(*found, environments=ranks), tmp_path / "run.jsonl"))
    first, *_ = said(capsys, path).split("\n")
    assert first == "6 curves: 2 straight, 0 bend, 4 cannot be told"
    of_few, of_noisy, *_ = said(capsys, path, pair="0-1,0-3").split("\n")
    assert of_few == "shm 0-1: no bend can be told; 3 sizes are too few"
    assert of_noisy.startswith("shm 0-3: no bend can be told; sizes are off one line by up to ")
    curves = json.loads(said(capsys, path, format_="json"))["curves"]
    assert [bool(curve["unclear"]) for curve in curves] == [True] * 4 + [False] * 2


def test_what_cannot_be_fitted_is_said(tmp_path, capsys):
    run = run_of(sizes=(8, 64, 512, 4096))
    zero = runs.measurement(size=1, samples=[0] * 8, rtts=None)
    path = str(runs.save(runs.run(zero, *run.measurements), tmp_path / "run.jsonl"))
    assert "left out, without a time above 0: 1" in said(capsys, path)
    run = run_of(sizes=(8, 64))
    path = str(runs.save(run, tmp_path / "run.jsonl"))
    assert fit(path, "hockney") == 1
    assert capsys.readouterr().out == (
        "shm: no fit: 2 sizes; a line needs 3 at least: measure more, as with -s 1..4M\n"
    )
    # NetPIPE's figures of two sizes are no fit.
    assert (fit(path), fit(path, "netpipe")) == (1, 0)


def test_no_figure_is_printed_without_an_interval(tmp_path, capsys):
    """The first piece has two sizes, measured once."""
    every = [
        runs.measurement(size=1 << n, samples=[ns], iterations=1, rtts=None)
        for n in range(14)
        for ns in [200 if n < 2 else 2000 + (1 << n)]
    ]
    path = str(runs.save(runs.run(*every), tmp_path / "run.jsonl"))
    (curve,) = json.loads(said(capsys, path, format_="json"))["curves"]
    for line in (*curve["pieces"], *curve["hockney"]):
        for name in ("start", "per_byte"):
            assert (line[f"{name}_ns"] is None) is (line[f"{name}_low_ns"] is None)
    assert curve["pieces"][0]["start_ns"] is None


def test_a_mistake_is_refused(path, tmp_path):
    (tmp_path / "text").write_text("no run\n")
    for file, asked, reason in (
        (path, {"model": "linear"}, r"--model: 'linear' is not known"),
        (path, {"format_": "cvs"}, r"--format: 'cvs' is not known"),
        (path, {"wide": True, "format_": "json"}, r"--wide: --format json has all columns"),
        (str(tmp_path / "text"), {}, "not a run file"),
    ):
        with pytest.raises(UsageError, match=reason):
            fit(file, **asked)


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


def rows(jump=1.5, at=4000, sizes=SIZES, slices=10, transport="mpi", then=0.3):
    """A ping-pong, over MPI, that takes longer by the factor `jump` above a size, from which on a
    byte takes `then`, ns, in place of 0.3."""
    random = np.random.default_rng(7)
    return [
        measurement(
            transport,
            size,
            half_ns=(1000 + 0.3 * min(size, at) + then * max(0, size - at))
            * (jump if size > at else 1)
            * random.normal(1, 0.003),
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
    assert "the time becomes 3.0 (" in saved(found=rows(jump=3.0)).out
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
    assert "the time falls by 50 % (95 %: 50 to 50)" in saved(found=rows(jump=0.5)).out
    flatter = saved(found=rows(jump=1.0, then=0.06)).out
    assert re.search(r"the time per byte was [45]\.\d+ \(95 %: .*\) times as long before", flatter)


def test_at_a_size_there_is_the_nearest_bend_or_a_straight_piece(saved):
    assert "at 4000 to 4104 B" in saved("--at", "5K").out
    straight = saved("--at", "1K").out
    assert straight.startswith(
        "mpi pingpong: the curve is straight at 1 KiB: from 256 to 4000 B it is "
    )
    assert straight.rstrip().endswith("it bends at 4000 to 4104 B")
    assert "1 MiB was not measured; the run has 256 B to 12 KiB" in saved("--at", "1M").out
    out = saved(found=rows(jump=1.0)).out
    assert out.startswith("mpi pingpong: the curve is straight: from 256 B to 12 KiB it is 1.0")


def test_a_curve_that_may_bend_is_not_explained_as_straight(saved):
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
    both = [
        *sparse,
        *rows(at=3000, sizes=sorted({each.configuration.size for each in sparse}), transport="shm"),
    ]
    said = saved(
        found=both,
        thresholds=[
            each
            for limit in many
            for each in (limit, msgspec.structs.replace(limit, transport="shm"))
        ],
    ).out
    assert said.count("No known cause") == 1
    assert re.search(r"mpi pingpong \(.+\), shm pingpong \(.+\): No known cause", said)
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
    other = [with_settings(each, transport="shm") for each in rows()]
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
