"""CSV and Parquet, a line for each measurement or sample; and the schema of the JSON."""

import copy
import csv
import io
import json
import sys

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.expectation import Expectations
from halftrip.analysis.figure import names
from halftrip.api import load as load_run
from halftrip.errors import HalftripError, UsageError
from halftrip.export import csv as csv_files
from halftrip.export import documents
from halftrip.export import parquet as parquet_files
from halftrip.export.measurements import MEASUREMENT, SAMPLE
from halftrip.report.document import document
from halftrip.results.reading import FORMAT
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT, RUN_FILES, module


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
    *(pytest.param(lambda path=path: load(path), id=path.stem) for path in RUN_FILES),
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
        for make in (a_run, lambda: load(RUN_FILES[0]))
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
    (name,) = table.column("initiator_host").to_pylist()
    # What a spreadsheet would compute is a text there.
    assert line["initiator_host"] in (name, f"'{name}")
    assert int(line["size_bytes"]) == size


SCHEMA = ROOT / "docs" / "schema" / f"halftrip-{FORMAT}.schema.json"


@pytest.fixture(scope="module")
def schema():
    return json.loads(SCHEMA.read_text())


@pytest.fixture(scope="module")
def check(schema):
    return jsonschema.Draft202012Validator(schema)


def exported(run, expectations=None):
    made = documents.json(document(run, expectations=expectations))
    return json.loads(made[".json"])


@pytest.fixture(scope="module")
def golden():
    """The JSON of a run with every kind of record; of each list of others, what comes first."""

    def shortened(value):
        if isinstance(value, list):
            nested = isinstance(value[0], list | dict) if value else False
            return [shortened(each) for each in value[:1]] if nested else value
        if isinstance(value, dict):
            return {name: shortened(each) for name, each in value.items()}
        return value

    return shortened(exported(load(RUN_FILES[-1])))


def test_it_is_a_schema_and_up_to_date(schema):
    assert SCHEMA.read_text() == module("scripts/json_schema.py").text(), "make golden"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.stem)
def test_the_json_of_every_kind_of_run_fits(check, path):
    check.validate(exported(load(path)))


def test_rows_of_which_more_or_less_is_known_fit(check):
    """A staged row, a device of which little is known, and what falls short."""
    found = exported(
        runs.run(
            runs.measurement(memory="cuda", staging=4096),
            devices=(runs.device(numa_node=None, ecc=None),),
        )
    )
    assert found["devices"]
    check.validate(found)
    hosts = (runs.environment(0), runs.environment(1, host="node2"))
    found = exported(
        runs.run(runs.measurement(), environments=hosts), Expectations({"latency": 1e-9})
    )
    assert found["expectations"]
    check.validate(found)


def objects(instance, path=()):
    """The places of all objects whose fields the schema names, with the names."""
    if isinstance(instance, list):
        for number, each in enumerate(instance):
            yield from objects(each, (*path, number))
    if isinstance(instance, dict) and path != ("plan",):
        yield path, list(instance)
        for name, each in instance.items():
            yield from objects(each, (*path, name))


RECORDS = {"carriers", "connections", "devices", "device_copies", "device_latencies", "sources"}


def test_a_field_that_is_renamed_removed_or_of_another_type_does_not_fit(check, golden):
    check.validate(golden)
    fields = [(path, name) for path, names in objects(golden) for name in names]
    assert len(fields) > 150
    for path, name in fields:

        def fits(change, path=path, name=name):
            changed = place = copy.deepcopy(golden)
            for each in path:
                place = place[each]
            change(place, name)
            return check.is_valid(changed)

        assert not fits(lambda of, name: of.update({f"{name}_x": of.pop(name)})), (path, name)
        assert not fits(lambda of, name: of.update({name: 1 if name == "plan" else {"a": ["b"]}}))
        # What is left out of a record of the run file has its default.
        if not RECORDS.intersection(path):
            assert not fits(lambda of, name: of.pop(name)), (path, name)


def test_every_field_is_described(schema):
    def walk(schema):
        for name, each in schema.get("properties", {}).items():
            assert "description" in each or "$ref" in each, name
            yield name, each
            yield from walk(each)
        if isinstance(schema.get("items"), dict):
            yield from walk(schema["items"])
        for each in schema.get("$defs", {}).values():
            yield from walk(each)

    found = dict(walk(schema))
    units = {"_ns": "ns", "_bytes": "bytes", "_per_s": "per second", "_s": "s"}
    for name, each in found.items():
        for ending, unit in units.items():
            if name.endswith(ending) and name not in ("elapsed_s", "load_s"):
                words = each["description"]
                assert unit in words, (name, words)
                break
