"""``halftrip fit``: what it prints, and what it says where it cannot."""

import json

import pytest

from halftrip.cli.fit import fit
from halftrip.errors import UsageError
from harness import runs
from harness.curves import GRID, run_of


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


def test_of_many_curves_the_answer_counts(tmp_path, capsys):
    jump = [(4096, 3000.0, 0.1)]
    every = [m for n in range(1, 7) for m in run_of(jump, slices=4, pair=(0, n)).measurements]
    ranks = tuple(runs.environment(rank) for rank in range(7))
    path = runs.save(runs.run(*every, environments=ranks), tmp_path / "run.jsonl")
    first, *_ = said(capsys, str(path)).split("\n")
    assert first == "6 curves: 0 straight, 6 bend; most often between 2K and 4K: 6"


def test_a_curve_that_may_bend_is_not_called_straight(tmp_path, capsys):
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
