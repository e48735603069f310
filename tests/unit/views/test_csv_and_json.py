"""A run for programs: CSV, JSON and a data frame."""

import csv
import io
import json

import pytest

from halftrip.report.frame import frame
from halftrip.results.counts import Delivery
from halftrip.results.records import Aggregate, Failure, WarmUp
from halftrip.views import details
from harness import runs
from harness.files import ROOT
from harness.screens import text

ORIGIN = ("run", "date", "host", "mpi")


def a_run():
    return runs.run(
        runs.measurement("tcp", 8, "block", 10_000.0, stopped="time", warm_up=WarmUp(1, 9, False)),
        runs.measurement("shm", 4096, "spin", 1000.0, rtts=(150.0, 300.0)),
        runs.measurement("shm", 8),
    )


def from_json(run):
    return json.loads(text(details.json, run))


def from_csv(run):
    return list(csv.DictReader(io.StringIO(text(details.csv, run))))


def test_csv_and_json_have_the_same_rows():
    document = from_json(a_run())
    table = from_csv(a_run())
    assert len(document["rows"]) == len(table) == 3
    for row, line in zip(document["rows"], table, strict=True):
        assert row.keys() == line.keys()
        assert float(line["latency_ns"]) == pytest.approx(row["latency_ns"])
    assert document["rows"][2]["flags"] == "drift not-converged"
    assert document["skipped"][0]["transport"] == "mpi"
    assert document["interrupted"] is None


def test_every_name_is_documented():
    """Their order is that of tests/golden/formats/1.csv."""
    heading = text(details.csv, a_run()).splitlines()[0].split(",")
    document = from_json(a_run())
    assert document["copies"] == [{"size_bytes": 65536, "ns": 2000.0}]
    documented = (ROOT / "docs" / "run-file.md").read_text()
    assert [name for name in heading if f"`{name}`" not in documented] == []


def test_settings_of_each_end_are_in_one_column():
    measured = runs.measurement("tcp", wait="spin:block", pages="4K:huge", memory="host:device")
    run = runs.run(measured, runs.measurement("shm"))
    for rows in (from_csv(run), from_json(run)["rows"], frame(run).to_dict("records")):
        settings = [(row["wait"], row["pages"], row["memory"]) for row in rows]
        assert settings == [("spin", "4K", "host"), ("spin:block", "4K:huge", "host:device")]
    assert frame(run, slices=True)["wait"].tolist() == ["spin:block", "spin"]


def test_figures_that_do_not_exist_are_null_or_empty():
    run = runs.run(runs.measurement(samples=[2000], rtts=None))
    (row,) = from_json(run)["rows"]
    assert row["low_ns"] is None
    assert row["core_to_core_low_ns"] is None
    (line,) = from_csv(run)
    assert line["low_ns"] == line["core_to_core_low_ns"] == ""
    assert text(details.csv, runs.run()) == ""


def test_json_has_aggregates_and_failures():
    configuration = runs.configuration(pair=(0, 2), concurrency=2)
    pairs = Aggregate(
        configuration=configuration, slice=0, pairs=[(0, 2), (1, 3)], spans=[1000], messages=[10.0]
    )
    never = Aggregate(configuration=configuration, slice=1, pairs=[(0, 2)], spans=[], messages=[])
    failure = Failure(configuration=configuration, slice=0, reason="rank 1: a wrong byte")
    document = from_json(runs.run(aggregates=(pairs, never), failures=(failure,)))
    other, one = document["aggregates"]
    assert one["pairs"] == ["0-2", "1-3"]
    assert one["messages_per_s"] == pytest.approx(10 / 1e-6)
    assert one["configuration"]["concurrency"] == 2
    assert one["bandwidth_bytes_per_s"] == pytest.approx(8 * 10 / 1e-6)
    assert other["bandwidth_bytes_per_s"] is None
    (failed,) = document["failed"]
    assert failed["reason"] == "rank 1: a wrong byte"
    assert failed["configuration"]["pair"] == "0-2"


def test_a_frame_says_where_its_rows_come_from():
    first = runs.environment(0, mpi="Open MPI v5.0.11")
    ranks = (first, runs.environment(1, host="n2"), runs.environment(0, launch=1))
    run = runs.run(runs.measurement("shm", 8), environments=ranks)
    for slices in (False, True):
        (row,) = frame(run, slices, "mine.jsonl").to_dict("records")
        origin = ("mine.jsonl", f"{first.host}:n2", "Open MPI v5.0.11")
        assert (row["run"], row["host"], row["mpi"]) == origin
        assert row["date"].isoformat() == run.header.started
    # A simulated run has no ranks.
    (row,) = frame(runs.run(runs.measurement("shm", 8), environments=())).to_dict("records")
    assert (row["run"], row["host"]) == (run.header.started, None)


def test_a_frame_has_the_rows_of_csv_or_one_for_each_slice():
    again = runs.measurement("shm", 8, slice=1, seed=2, usage=(runs.usage(), runs.usage()))
    run = runs.run(runs.measurement("shm", 8), again, runs.measurement("tcp", 8))
    rows = frame(run)
    lines = text(details.csv, run).splitlines()[1:]
    assert rows["transport"].tolist() == [line.split(",")[0] for line in lines]
    assert rows["slices"].tolist() == [2, 1]
    table = frame(runs.run(runs.measurement("shm", 8), again), slices=True)
    assert {*ORIGIN, "slice", "at_s", "size_bytes", "p99_ns"} < {*table.columns}
    assert table["slice"].tolist() == [0, 1]
    assert table["latency_ns"].tolist() == pytest.approx([100, 100], rel=0.01)
    assert table["initiator_load"].isna().tolist() == [True, False]


def test_a_frame_of_slices_has_the_cpu_time_of_what_arrived():
    sent = [Delivery(sent=1000, lost=lost, reordered=0) for lost in (0, 500)]
    usage = (runs.usage(), runs.usage())
    slices = [runs.stream(slice=n, delivery=each, usage=usage) for n, each in enumerate(sent)]
    whole, half = frame(runs.run(*slices), slices=True)["initiator_cpu_s_per_gb"]
    assert half == pytest.approx(2 * whole)
