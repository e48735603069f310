"""A size that a tool does not say is unknown in every view and file, and there is no bandwidth."""

import csv as csv_reader
import io
import json

import msgspec
import pytest

from halftrip.convert.export import csv as csv_files
from halftrip.convert.export import gnuplot, google_benchmark, openmetrics, parquet
from halftrip.errors import UsageError
from halftrip.plan.expectations import expected
from halftrip.registry import STYLES
from halftrip.report import csv, latex, markdown, screen, side_by_side, table
from halftrip.report import json as json_format
from halftrip.report.causes import render_why
from halftrip.report.document import document
from halftrip.report.expectation import Expectations, judged
from halftrip.report.selection import Selection, selected
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT
from harness.imports import imported_run, in_style
from harness.screens import text_of

QPERF = "tcp_lat:\n    latency  =  11.5 us\n"
IMPORTS = ROOT / "tests" / "golden" / "imports"
TEXTS = {
    "sockperf": (IMPORTS / "sockperf" / "ping-pong.txt").read_text(),
    "pyperf": (IMPORTS / "pyperf" / "two-benchmarks.json").read_text(),
    "netperf": (IMPORTS / "netperf" / "selected-csv.txt").read_text(),
    "qperf": QPERF,
}


@pytest.fixture(params=TEXTS)
def run(request):
    return imported_run(TEXTS[request.param])


def test_csv_and_json_have_neither_a_size_nor_a_bandwidth(run):
    for row in csv_reader.DictReader(io.StringIO(csv.render(document(run)))):
        assert float(row["latency_ns"]) > 0
        assert (row["size_bytes"], row["bandwidth_bytes_per_s"]) == ("", "")
        assert row["total_bandwidth_bytes_per_s"] == ""
    for row in json.loads(json_format.render(document(run)))["rows"]:
        assert (row["size_bytes"], row["bandwidth_bytes_per_s"]) == (None, None)


def test_a_table_has_a_question_mark(run):
    found = document(run)
    shown = text_of(table.render(found, 150), 150)
    heading = next(line for line in shown.splitlines() if " size " in line)
    end = heading.index("size") + len("size")
    sizes = [line[:end].split()[-1] for line in shown.split("\n\n")[1].splitlines()[2:]]
    assert sizes == ["?"] * len(found.rows)
    assert "bandwidth" not in heading
    assert "size ?: " in shown
    assert " 0 B" not in text_of(screen.render(found, 100, "a.jsonl"), 100)
    assert "?" in text_of(render_why(found, 100), 100)
    assert " ? " in markdown.render(found)
    assert " ? " in latex.render(found)


def test_exports_have_none(run):
    found = document(run)
    for row in csv_reader.DictReader(io.StringIO(csv_files.files(found)[".csv"])):
        assert (row["size_bytes"], row["bandwidth_bytes_per_s"]) == ("", "")
    (metrics,) = openmetrics.files(found).values()
    assert 'size="unknown"' in metrics
    assert "halftrip_bandwidth" not in metrics
    (text,) = google_benchmark.files(found).values()
    for each in json.loads(text)["benchmarks"]:
        assert "size:unknown" in each["name"]
        assert not {"size_bytes", "bytes_per_second"} & each.keys()
    with pytest.raises(UsageError, match="no row with a size"):
        gnuplot.files(found)


def test_parquet_has_none(run):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import read_table

    content = parquet.files(document(run))[".parquet"]
    assert set(read_table(pyarrow.BufferReader(content))["size_bytes"].to_pylist()) == {None}


@pytest.mark.parametrize("style", ["osu", "imb", "hpcbench", "mpi4py-ve", "one-box"])
def test_no_style_prints_a_row_without_a_size(style):
    assert style in STYLES
    with pytest.raises(UsageError, match=r"has no size: sockperf does not say it$|the run has no "):
        in_style(imported_run(TEXTS["sockperf"]), style)


def test_it_is_neither_selected_by_size_nor_the_smallest_message(run):
    found = document(run, expectations=Expectations(expected("latency=1us")))
    assert judged(found) == []
    with pytest.raises(UsageError, match="nothing to show"):
        selected(found, Selection(sizes=[(0, 1 << 40)]))


def test_it_stands_beside_no_row_of_zero_bytes():
    mine = runs.run(runs.measurement("tcp", 0, "block", 10_000.0))
    theirs = imported_run(QPERF)
    shown = text_of(side_by_side.render([document(mine), document(theirs)], ["a", "b"], 100), 100)
    lines = [line.split() for line in shown.splitlines() if line.startswith("tcp ")]
    assert len(lines) == 2
    assert sorted("0" in line for line in lines) == [False, True]


def test_the_run_file_says_so(tmp_path):
    path = runs.save(imported_run(QPERF), tmp_path / "qperf.jsonl")
    (found,) = load(path).measurements
    assert (found.configuration.size, found.configuration.size_known) == (0, False)


def test_a_size_that_is_not_known_is_no_number(tmp_path):
    run = imported_run(QPERF)
    (found,) = run.measurements
    wrong = msgspec.structs.replace(found.configuration, size=8)
    changed = msgspec.structs.replace(found, configuration=wrong)
    path = runs.save(runs.run(changed, sources=run.sources, environments=()), tmp_path / "a.jsonl")
    assert "a size that is not known" in load(path).problems[0]
