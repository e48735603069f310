"""Every kind of picture of every kind of run: charts that can be drawn, or one line that says what
the run lacks."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plots import writing
from halftrip.plots.chart import EMPTY, Bars, Grid
from halftrip.plots.distribution import ranks
from halftrip.plots.draw import draw, usual_kind
from halftrip.plots.terminal import render
from halftrip.plots.thinning import extremes
from halftrip.registry import PLOTS
from halftrip.results.records import Failure, RunEnd, Skip
from halftrip.results.run_file import load
from harness import runs
from harness.charts import charts_of, check, subject
from harness.imports import imported_run

GOLDEN = Path(__file__).parents[2] / "golden"
FORMATS = sorted((GOLDEN / "formats").glob("*.jsonl"))
IMPORTS = sorted(
    path for path in (GOLDEN / "imports").glob("*/*") if path.suffix in (".txt", ".json")
)
# Marks that are drawn, in an SVG.
MARKS = re.compile(r'<g class="mark-(?!group|text)[a-z]+ role-mark[^>]*>(?:<path|<line|<g>)')


TWO = ("shm", "tcp")


def sized(*sizes, seed=1, transport="shm", **changes):
    """Measurements of a transport in three slices of each size."""
    return [
        runs.measurement(
            transport, size, half_ns=100.0 + size / 8, seed=seed + size + slice_, slice=slice_,
            **changes,
        )
        for size in sizes
        for slice_ in range(3)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def usual():
    """Two transports of which one is built on the other, two patterns, and a system log."""
    measured = [
        *sized(0, 64, 4096, usage=(runs.usage(0.9, 0.05), runs.usage(0.4, 0.2))),
        *sized(0, 64, 4096, transport="mp-shm", seed=90),
        *sized(64, 4096, pattern="stream", window=16),
    ]
    counters = [
        runs.counters(
            at=float(number), seconds=1.0, phase="during", launch=number // 3,
            cpus={"all": {"user": 0.5, "system": 0.2, "idle": 1.3}},
            counts={"interrupts": 500, "context_switches": 900},
            interfaces={"lo": {"bytes_in": 1000, "bytes_out": 1000}},
        )
        for number in range(6)
    ]  # fmt: skip
    return runs.run(*measured, host_counters=tuple(counters))


@pytest.mark.parametrize("kind", PLOTS)
def test_of_a_usual_run(usual, kind):
    subjects = [subject(usual, "a"), subject(usual, "b")]
    if kind == "pairs":
        with pytest.raises(UsageError, match="one pair has been measured"):
            draw(subjects, kind)
        return
    # Where the run lacks what a kind draws, this says what.
    charts = draw(subjects, kind)
    assert charts
    check(charts)
    shown = render(charts, 100)
    assert all(chart.title in shown for chart in charts)
    # More of them would only take longer.
    svg = writing.picture(charts[:1], "svg", "dark").decode()
    assert MARKS.search(svg)
    assert "NaN" not in svg


@pytest.mark.extended
@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_of_runs_of_every_format(path):
    run = subject(load(path))
    # What is drawn where no kind is asked for can be drawn.
    assert charts_of(usual_kind([run]), [run]) or path.stem == "1-imported"
    for kind in PLOTS:
        charts = charts_of(kind, [run])
        if charts:
            check(charts)
            render(charts, 80)


@pytest.mark.extended
@pytest.mark.parametrize("path", IMPORTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_of_imported_runs(path):
    found = subject(imported_run(path.read_bytes(), path.parent.name))
    drawn = {kind: charts_of(kind, [found]) for kind in PLOTS}
    for charts in drawn.values():
        if charts:
            check(charts)
    # Whoever has printed it, its rows have a picture, unless nothing says their size.
    has_sizes = any(row.configuration.size_known for row in found.document.rows)
    assert drawn[usual_kind([found])] or drawn["bandwidth"] or not has_sizes


def test_pairs_are_a_map_with_the_slowest_named():
    pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    measured = [
        runs.measurement(
            half_ns=300.0 if pair == (1, 3) else 100.0, pair=pair, seed=n, slice=slice_
        )
        for n, pair in enumerate(pairs)
        for slice_ in range(3)
    ]
    environments = tuple(runs.environment(rank, host=f"n{rank + 8}") for rank in range(4))
    run = subject(runs.run(*measured, environments=environments))
    assert usual_kind([run]) == "pairs"
    (chart,) = charts_of("pairs", [run])
    check([chart])
    assert "Slowest: n9 and n11" in chart.lines[1]
    assert isinstance(chart.drawing, Grid)
    # n8 before n10.
    assert chart.drawing.names == ["n8", "n9", "n10", "n11"]
    assert len(chart.data["pairs"]) == 2 * len(pairs)
    # Runs of similar names have charts of their own.
    charts = charts_of("pairs", [run._replace(name=name) for name in ("a-b", "a_b")])
    assert len({chart.name for chart in charts}) == len(charts) == 2


def test_sizes_are_joined_only_where_nothing_is_between_them():
    failed = Failure(configuration=runs.configuration(size=128), reason="it broke", slice=0)
    skip = Skip(transport="tcp", reason="no network")
    end = RunEnd(reason="stopped by SIGINT", clock_drift=None)
    run = runs.run(*sized(0, 1, 4, 64, 256), failures=(failed,), skips=(skip,), end=end)
    (chart,) = charts_of("latency", [subject(run)])
    pieces = {}
    for record in chart.data["points"]:
        pieces.setdefault(record["piece"], []).append(record["x"])
    # Empty messages stand alone; 64 is far from 4; between 64 and 256 a size has failed.
    assert sorted(pieces.values()) == [[EMPTY], [1, 4], [64], [256]]
    assert any("Failed: shm pingpong 128 B (it broke)" in line for line in chart.lines)
    assert "Interrupted: stopped by SIGINT." in chart.lines
    assert "Not measured: tcp (no network)." in chart.lines


def test_a_curve_is_cut_where_it_jumps():
    sizes = [64 * number for number in range(1, 17)]
    measured = [
        runs.measurement(
            "shm", size, half_ns=100.0 + size / 8 + 900 * (size > 512), seed=size + n, slice=n
        )
        for size in sizes
        for n in range(10)
    ]
    run = runs.run(*measured, header=runs.planned(refine=True))
    (chart,) = charts_of("latency", [subject(run)])
    check([chart])
    assert [(each["low"], each["high"]) for each in chart.data["bends"]] == [(512, 576)]
    pieces = {record["x"]: record["piece"] for record in chart.data["points"]}
    assert pieces[64] == pieces[512] != pieces[576] == pieces[1024]
    assert "Dashed and upright: where a curve bends or jumps." in chart.marks


def test_a_comparison_has_the_sizes_that_were_measured():
    sizes = (8, 64, 512, 1024)
    both = [subject(runs.run(*sized(*sizes), *sized(*sizes, transport="tcp"))) for _ in "ab"]
    both[1] = both[1]._replace(name="b")
    (chart,) = charts_of("compare", both)
    axis = chart.view.to_dict(context={"top_level": False})["layer"][2]["encoding"]["x"]["axis"]
    assert axis["values"] == [*sizes]
    places = sorted({record["x"] for record in chart.data["points"]})
    assert 8 / 1.2 < places[0] < 8 < places[1] < 8 * 1.2


def test_a_legend_names_what_differs_and_nothing_else():
    sizes = (8, 32, 128, 512)
    measured = [*sized(*sizes), *sized(*sizes, transport="tcp", wait="block")]
    (chart,) = charts_of("latency", [subject(runs.run(*measured))])
    assert {record["series"] for record in chart.data["points"]} == {"shm", "tcp"}
    assert "wait: spin (shm), block (tcp)" in chart.lines[0]
    both = [subject(runs.run(*sized(*sizes)), name) for name in ("one", "two")]
    (chart,) = charts_of("latency", both)
    assert {record["series"] for record in chart.data["points"]} == {"one", "two"}
    waits = [*sized(*sizes), *sized(*sizes, wait="block")]
    (chart,) = charts_of("latency", [subject(runs.run(*waits))])
    assert {record["series"] for record in chart.data["points"]} == {"spin", "block"}


@pytest.mark.parametrize("kind", ["latency", "bandwidth", "rate", "compare", "layers", "usage"])
def test_a_single_size_is_drawn_as_bars(kind):
    used = (runs.usage(0.9, 0.05), runs.usage(0.4, 0.2))
    names = ("shm", "mp-shm", "tcp")
    measured = [each for name in names for each in sized(64, transport=name, usage=used)]
    subjects = [subject(runs.run(*measured), name) for name in "ab"[: 1 + (kind == "compare")]]
    chart = charts_of(kind, subjects)[0]
    check([chart])
    assert chart.title.endswith(": pingpong of 64 B")
    assert "by message size" not in chart.title
    assert isinstance(chart.drawing, Bars)
    points = chart.data["points"]
    bars = [bar.name for bar in chart.drawing.bars]
    assert len(set(bars)) == len(points) == len(bars)
    # A name of 11 pixels has a line of its own.
    assert chart.height >= 20 * len(bars)
    marks = [
        each["mark"]["type"] for each in chart.view.to_dict(context={"top_level": False})["layer"]
    ]
    assert "bar" in marks
    assert marks.count("tick") == 2
    assert "point" not in marks
    shown = render([chart], 100).splitlines()
    assert max(map(len, shown)) <= 100
    for bar in chart.drawing.bars:
        (line,) = [line for line in shown if line.startswith(f"{bar.name} ")]
        assert line.endswith(f"  {bar.text}")
        assert ("|" in line) == (bar.low is not None)


def wide(*sizes, longer=80.0):
    """Two launches that agree, and two of which one took that much longer."""
    return runs.run(
        *(
            runs.measurement(
                transport, size, half_ns=factor**launch * (900.0 + size), launch=launch, seed=size
            )
            for transport, factor in (("shm", 1.0001), ("tcp", longer))
            for size in sizes
            for launch in range(2)
        )
    )


@pytest.mark.parametrize("kind", ["latency", "bandwidth", "compare", "history"])
def test_an_interval_that_says_nothing_does_not_set_the_scale(kind):
    several = kind in ("compare", "history")
    subjects = [subject(wide(8, 16, 32, 64), name) for name in "ab"[: 1 + several]]
    (chart,) = charts_of(kind, subjects)
    check([chart])
    shm, tcp = ([each for each in chart.data["points"] if each["transport"] == of] for of in TWO)
    for each in tcp:
        assert each["low"] == pytest.approx(each["y"] / 100)
        assert each["high"] == pytest.approx(each["y"] * 100)
        assert each["open_low"] is each["open_high"] is True
    assert not any("open_low" in each or "open_high" in each for each in shm)
    assert chart.marks[-1] == "An arrow: the interval goes on."
    assert MARKS.search(writing.picture([chart], "svg", "light").decode())
    assert all(each.get("interval", "> 100 %") == "> 100 %" for each in tcp)


@pytest.mark.parametrize("kind", ["latency", "bandwidth"])
def test_beside_a_bar_that_nothing_is_known_of_the_others_are_seen(kind):
    (chart,) = charts_of(kind, [subject(wide(64, longer=30.0))])
    check([chart])
    _, tcp = chart.data["points"]
    assert tcp["high"] == pytest.approx(4 * tcp["y"])
    assert chart.marks[-1] == "An arrow: the interval goes on."
    line = next(line for line in render([chart], 100).splitlines() if line.startswith("tcp "))
    assert ("<" in line, ">" in line, "|" in line) == (True, True, False)
    assert writing.picture([chart], "svg", "light")


@pytest.mark.parametrize(("longer", "foot"), [(19.0, 0.0), (21.0, None)])
def test_figures_whose_bars_could_not_be_seen_are_points_on_a_logarithmic_axis(longer, foot):
    factors = {"shm": 1.0, "pipe": longer / 2, "tcp": longer}
    run = runs.run(
        *(
            runs.measurement(transport, 64, half_ns=500 * factor, launch=launch, seed=launch)
            for transport, factor in factors.items()
            for launch in range(3)
        )
    )
    (chart,) = charts_of("latency", [subject(run)])
    check([chart])
    assert (chart.drawing.foot, "Bars" in "".join(chart.marks)) == (foot, foot is not None)
    shown = render([chart], 100)
    places = [
        line.rindex("#" if foot == 0.0 else "o", 0, 90)
        for line in shown.splitlines()
        if line.split(" ")[0] in factors
    ]
    assert len(places) == len(set(places)) == 3
    near, far = places[1] - places[0], places[2] - places[1]
    # Half of the longest bar, or the greater part of its logarithm.
    assert abs(near / far - (0.9 if foot == 0.0 else math.log(longer / 2) / math.log(2))) < 0.3
    assert writing.picture([chart], "svg", "light")


def test_rows_of_one_size_and_one_name_stay_points():
    pairs = [(one, other) for other in range(9) for one in range(other)]
    measured = [runs.measurement(pair=pair, seed=n) for n, pair in enumerate(pairs)]
    (chart,) = charts_of("latency", [subject(runs.run(*measured))])
    check([chart])
    assert not isinstance(chart.drawing, Bars)
    assert len(chart.data["points"]) == len(pairs)


def test_a_single_row_and_figures_without_an_interval_are_drawn():
    (chart,) = charts_of("latency", [subject(runs.run(runs.measurement()))])
    check([chart])
    assert len(chart.data["points"]) == 1
    assert chart.data["points"][0]["interval"] == "none"
    assert "The bar has no interval." in chart.lines
    text = (GOLDEN / "imports" / "osu" / "latency.txt").read_bytes()
    (chart,) = charts_of("latency", [subject(imported_run(text))])
    assert any("Points: the mean" in line for line in chart.marks)
    assert not any("95 % interval" in line for line in chart.marks)


def test_names_that_somebody_has_written_are_texts():
    name = "<script>alert(1)</script>\x1b[2J"
    environments = tuple(runs.environment(rank, host=f"{name}{rank}") for rank in range(2))
    run = subject(runs.run(*sized(8, 64), environments=environments), "r")
    (chart,) = charts_of("latency", [run])
    svg = writing.picture([chart], "svg", "light").decode()
    assert "<script" not in svg
    assert "\x1b" not in svg


def test_what_cannot_be_drawn_is_one_line():
    nothing = subject(runs.run())
    for kind in PLOTS:
        assert charts_of(kind, [nothing]) == []
    one, other = subject(runs.run(*sized(8)), "a"), subject(runs.run(*sized(16)), "b")
    with pytest.raises(UsageError, match="have no row in common"):
        draw([one, other], "compare")
    with pytest.raises(UsageError, match="have no row in common"):
        draw([one, other], "history")
    for name, said in (
        ("picture.gif", ".gif is not known"),
        ("picture", "has no ending; allowed: .svg"),
        ("picture.sgv", "did you mean svg?"),
    ):
        with pytest.raises(UsageError, match=re.escape(said)):
            writing.ending(name)


# Fewer points, and none that stands out lost.

VALUES = st.lists(st.floats(0.1, 1e9), min_size=1, max_size=400).map(np.array)


@settings(max_examples=40)
@given(VALUES, st.integers(2, 60))
def test_every_stretch_keeps_its_own_range_in_order(values, most):
    found = extremes(values, most)
    assert found.size <= max(most, 2)
    assert (np.diff(found) > 0).all()
    kept = set(found.tolist())
    bounds = np.linspace(0, values.size, most // 2 + 1).astype(int)
    if values.size > most:
        for first, end in pairwise(bounds):
            inside = [place for place in kept if first <= place < end]
            assert min(values[inside]) == values[first:end].min()
            assert max(values[inside]) == values[first:end].max()


@given(st.integers(1, 10**6), st.integers(3, 300))
def test_ranks_reach_from_end_to_end_and_are_denser_there(count, most):
    found = ranks(count, most)
    assert found[0] == 0
    assert found[-1] == count - 1
    assert (np.diff(found) > 0).all()
    assert found.size <= max(count if count <= most else most + 2, 1)


def test_few_values_are_all_kept():
    assert extremes(np.array([3.0, 1.0, 2.0]), 10).tolist() == [0, 1, 2]
    assert ranks(3, 10).tolist() == [0, 1, 2]
