"""The published schema of the JSON describes what is printed, and nothing else."""

import copy
import json

import jsonschema
import pytest

from halftrip.convert.export import documents
from halftrip.report.document import document
from halftrip.report.expectation import Expectations
from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.results.records import Aggregate, Failure
from halftrip.results.reported import Listing, Reported, Source
from halftrip.results.run_file import FORMAT, load
from harness import runs
from harness.files import ROOT, module

SCHEMA = ROOT / "docs" / "schema" / f"halftrip-{FORMAT}.schema.json"
GOLDEN = sorted((ROOT / "tests" / "golden" / "formats").glob("*.jsonl"))


def validator():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


def exported(run, expectations=None):
    made = documents.json(document(run, expectations=expectations))
    return json.loads(made[".json"])


def golden():
    return exported(load(GOLDEN[-1]))


def imported():
    source = Source(
        tool="osu",
        file="a.txt",
        place=1,
        statistic="mean",
        hosts=["a", "b"],
        facts={"version": "7.4"},
        listings=[Listing(title="log", columns=["cpu"], rows=[["1"]])],
    )
    reported = Reported(place=3, figures={"Size": "8"})
    measured = runs.measurement(
        at=None, first=None, warm_up=None, stopped=None, reported=reported, rtts=None
    )
    return runs.run(measured, sources=(source,), environments=())


def test_the_file_is_up_to_date():
    assert SCHEMA.read_text() == module("scripts/json_schema.py").text(), (
        "python scripts/json_schema.py > docs/schema/..."
    )


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_the_json_of_every_kind_of_run_fits(path):
    validator().validate(exported(load(path)))


def test_fresh_runs_fit():
    failure = Failure(configuration=runs.configuration("tcp"), slice=0, reason="it broke")
    aggregate = Aggregate(
        configuration=runs.configuration("tcp"),
        pairs=[(0, 1)],
        slice=0,
        spans=[1000],
        messages=[10],
    )
    validator().validate(exported(runs.run(runs.measurement(), runs.stream())))
    validator().validate(
        exported(
            runs.run(runs.measurement("simulated"), failures=(failure,), aggregates=(aggregate,))
        )
    )
    validator().validate(exported(imported()))
    copied = DeviceCopy(
        rank=0, memory="cuda", direction="device to host", host="pageable", size=8, ns=1.5
    )
    waited = DeviceLatency(rank=0, memory="cuda", synchronize=1.5, refused="no such image")
    found = exported(
        runs.run(
            runs.measurement(memory="cuda", staging=4096),
            runs.measurement("cuda-ipc", memory="cuda", device_copy="driver"),
            devices=(runs.device(memory="cuda"), runs.device(numa_node=None, ecc=None)),
            device_copies=(copied,),
            device_latencies=(waited,),
        )
    )
    assert all(found[name] for name in ("devices", "device_copies", "device_latencies"))
    validator().validate(found)


def test_what_falls_short_fits():
    hosts = (runs.environment(0), runs.environment(1, host="node2"))
    found = exported(
        runs.run(runs.measurement(), environments=hosts), Expectations({"latency": 1e-9})
    )
    assert found["expectations"]
    validator().validate(found)


def objects(schema, instance, path=()):
    """The places of all objects whose fields the schema names, with the names."""
    if isinstance(instance, list):
        for number, each in enumerate(instance[:1]):
            yield from objects(schema, each, (*path, number))
    if isinstance(instance, dict) and path != ("plan",):
        yield path, list(instance)
        for name, each in instance.items():
            yield from objects(schema, each, (*path, name))


def at(instance, path):
    for each in path:
        instance = instance[each]
    return instance


def fields():
    return [(path, name) for path, names in objects(None, golden()) for name in names]


def test_a_renamed_field_does_not_fit():
    check = validator()
    assert len(fields()) > 150
    for path, name in fields():
        changed = copy.deepcopy(golden())
        place = at(changed, path)
        place[f"{name}_x"] = place.pop(name)
        assert not check.is_valid(changed), (path, name)


def test_a_field_of_another_type_does_not_fit():
    check = validator()
    for path, name in fields():
        changed = copy.deepcopy(golden())
        at(changed, path)[name] = {"another": ["type"]}
        if (*path, name) != ("plan",):
            assert not check.is_valid(changed), (path, name)
    changed = golden()
    changed["plan"] = "a text"
    assert not check.is_valid(changed)


RECORDS = {"connections", "devices", "device_copies", "device_latencies", "sources"}


def test_a_removed_figure_does_not_fit():
    check = validator()
    for path, names in objects(None, golden()):
        # What is left out of a record of the run file has its default.
        for name in names if not RECORDS.intersection(path) else []:
            changed = copy.deepcopy(golden())
            del at(changed, path)[name]
            assert not check.is_valid(changed), (path, name)


def test_every_field_is_described():
    def walk(schema):
        for name, each in schema.get("properties", {}).items():
            assert "description" in each or "$ref" in each, name
            yield name, each
            yield from walk(each)
        if isinstance(schema.get("items"), dict):
            yield from walk(schema["items"])
        for each in schema.get("$defs", {}).values():
            yield from walk(each)

    found = dict(walk(json.loads(SCHEMA.read_text())))
    units = {"_ns": "ns", "_bytes": "bytes", "_per_s": "per second", "_s": "s"}
    for name, each in found.items():
        for ending, unit in units.items():
            if name.endswith(ending) and name not in ("elapsed_s", "load_s"):
                words = each["description"]
                assert unit in words, (name, words)
                break
