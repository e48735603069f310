"""Google Benchmark's JSON, which its compare.py and what else plots benchmarks can read.

A benchmark is a row, a repetition is a measurement: one slice in one launch. Times are of one
message one way. `cpu_time` is the initiator's CPU time for a message, 0 where it is not known: a
reader demands one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halftrip.analysis.summaries import summarize_measurement
from halftrip.export.names import row_name
from halftrip.render.json import text
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.texts import printable

_AGGREGATES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "stddev": statistics.stdev,
}


def files(document: Document) -> Mapping[str, str]:
    """One file, of all rows that have a time."""
    benchmarks: list[dict[str, Any]] = []
    for family, row in enumerate(document.rows):
        found = [_figures(each) for each in document.run.by_configuration[row.configuration]]
        repetitions = [each for each in found if not math.isnan(each["real_time"])]
        benchmarks += _of_row(row.configuration, family, repetitions)
    return {
        "-google-benchmark.json": text({"context": _context(document), "benchmarks": benchmarks})
    }


def _context(document: Document) -> dict[str, Any]:
    run = document.run
    first = run.environments[0] if run.environments else None
    return {
        **({"date": run.measured} if run.measured is not None else {}),
        "host_name": printable(", ".join(dict.fromkeys(run.names.hosts.values()))),
        "executable": "halftrip",
        "num_cpus": len(first.allowed_cores) if first else 0,
        "caches": [],
        "library_version": run.header.halftrip,
        "json_schema_version": 1,
    }


def _figures(found: Measurement) -> dict[str, Any]:
    """The figures of a repetition."""
    summary = summarize_measurement(found)
    usage = found.usage[0] if found.usage else None
    messages = usage.iterations * found.configuration.messages_per_iteration if usage else 0
    figures = {
        "real_time": summary.latency,
        "cpu_time": usage.busy / messages * 1e9 if usage and messages else 0.0,
        "bytes_per_second": summary.bandwidth,
    }
    return {
        "iterations": found.samples.size * found.iterations,
        **{name: value for name, value in figures.items() if not math.isnan(value)},
        "real_time": summary.latency,
    }


def _of_row(
    configuration: Configuration, family: int, repetitions: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    name = row_name(configuration)
    common = {
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": name,
        "repetitions": len(repetitions),
        "threads": 1,
        "time_unit": "ns",
        **({"size_bytes": configuration.size} if configuration.size_known else {}),
    }
    found = [
        {"name": name, "run_type": "iteration", "repetition_index": number, **common, **each}
        for number, each in enumerate(repetitions)
    ]
    if len(repetitions) > 1:
        found += [_aggregate(name, common, kind, repetitions) for kind in _AGGREGATES]
    return found


def _aggregate(
    name: str, common: dict[str, Any], kind: str, repetitions: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A figure of all repetitions, whose number is its iterations."""
    names = [
        each
        for each in ("real_time", "cpu_time", "bytes_per_second")
        if all(each in repetition for repetition in repetitions)
    ]
    return {
        "name": f"{name}_{kind}",
        "run_type": "aggregate",
        **common,
        "aggregate_name": kind,
        "aggregate_unit": "time",
        "iterations": len(repetitions),
        **{each: _AGGREGATES[kind]([one[each] for one in repetitions]) for each in names},
    }
