"""A size that a tool does not say is unknown in every view and file, and there is no bandwidth."""

import csv as csv_reader
import io
import json

import msgspec
import pyarrow
import pytest
from pyarrow.parquet import read_table

from halftrip.analysis.expectation import Expectations, judged
from halftrip.errors import UsageError
from halftrip.export import csv as csv_files
from halftrip.export import gnuplot, google_benchmark, openmetrics, parquet
from halftrip.plan.expectations import expected
from halftrip.registry import STYLES
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from halftrip.results.run_file import load
from halftrip.views import details, side_by_side
from halftrip.views.screen import first_screen
from halftrip.views.why import why
from harness import runs
from harness.imports import imported_run, in_style, sample
from harness.screens import text_of

QPERF = "tcp_lat:\n    latency  =  11.5 us\n"
TEXTS = {
    "sockperf": sample("sockperf", "ping-pong"),
    "pyperf": sample("pyperf", "two-benchmarks.json"),
    "netperf": sample("netperf", "selected-csv"),
    "qperf": QPERF,
}


@pytest.fixture(params=TEXTS, scope="module")
def run(request):
    return imported_run(TEXTS[request.param])


def test_a_table_has_a_question_mark(run):
    found = document(run)
    shown = text_of(details.details(found), 150)
    heading = next(line for line in shown.splitlines() if " size " in line)
    end = heading.index("size") + len("size")
    sizes = [line[:end].split()[-1] for line in shown.split("\n\n")[1].splitlines()[2:]]
    assert sizes == ["?"] * len(found.rows)
    assert "bandwidth" not in heading
    assert "size ?: " in shown
    assert " 0 B" not in text_of(first_screen(found, "a.jsonl"), 100)
    assert "?" in text_of(why(found), 100)
    assert " ? " in details.markdown(found)
    assert " ? " in details.latex(found)


def test_files_have_neither_a_size_nor_a_bandwidth(run):
    found = document(run)
    for printed in (details.csv(found), csv_files.files(found)[".csv"]):
        for row in csv_reader.DictReader(io.StringIO(printed)):
            assert float(row["latency_ns"]) > 0
            assert (row["size_bytes"], row["bandwidth_bytes_per_s"]) == ("", "")
    for row in json.loads(details.json(found))["rows"]:
        assert (row["size_bytes"], row["bandwidth_bytes_per_s"]) == (None, None)
    (metrics,) = openmetrics.files(found).values()
    assert 'size="unknown"' in metrics
    assert "halftrip_bandwidth" not in metrics
    (text,) = google_benchmark.files(found).values()
    for each in json.loads(text)["benchmarks"]:
        assert "size:unknown" in each["name"]
        assert not {"size_bytes", "bytes_per_second"} & each.keys()
    with pytest.raises(UsageError, match="no row with a size"):
        gnuplot.files(found)
    content = parquet.files(found)[".parquet"]
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


def test_the_run_file_says_so_and_it_is_no_number(tmp_path):
    run = imported_run(QPERF)
    # It stands beside no row of zero bytes.
    mine = runs.run(runs.measurement("tcp", 0, "block", 10_000.0))
    shown = text_of(side_by_side.side_by_side([document(mine), document(run)], ["a", "b"]), 100)
    lines = [line.split() for line in shown.splitlines() if line.startswith("tcp ")]
    assert sorted("0" in line for line in lines) == [False, True]
    (found,) = load(runs.save(run, tmp_path / "qperf.jsonl")).measurements
    assert (found.configuration.size, found.configuration.size_known) == (0, False)
    wrong = msgspec.structs.replace(found.configuration, size=8)
    changed = msgspec.structs.replace(found, configuration=wrong)
    path = runs.save(runs.run(changed, sources=run.sources, environments=()), tmp_path / "a.jsonl")
    assert "a size that is not known" in load(path).problems[0]
