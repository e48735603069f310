"""Google Benchmark's JSON: what its compare.py reads of it."""

import json
import re
import statistics

import pytest

from halftrip.export.google_benchmark import files
from halftrip.report.document import document
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT

GOLDEN = sorted((ROOT / "tests" / "golden" / "formats").glob("*.jsonl"))


def exported(run):
    return json.loads(files(document(run))["-google-benchmark.json"])


def a_run():
    usage = (runs.usage(), runs.usage())
    return runs.run(
        *(
            runs.measurement("tcp", 8, "block", 1000.0 + 10 * n, seed=n, slice=n, usage=usage)
            for n in range(4)
        ),
        runs.measurement("shm", 4096),
    )


def test_a_file_has_what_a_reader_demands():
    for made in (exported(load(path)) for path in GOLDEN):
        assert made["context"]["json_schema_version"] == 1
        assert {"date", "host_name", "num_cpus"} <= made["context"].keys()
        for each in made["benchmarks"]:
            assert {"run_name", "real_time", "cpu_time", "time_unit"} <= each.keys()
            assert each["run_type"] == ("aggregate" if "aggregate_name" in each else "iteration")
            assert each["real_time"] >= 0
            assert not re.search(r"\s", each["name"])


def test_repetitions_are_slices_and_aggregates_are_over_them():
    made = [each for each in exported(a_run())["benchmarks"] if each["size_bytes"] == 8]
    repetitions = [each for each in made if each["run_type"] == "iteration"]
    assert [each["repetition_index"] for each in repetitions] == [0, 1, 2, 3]
    assert {each["repetitions"] for each in made} == {4}
    assert {each["run_name"] for each in made} == {"tcp/pingpong/blocking/wait:block/size:8"}
    assert {each["iterations"] for each in repetitions} == {4000}
    times = [each["real_time"] for each in repetitions]
    assert times == pytest.approx([1000, 1010, 1020, 1030], rel=0.01)
    aggregates = {each["aggregate_name"]: each for each in made if "aggregate_name" in each}
    assert aggregates["mean"]["real_time"] == pytest.approx(statistics.fmean(times))
    assert aggregates["median"]["real_time"] == pytest.approx(statistics.median(times))
    assert aggregates["stddev"]["real_time"] == pytest.approx(statistics.stdev(times))
    assert aggregates["mean"]["name"] == "tcp/pingpong/blocking/wait:block/size:8_mean"
    # Half a second of CPU time for 4000 round trips.
    assert repetitions[0]["cpu_time"] == pytest.approx(0.5e9 / 8000)
    # A single repetition has no aggregates.
    made = [each for each in exported(a_run())["benchmarks"] if each["size_bytes"] == 4096]
    assert [each["run_type"] for each in made] == ["iteration"]


def test_names_of_rows_do_not_depend_on_other_rows_and_are_unique():
    alone = exported(runs.run(runs.measurement()))["benchmarks"][0]["name"]
    settings = ({}, {"wait": "block"}, {"pages": "huge"}, {"pair": (0, 2)})
    several = runs.run(*(runs.measurement(**each) for each in settings))
    names = [each["name"] for each in exported(several)["benchmarks"]]
    assert alone in names
    assert len(set(names)) == 4
