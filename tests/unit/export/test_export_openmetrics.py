"""Metrics, and Google Benchmark's JSON: what is read of them, with the figures of the run."""

import json
import math
import re
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from halftrip.export import google_benchmark
from halftrip.export.openmetrics import files
from halftrip.report.document import document
from halftrip.results.records import RunEnd
from halftrip.results.reported import Reported, Source
from halftrip.results.run_file import load
from halftrip.texts import printable
from harness import runs
from harness.files import RUN_FILES

PARSERS = (
    parser.text_string_to_metric_families,
    openmetrics_parser.text_string_to_metric_families,
)


def text(run, **changes):
    return files(document(run, **changes))[".prom"]


def samples(read, made):
    """All samples by name and labels."""
    found = [sample for family in read(made) for sample in family.samples]
    keys = [(each.name, tuple(sorted(each.labels.items()))) for each in found]
    assert len(keys) == len(set(keys)), "the same series twice"
    return dict(zip(keys, (each.value for each in found), strict=True))


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.stem)
def test_both_parsers_read_the_same(path):
    made = text(load(path))
    first, second = (samples(read, made) for read in PARSERS)
    assert first == second
    assert made.endswith("\n# EOF\n")


@pytest.mark.parametrize("read", PARSERS)
def test_figures_are_in_base_units(read):
    run = runs.run(runs.measurement("tcp", 4096, "block", 10_000.0), runs.stream())
    rows = document(run).rows
    families = {family.name: family for family in read(text(run))}
    assert all(family.type == "gauge" for family in families.values())
    for row in rows:
        size = str(row.configuration.size)

        def value(name, size=size):
            found = [s for s in families[name].samples if s.labels["size"] == size]
            assert len(found) == 1
            return found[0]

        latency = value("halftrip_latency_seconds")
        assert latency.value == pytest.approx(row.summary.latency / 1e9)
        assert latency.labels.items() >= {
            "transport": row.configuration.transport, "pattern": row.configuration.pattern,
            "mode": "blocking", "hosts": "node1 node1", "statistic": "median",
        }.items()  # fmt: skip
        verdict = value("halftrip_verdict").value
        assert ("ok", "caution", "no")[int(verdict)] == row.verdict.word
        bandwidth = value("halftrip_bandwidth_bytes_per_second").value
        assert bandwidth == pytest.approx(row.summary.bandwidth)
    assert families["halftrip_run_complete"].samples[0].value == 1
    if read is PARSERS[1]:
        assert families["halftrip_latency_seconds"].unit == "seconds"
        assert families["halftrip_bandwidth_bytes_per_second"].unit == "bytes_per_second"


def test_what_is_not_known_is_left_out():
    reported = Reported(place=3, figures={})
    measured = runs.measurement(first=None, warm_up=None, stopped=None, reported=reported)
    source = Source(tool="osu", file="a", place=1, statistic="mean")
    made = text(runs.run(measured, sources=(source,), environments=()))
    assert "NaN" not in made
    assert "p99" not in made
    assert 'hosts=""' in made
    assert 'statistic="mean"' in made
    assert "start_time" not in made
    end = RunEnd(reason="killed", seconds=1.0, timed=1.0, clock_drift=[])
    for read in PARSERS:
        found = samples(read, text(runs.run(runs.measurement(), end=end)))
        assert [v for (name, _), v in found.items() if name == "halftrip_run_complete"] == [0]


def test_files_of_several_plans_have_no_series_in_common():
    one, other = (
        runs.run(runs.measurement(), header=runs.planned(**plan))
        for plan in ({"sizes": "8"}, {"sizes": "8,64"})
    )
    for read in PARSERS:
        assert not samples(read, text(one)).keys() & samples(read, text(other)).keys()
        assert samples(read, text(one)).keys() == samples(read, text(one)).keys()


@settings(max_examples=40)
@given(host=st.text(max_size=30), variant=st.text(max_size=30))
def test_any_label_is_read_back(host, variant):
    run = runs.run(
        runs.measurement(variant=(("name", variant),)),
        environments=(runs.environment(0, host=host), runs.environment(1, host="b")),
    )
    made = text(run, flags=False)
    for read in PARSERS:
        found = samples(read, made)
        labels = [dict(key) for name, key in found if name == "halftrip_latency_seconds"]
        assert [each["hosts"] for each in labels] == [
            " ".join(filter(None, (host and printable(host), "b")))
        ]
        assert labels[0]["settings"].endswith(f"name {printable(variant)}")
        assert all(math.isfinite(value) for value in found.values())


def test_rows_that_differ_in_any_setting_are_series_of_their_own():
    settings = (
        {}, {"wait": "spin:block"}, {"pages": "huge"}, {"verify": True}, {"cache": "cold"},
        {"thread": 1, "concurrency": 2}, {"variant": (("table", "2"),)},
    )  # fmt: skip
    run = runs.run(*(runs.measurement(**each) for each in settings))
    found = samples(PARSERS[1], text(run))
    assert sum(name == "halftrip_latency_seconds" for name, _ in found) == 7


def exported(run):
    return json.loads(google_benchmark.files(document(run))["-google-benchmark.json"])


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
    for made in (exported(load(path)) for path in RUN_FILES):
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
