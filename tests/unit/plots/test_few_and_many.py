"""Pictures of few sizes, of many curves, and of many figures."""

import math

import pytest

from halftrip.plots import terminal
from halftrip.plots.chart import Bars
from halftrip.plots.theme import DASHES
from halftrip.registry import PLOTS
from harness import runs
from harness.charts import charts_of, check, subject
from harness.choice import extended


@pytest.mark.parametrize("kind", ["latency", "bandwidth", "compare", "usage"])
def test_few_sizes_of_several_paths_are_bars_of_each_size(kind):
    """The best first, or what became slower; each path has its colour, also where others lack."""
    used = (runs.usage(0.9, 0.05), runs.usage(0.4, 0.2))
    halves = {"mp-shm": 2.0, "tcp": 3.0, "shm": 1.0}
    both = [
        runs.run(
            *(
                runs.measurement(
                    name, size, half_ns=1000 * half * (1.5 if slow == name else 1.0), slice=slice_,
                    seed=size + slice_, usage=used,
                )
                for name, half in halves.items()
                for size in ((8, 64, 4096) if name != "mp-shm" else (64, 4096))
                for slice_ in range(3)
            )
        )
        for slow in ("", "tcp")
    ]  # fmt: skip
    subjects = [subject(run, name) for run, name in zip(both, "ab", strict=True)]
    charts = charts_of(kind, subjects if kind == "compare" else subjects[:1])
    check(charts)
    bars = [chart for chart in charts if chart.title.startswith(charts[0].title.split(":")[0])]
    sizes = [chart.title.rpartition(" of ")[2] for chart in bars]
    assert sizes == ["8 B", "64 B", "4 KiB"]
    assert all(isinstance(chart.drawing, Bars) for chart in charts)
    # What the first says, the others do not say again.
    assert not set(bars[0].marks) & {line for chart in bars[1:] for line in chart.marks}
    of_each = [[bar.name for bar in chart.drawing.bars] for chart in bars]
    if kind in ("latency", "bandwidth"):
        assert of_each == [["shm", "tcp"], *[["shm", "mp-shm", "tcp"]] * 2]
        scales = [
            chart.view.to_dict(context={"top_level": False})["layer"][0]["encoding"]["stroke"]
            for chart in bars
        ]
        assert scales[0] == scales[1]
    if kind == "compare":
        assert {names[0] for names in of_each} == {"tcp"}


@pytest.mark.parametrize(
    ("sizes", "charts"), [((8, 1024, 65536, 1 << 20), 4), ((8, 32, 128, 512), 1), ((8,) * 2, 1)]
)
def test_sizes_that_no_curve_would_join_are_bars(sizes, charts):
    measured = [
        runs.measurement(name, size, slice=n, seed=n)
        for name in ("shm", "tcp")
        for n, size in enumerate(sizes)
    ]
    assert len(charts_of("latency", [subject(runs.run(*measured))])) == charts


def test_of_many_curves_the_best_have_colours():
    """In the terminal, the others have gaps between them."""
    names = [f"path{number}" for number in range(14)]
    sizes = (8, 32, 128, 512)
    measured = [
        runs.measurement(name, size, half_ns=100.0 * (number + 1) + size, seed=number + size)
        for number, name in enumerate(names)
        for size in sizes
    ]
    (chart,) = charts_of("latency", [subject(runs.run(*measured))])
    check([chart])
    points = chart.data["points"]
    assert {each["series"] for each in points[-6 * len(sizes) :]} == {*names[:6]}
    assert {each["series"] for each in points[: 8 * len(sizes)]} == {"others"}
    assert f"Grey: {', '.join(names[6:])}." in chart.lines
    # Each can still be hidden, and says in its tooltip who it is.
    assert {each["transport"] for each in points} == {*names}
    others = next(curve for curve in chart.drawing.curves if curve.name == "others")
    assert sum(map(math.isnan, others.y)) == 7


def test_dashes_are_whole_in_legends_of_lines_and_not_in_those_of_points():
    names = [f"path{number}" for number in range(9)]
    measured = [runs.measurement(name, size) for name in names for size in (8, 16, 32, 64)]
    run = subject(runs.run(*measured))
    (points,) = charts_of("latency", [run])
    drawn = points.view.to_dict(context={"top_level": False})["layer"]
    dashes = [each["encoding"]["strokeDash"] for each in drawn if "strokeDash" in each["encoding"]]
    assert [each["legend"] for each in dashes] == [None]
    shares = charts_of("distribution", [run])[0].view.to_dict(context={"top_level": False})
    legend = shares["encoding"]["strokeDash"]["legend"]
    assert legend == shares["encoding"]["color"]["legend"]
    longest = max(map(sum, DASHES))
    assert legend["symbolType"] == "stroke"
    assert math.sqrt(legend["symbolSize"]) > longest


def test_of_many_figures_those_that_stand_out_are_drawn():
    sizes = [8 * number for number in range(1, 401)]
    measured = [
        runs.measurement(name, size, half_ns=1000.0 * (20 if size == 808 else 1), samples=(100.0,))
        for name in ("a", "b", "c", "d", "e")
        for size in sizes
    ]
    (chart,) = charts_of("latency", [subject(runs.run(*measured))])
    points = chart.data["points"]
    assert len(points) <= 1500
    assert f"{len(points):,} of 2,000 figures are drawn" in " ".join(chart.lines)


OF_SAMPLES = ["samples", "distribution", "pairs"]


@pytest.mark.parametrize(
    "kind", [*OF_SAMPLES, *extended(*(each for each in PLOTS if each not in OF_SAMPLES))]
)
@pytest.mark.parametrize("zeros", [6, 1])
def test_where_a_clock_shows_no_time_there_is_a_line_or_a_chart_of_the_rest(kind, zeros):
    """All times of so many of six pairs are 0."""
    hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(4))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    measured = [
        runs.measurement(
            "tcp", 8, "block", pair=pair, slice=slice_, samples=[200 * (n >= zeros)] * 20
        )
        for n, pair in enumerate(pairs)
        for slice_ in range(2)
    ]
    charts = charts_of(kind, [subject(runs.run(*measured, environments=hosts))])
    assert bool(charts) >= (zeros == 1 and kind in OF_SAMPLES)
    assert terminal.render(charts, 100) or not charts
