"""The figures of a row: each is in CSV, JSON, a frame and the schema, and nothing else is."""

import csv
import io
import json

import pytest

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
from halftrip.analysis.setting_figures import CONFIGURATION, setting_figure
from halftrip.analysis.slice_figures import SLICE
from halftrip.export import openmetrics
from halftrip.plan.settings import in_place
from halftrip.report import numbers
from halftrip.report.document import document
from halftrip.report.frame import frame
from halftrip.results.reading import FORMAT
from halftrip.views import columns, cost, details
from harness import runs
from harness.files import ROOT
from harness.screens import text

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
