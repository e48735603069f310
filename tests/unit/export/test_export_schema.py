"""The published schema of the JSON describes what is printed, and nothing else."""

import copy
import json

import jsonschema
import pytest

from halftrip.analysis.expectation import Expectations
from halftrip.export import documents
from halftrip.report.document import document
from halftrip.results.reading import FORMAT
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT, module

SCHEMA = ROOT / "docs" / "schema" / f"halftrip-{FORMAT}.schema.json"
GOLDEN = sorted((ROOT / "tests" / "golden" / "formats").glob("*.jsonl"))


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
    """The JSON of a run with every kind of record; of each list, what comes first."""

    def shortened(value):
        if isinstance(value, list):
            return [shortened(each) for each in value[:1]]
        if isinstance(value, dict):
            return {name: shortened(each) for name, each in value.items()}
        return value

    return shortened(exported(load(GOLDEN[-1])))


def test_it_is_a_schema_and_up_to_date(schema):
    assert SCHEMA.read_text() == module("scripts/json_schema.py").text(), "make golden"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_json_of_every_kind_of_run_fits(check, path):
    check.validate(exported(load(path)))


def test_a_staged_row_and_a_device_of_which_little_is_known_fit(check):
    found = exported(
        runs.run(
            runs.measurement(memory="cuda", staging=4096),
            devices=(runs.device(numa_node=None, ecc=None),),
        )
    )
    assert found["devices"]
    check.validate(found)


def test_what_falls_short_fits(check):
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


RECORDS = {"connections", "devices", "device_copies", "device_latencies", "sources"}


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
