"""The rows of a run, their summaries, and their figures: each is everywhere under its name."""

import csv
import io
import json
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from halftrip.analysis import rows as judging
from halftrip.analysis.figure import (
    ALWAYS,
    NOT_SHOWN,
    Figure,
    Metric,
    Shown,
    fields,
    figures_of,
    names,
)
from halftrip.analysis.figures import BY_NAME, COSTS, FIGURES, USAGE
from halftrip.analysis.flags import neighbours
from halftrip.analysis.rows import rows
from halftrip.analysis.setting_figures import CONFIGURATION, setting_figure
from halftrip.analysis.slice_figures import SLICE
from halftrip.analysis.summaries import (
    configuration_times,
    launch_components,
    summarize_configuration,
)
from halftrip.export import openmetrics
from halftrip.plan.settings import in_place
from halftrip.report import numbers
from halftrip.report.document import document
from halftrip.report.frame import frame
from halftrip.results.counts import Delivery
from halftrip.results.reading import FORMAT
from halftrip.views import columns, cost, details
from harness import runs
from harness.files import ROOT
from harness.screens import text


def row_of(*measurements):
    (row,) = rows(runs.run(*measurements))
    return row


def test_what_the_pairs_of_a_map_have_in_common_is_asked_for_once(monkeypatch):
    """There may be 30,000; other transports and streams, which none of them is, are not looked
    for."""
    asked = Counter()

    def counted(module, name):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: asked.update([name]) or real(*given))

    counted(judging, "_values")
    counted(neighbours, "kind_of")
    counted(neighbours, "_anywhere")
    judging._order_of_setting.cache_clear()
    pairs = [*combinations(range(5), 2)]
    found = rows(runs.run(*(runs.measurement(pair=pair) for pair in reversed(pairs))))
    assert [row.configuration.pair for row in found] == pairs
    # Of settings before the size, and after it.
    assert asked == {"_values": 2}


def test_rows_are_in_the_order_of_settings():
    sizes = [64, 1, 4096]
    run = runs.run(*(runs.measurement(t, s) for s in sizes for t in ("tcp", "new", "mpi")))
    shown = [(row.configuration.transport, row.configuration.size) for row in rows(run)]
    assert shown == [(t, s) for t in ("mpi", "tcp", "new") for s in sorted(sizes)]
    run = runs.run(
        *(runs.stream(rate=rate) for rate in (1e9, 9e7, None, 1e8)),
        *(runs.measurement("tcp", wait=wait) for wait in ("spin:block", "spin", "block")),
    )
    found = [row.configuration for row in rows(run)]
    assert [each.both_ends("wait") for each in found[:3]] == ["block", "spin", "spin:block"]
    assert [each.rate for each in found[3:]] == [None, 9e7, 1e8, 1e9]


def test_slices_make_one_row():
    row = row_of(
        runs.measurement(slice=0, rtts=(150.0, 160.0)),
        runs.measurement(slice=1, seed=2, iterations=20, rtts=(130.0, 131.0)),
    )
    assert row.summary.samples == 800
    assert row.iterations == 20
    assert row.core_to_core_rtt == (130.0, 160.0)


def test_bandwidth_is_over_all_the_time_until_the_last_receive():
    """The first windows go into the queue at once; what it cannot deliver is lost later."""
    samples = [5_000] * 60 + [20_000] * 40
    row = row_of(runs.stream(samples=samples, delivery=Delivery(sent=1000, lost=100, reordered=0)))
    assert row.bandwidth == pytest.approx(900 * 1000 / 1.1e-3)
    row = row_of(runs.stream(samples=samples, delivery=Delivery(sent=1000, lost=0, reordered=0)))
    assert row.bandwidth == pytest.approx(10 * 1000 / 5e-6)
    assert row.peer_bandwidth == pytest.approx(1e9)
    # Each direction by itself.
    row = row_of(
        runs.stream(
            pattern="bidirectional", peer_times=runs.times(),
            peer_receive_times=runs.times(10_000), receive_times=runs.times(5_000),
        )
    )  # fmt: skip
    assert row.bandwidth == pytest.approx(2e9)
    assert row.each_way == (pytest.approx(1e9), pytest.approx(2e9))


def test_deliveries_of_slices_are_added_and_the_last_jitter_counts():
    row = row_of(runs.stream(delivery=Delivery(sent=1000, lost=250, reordered=10, jitter=1500.0)))
    assert row.bandwidth == pytest.approx(0.75e9)
    assert row.rate == pytest.approx(0.75e6)
    assert row.peer_bandwidth is None
    row = row_of(
        runs.stream(delivery=Delivery(sent=10, lost=1, reordered=2, jitter=5.0)),
        runs.stream(delivery=Delivery(sent=30, lost=3, reordered=0, jitter=7.0), slice=1),
    )
    assert row.delivery == Delivery(sent=40, lost=4, reordered=2, jitter=7.0)
    assert row.delivered == pytest.approx(0.9)
    # A lost iteration of a ping-pong is no sample.
    lost = Delivery(sent=500, lost=100, reordered=0)
    with_losses = row_of(runs.measurement("udp", 8, "block", delivery=lost))
    assert with_losses.bandwidth == row_of(runs.measurement("udp", 8, "block")).bandwidth


# Units.


def test_a_summary_is_in_ns_and_bytes_per_second():
    slices = [
        runs.measurement(
            size=1000, iterations=1, samples=range(2000 + n, 2400 + n), first=5000 + n, slice=n
        )
        for n in range(10)
    ]
    summary = summarize_configuration(slices)
    assert summary.latency == pytest.approx(1102)
    assert summary.bandwidth == pytest.approx(1000 / 1102e-9)
    assert summary.max == 1204
    assert summary.p99.value == pytest.approx(1199, abs=2)
    assert summary.first == 2500
    assert summary.samples == 4000
    assert summary.low < summary.latency < summary.high


def test_what_samples_of_several_iterations_or_of_no_time_do_not_tell():
    slices = [runs.measurement(iterations=10 if n else 1, slice=n) for n in range(10)]
    summary = summarize_configuration(slices)
    assert math.isnan(summary.p90.value)
    assert math.isnan(summary.max)
    assert math.isnan(summarize_configuration([runs.measurement(samples=[0] * 30)]).bandwidth)
    lost = Delivery(sent=10, lost=5, reordered=0)
    lossy = runs.measurement("udp", samples=[0] * 30, delivery=lost, pattern="stream", window=4)
    assert math.isnan(summarize_configuration([lossy]).bandwidth)


def test_bandwidth_at_a_rate_is_all_that_arrived_over_all_the_time():
    """One window is late and the others make up for it: most are faster than the rate."""

    def windows(samples=(*[9_000] * 9, 19_000), lost=10, rate=1e9, **changes):
        return runs.measurement(
            "udp", 1000, "block", pattern="stream", window=10, iterations=1, samples=samples,
            rate=rate, delivery=Delivery(sent=100, lost=lost, reordered=0), **changes,
        )  # fmt: skip

    again = windows([10_000] * 10, slice=1)
    assert summarize_configuration([windows()]).bandwidth == pytest.approx(0.9e9)
    assert summarize_configuration([windows(), again]).bandwidth == pytest.approx(0.9e9)
    assert summarize_configuration([windows(rate=None)]).bandwidth == pytest.approx(0.9e9)
    whole = windows(rate=None, lost=0)
    assert summarize_configuration([whole]).bandwidth == pytest.approx(1e9 / 0.9)
    assert summarize_configuration([windows()]).latency == pytest.approx(900)


# Launches.


def test_launches_count_equally_whatever_their_number_of_samples():
    launches = [
        runs.measurement(iterations=1, samples=[2 * level] * count, launch=n, rtts=None)
        for n, (level, count) in enumerate([(1000, 500), (1100, 10), (1200, 10)])
    ]
    assert summarize_configuration(launches).latency == 1100


def test_the_variation_between_launches_and_within_them():
    generator = np.random.default_rng(5)
    measurements = []
    for launch in range(200):
        level = 10_000 * (1 + 0.05 * generator.standard_normal())
        for number in range(4):
            samples = np.rint(level * (1 + 0.01 * generator.standard_normal()) * np.ones(9))
            measurements.append(
                runs.measurement(
                    samples=samples, iterations=1, rtts=None, launch=launch, slice=number
                )
            )
    found = launch_components(configuration_times(measurements))
    assert found.between == pytest.approx(0.05, rel=0.15)
    assert found.within == pytest.approx(0.01, rel=0.15)
    assert launch_components(configuration_times(measurements[:4])) is None
    # The two halves of a single slice stand for slices.
    assert launch_components(configuration_times(measurements[::4])).within == 0


# What a frame has before its figures.
ORIGIN = ["run", "date", "host", "mpi"]


def test_every_figure_is_everywhere_under_its_name_and_nothing_else_is():
    run = runs.run(runs.measurement(), runs.measurement("tcp", usage=(runs.usage(), runs.usage())))
    listed = names(FIGURES)
    assert len(set(listed)) == len(listed) > 100
    lines = list(csv.reader(io.StringIO(text(details.csv, run))))
    assert lines[0] == listed
    assert [list(row) for row in json.loads(text(details.json, run))["rows"]] == [listed] * 2
    assert list(frame(run).columns) == ORIGIN + listed
    schema = json.loads((ROOT / f"docs/schema/halftrip-{FORMAT}.schema.json").read_text())["$defs"]
    for place, figures in (("Row", FIGURES), ("Configuration", CONFIGURATION)):
        described = {
            name: each["description"] for name, each in schema[place]["properties"].items()
        }
        every = (*figures, *map(setting_figure, in_place("extra")))
        assert described == {each.name: f"{each.says}." for each in every}


def test_a_frame_of_slices_has_only_figures_of_slices():
    of_slices = list(frame(runs.run(runs.measurement()), slices=True).columns)
    assert of_slices == ORIGIN + [name for name in names(SLICE) if name in of_slices]


def test_what_has_a_heading_is_a_column_of_a_table():
    shown = [
        *columns.latency_columns(rtt=False),
        *columns.RATE_COLUMNS,
        *columns.DELIVERY_COLUMNS,
        *(columns.VERIFIED, columns.VERDICT, columns.CAUSE),
        *cost._COLUMNS,
        *cost._COUNTED_COLUMNS,
    ]
    headings = {(each.name, each.unit, each.says) for each in shown}
    figures = (*FIGURES, *USAGE, *COSTS)
    wanted = {(s.heading, s.unit, s.says) for each in figures if (s := each.shown) != NOT_SHOWN}
    assert len(wanted) > 30
    assert wanted <= headings


# How names end whose values have a column in that unit; other units are what the name ends in.
ENDS = {
    "us": "_ns", "MB/s": "_bytes_per_s", "GB/s": "_bytes_per_s", "10^6/s": "_per_s", "GHz": "_hz",
    "MiB": "_bytes", "J": "_j", "s/GB": "_s_per_gb", "%": ("_share", "load"),
    "% of load": "_share",
}  # fmt: skip


def test_the_unit_of_a_column_is_one_into_which_its_values_are_converted():
    units = {each.name: each.shown.unit for each in (*FIGURES, *USAGE, *COSTS)}
    wrong = {
        name: unit
        for name, unit in units.items()
        if not name.endswith(ENDS.get(unit, unit.replace(" ", "_")))
    }
    assert wrong == {}
    assert numbers._SCALES.keys() <= ENDS.keys()


def test_an_entry_is_all_that_a_column_and_a_metric_need(monkeypatch):
    """Wherever a new one stands, and whatever it is of."""
    shown = Shown("double", "us", ALWAYS, doubles=True)
    metric = Metric("double_seconds", "seconds", "Twice the latency.")
    made = Figure(
        "double_ns", "number?", lambda row: 2 * row.summary.latency, "Twice", shown, metric
    )
    for module in (columns, openmetrics):
        monkeypatch.setattr(module, "FIGURES", (*FIGURES, made))
    monkeypatch.setitem(BY_NAME, made.name, made)
    run = runs.run(runs.measurement("tcp", 8, "block", 10_000.0))
    assert " double " in text(details.details, run)
    found = openmetrics.files(document(run))[".prom"]
    (line,) = [line for line in found.splitlines() if line.startswith("halftrip_double_seconds{")]
    (row,) = document(run).rows
    assert float(line.split("} ")[1]) == pytest.approx(2e-9 * row.summary.latency)
    of_end = Figure("half_load", "number?", lambda of: of.usage.load / 2, "Half of it", shown)
    assert columns.columns_of([of_end], ())[0].name == "double"


def test_what_does_not_exist_is_none_and_so_is_all_of_a_part_that_is_missing():
    half = Figure("half", "number?", lambda of: of / 2, "Half of it")
    assert fields([half], 3.0) == {"half": 1.5}
    assert fields([half], float("nan")) == {"half": None}
    of_pair = figures_of(tuple, lambda of: of[1], [half])
    assert [fields(of_pair, each)["half"] for each in ((1, 4), (1, None))] == [2.0, None]
    assert (half.type, half.optional) == ("number", True)
