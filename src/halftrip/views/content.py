"""A run as one object for programs, and its rows as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from halftrip.analysis.expectation import shortfalls
from halftrip.analysis.figure import fields, or_none
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.losses import HostLosses, losses
from halftrip.analysis.setting_figures import configuration_fields, variant_text
from halftrip.report.document import Document
from halftrip.results.records import Skip


def records(document: Document) -> list[dict[str, Any]]:
    """A record for each row; a figure that does not exist is None."""
    return [fields(FIGURES, row) for row in document.rows]


def records_of_several(documents: Sequence[Document], files: Sequence[str]) -> list[dict[str, Any]]:
    """The records of several runs; the first key is the file of each."""
    return [
        {"run": file, **record}
        for document, file in zip(documents, files, strict=True)
        for record in records(document)
    ]


def losses_fields(lost: HostLosses) -> dict[str, Any]:
    """What a host has lost, by name."""
    return {**lost._asdict(), "interfaces": [each._asdict() for each in lost.interfaces]}


def _skip_fields(skip: Skip) -> dict[str, Any]:
    found = msgspec.structs.asdict(skip) | {"variant": variant_text(skip.variant)}
    return {"sizes_bytes" if name == "sizes" else name: value for name, value in found.items()}


def content(document: Document) -> dict[str, Any]:
    """The plan, the ranks, the connections, what hosts have lost, the rows, the baselines, the
    aggregates, what failed or was skipped, and how the run ended."""
    header = document.run.header
    return {
        "halftrip": header.halftrip,
        "started": header.started,
        "plan": header.plan,
        "sources": [msgspec.to_builtins(each) for each in document.run.sources],
        "ranks": [
            {"rank": each.rank, "host": each.host, "core": each.core}
            for each in document.run.first_ranks
        ],
        "connections": [msgspec.to_builtins(each) for each in document.run.connections],
        "losses": [losses_fields(each) for each in losses(document.run)],
        "expectations": [each._asdict() for each in shortfalls(document)],
        "rows": records(document),
        "copies": [{"size_bytes": each.size, "ns": each.ns} for each in document.run.copy_times],
        "devices": [msgspec.to_builtins(each) for each in document.run.devices],
        "device_copies": [msgspec.to_builtins(each) for each in document.run.device_copies],
        "device_latencies": [msgspec.to_builtins(each) for each in document.run.device_latencies],
        "aggregates": [
            {
                "configuration": configuration_fields(aggregate.configuration),
                "pairs": ["-".join(map(str, pair)) for pair in aggregate.pairs],
                "bandwidth_bytes_per_s": or_none(aggregate.bandwidth),
                "messages_per_s": or_none(aggregate.rate),
            }
            for aggregate in document.aggregates
        ],
        "failed": [
            {
                "configuration": configuration_fields(failure.configuration),
                "reason": failure.reason,
            }
            for failure in document.failures
        ],
        "failed_launches": [
            {"launch": each.launch, "variant": variant_text(each.variant), "reason": each.reason}
            for each in document.run.failed_launches
        ],
        "skipped": [_skip_fields(each) for each in document.skips],
        "interrupted": document.interrupted,
    }
