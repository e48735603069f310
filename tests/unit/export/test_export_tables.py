"""CSV and Parquet: one line for each measurement, and one for each sample."""

import csv
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.figure import names
from halftrip.api import load as load_run
from halftrip.errors import HalftripError, UsageError
from halftrip.export import csv as csv_files
from halftrip.export import parquet as parquet_files
from halftrip.export.measurements import MEASUREMENT, SAMPLE
from halftrip.report.document import document
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT

GOLDEN = sorted((ROOT / "tests" / "golden" / "formats").glob("*.jsonl"))


def a_run():
    usage = (runs.usage(core={"number": 3}), runs.usage())
    return runs.run(
        runs.measurement("tcp", 8, "block", 10_000.0, usage=usage, launch=0, slice=0),
        runs.measurement("tcp", 8, "block", 10_100.0, seed=2, launch=0, slice=1),
        runs.measurement("shm", 4096, "spin", 1000.0),
        runs.stream(),
        environments=(runs.environment(0, host='a,"b"\n'), runs.environment(1, host="node2")),
    )


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def as_text(value):
    return "" if value is None else str(value)


def read_parquet(content):
    import pyarrow
    from pyarrow import parquet

    return parquet.read_table(pyarrow.BufferReader(content))


RUNS = [
    pytest.param(a_run, id="measured"),
    pytest.param(lambda: runs.run(runs.measurement("simulated")), id="simulated"),
    *(pytest.param(lambda path=path: load(path), id=path.stem) for path in GOLDEN),
]


def test_csv_has_the_measurements_and_the_samples_of_the_run():
    run = a_run()
    made = csv_files.files(document(run))
    lines, samples = read_csv(made[".csv"]), read_csv(made["-samples.csv"])
    assert list(lines[0]) == names(MEASUREMENT)
    assert list(samples[0]) == names(SAMPLE)
    assert len(lines) == len(run.measurements) == 4
    by_key = {
        (m.configuration.transport, m.configuration.size, str(m.launch), str(m.slice)): m
        for m in run.measurements
    }
    for line in lines:
        key = (line["transport"], int(line["size_bytes"]), line["launch"], line["slice"])
        measured = by_key.pop(key)
        assert (line["initiator_host"], line["responder_host"]) == ('a,"b" ', "node2")
        assert float(line["at_s"]) == measured.at
        own = [each for each in samples if each["measurement"] == line["measurement"]]
        assert [int(each["time_ns"]) for each in own] == measured.samples.tolist()
        assert [int(each["sample"]) for each in own] == list(range(measured.samples.size))
        assert {int(each["iterations"]) for each in own} == {measured.iterations}
        assert {each["transport"] for each in own} == {line["transport"]}
        assert {each["size_bytes"] for each in own} == {line["size_bytes"]}
        messages = int(line["iterations"]) * int(line["messages_per_iteration"])
        times = measured.samples / messages
        assert [float(each["latency_ns"]) for each in own] == times.tolist()
        assert float(line["latency_ns"]) == pytest.approx(np.median(times), rel=0.01)
    assert not by_key


@pytest.mark.parametrize("make", RUNS)
def test_parquet_reads_back_as_csv_does(make):
    found = document(make())
    texts, tables = csv_files.files(found), parquet_files.files(found)
    for suffix, figures in (("", MEASUREMENT), ("-samples", SAMPLE)):
        table = read_parquet(tables[f"{suffix}.parquet"])
        lines = read_csv(texts[f"{suffix}.csv"])
        assert table.column_names == names(figures)
        assert table.num_rows == len(lines)
        for figure in figures:
            values = table.column(figure.name).to_pylist()
            written = [each[figure.name] for each in lines]
            if figure.kind == "number":
                assert values == [float(each) if each else None for each in written], figure.name
            else:
                assert [as_text(each) for each in values] == written, figure.name


def test_a_frame_of_samples_has_the_table_of_csv(tmp_path):
    run = load_run(runs.save(a_run(), tmp_path / "run.jsonl"))
    found = run.frame(samples=True)
    lines = read_csv(csv_files.files(document(run, flags=False))["-samples.csv"])
    assert list(found.columns) == ["run", *names(SAMPLE)]
    assert set(found["run"]) == {"run.jsonl"}
    assert found["latency_ns"].tolist() == [float(each["latency_ns"]) for each in lines]
    assert found["transport"].tolist() == [each["transport"] for each in lines]
    with pytest.raises(UsageError, match="of slices or of samples"):
        run.frame(slices=True, samples=True)


def test_types_do_not_depend_on_the_values_and_pyarrow_may_be_missing(monkeypatch):
    first, second = (
        read_parquet(parquet_files.files(document(make()))[".parquet"])
        for make in (a_run, lambda: load(GOLDEN[0]))
    )
    assert first.schema == second.schema
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HalftripError, match=r"^--to parquet needs pyarrow: pip install "):
        parquet_files.files(document(a_run()))


@settings(max_examples=30)
@given(
    times=st.lists(st.integers(0, 10**17), min_size=1, max_size=20),
    host=st.text(max_size=20),
    size=st.integers(0, 1 << 60),
)
def test_any_samples_and_hosts_are_read_back(times, host, size):
    run = runs.run(
        runs.measurement(size=size, samples=times),
        environments=(runs.environment(0, host=host), runs.environment(1)),
    )
    found = document(run, flags=False)
    made = csv_files.files(found)
    assert [int(each["time_ns"]) for each in read_csv(made["-samples.csv"])] == times
    (line,) = read_csv(made[".csv"])
    table = read_parquet(parquet_files.files(found)[".parquet"])
    assert table.column("initiator_host").to_pylist() == [line["initiator_host"]]
    assert int(line["size_bytes"]) == size
