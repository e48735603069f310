"""A run as one JSON object, for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from halftrip.analysis.expectation import shortfalls
from halftrip.analysis.figure import or_none
from halftrip.analysis.figures import row_fields
from halftrip.analysis.losses import HostLosses, losses
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.report.document import Document
from halftrip.results.records import Skip
from halftrip.results.reported import variant_text

_MAY_NOT_PRINT = re.compile(r"[^\n -~]")


def render(document: Document) -> str:
    """The plan, the ranks, the connections, what hosts have lost, the rows, the baselines, the
    aggregates, what failed or was skipped, and how the run ended."""
    return text(_content(document))


def render_several(documents: Sequence[Document], files: Sequence[str]) -> str:
    """A list of several runs, each with the name of its file."""
    return text(
        [{"run": file, **_content(each)} for each, file in zip(documents, files, strict=True)]
    )


def text(content: Any) -> str:
    """Any content, indented, of characters that do nothing on a terminal."""
    made = msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
    # JSON escapes control characters, but neither the upper ones nor those that reverse text.
    return _MAY_NOT_PRINT.sub(lambda each: _escaped(each[0]), made)


def line(content: Any) -> str:
    """Any content in one line, of the same characters."""
    made = msgspec.json.encode(content).decode() + "\n"
    return _MAY_NOT_PRINT.sub(lambda each: _escaped(each[0]), made)


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def losses_fields(lost: HostLosses) -> dict[str, Any]:
    """What a host has lost, by name."""
    return {**lost._asdict(), "interfaces": [each._asdict() for each in lost.interfaces]}


def _skip_fields(skip: Skip) -> dict[str, Any]:
    found = msgspec.structs.asdict(skip) | {"variant": variant_text(skip.variant)}
    return {"sizes_bytes" if name == "sizes" else name: value for name, value in found.items()}


def _content(document: Document) -> dict[str, Any]:
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
        "rows": [row_fields(row) for row in document.rows],
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
