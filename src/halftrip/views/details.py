"""The rows of a run in tables: with all their figures and what was found beside them, or in short,
for documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from rich.console import Group

from halftrip.analysis.expectation import shortfalls
from halftrip.analysis.figure import as_written
from halftrip.analysis.figures import row_fields
from halftrip.analysis.losses import HostLosses, losses
from halftrip.analysis.network import Suspect, slow_by_setting
from halftrip.analysis.rows import in_every_state
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.plan.vary import in_words
from halftrip.render import csv as csv_format
from halftrip.render import json as json_format
from halftrip.render import latex as latex_format
from halftrip.render import markdown as markdown_format
from halftrip.render import terminal
from halftrip.render.blocks import SPACE, Block, Items, Terms, View
from halftrip.render.terminal import WIDTH
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.records import Skip
from halftrip.results.reported import variant_text
from halftrip.views import carriers, network, notes
from halftrip.views.row_tables import row_tables
from halftrip.views.under_load import queue_fields
from halftrip.views.why import trust


def details(document: Document) -> View:
    """The tables with their legends, the baselines, what was not measured, and how far to trust
    it."""
    blocks: list[Block] = []
    for found in row_tables(document, brief=False):
        is_rate = found.rows[0].configuration.is_rate
        curves = [curve for curve in document.curves if curve.is_rate == is_rate]
        blocks += [
            found.with_said_once._replace(titling="apart"),
            SPACE,
            found.legend,
            Items(notes.breakpoints(curves)),
            SPACE,
        ]
    if document.rows:
        said = [
            *notes.aggregates(document.aggregates, document.run.names),
            *notes.baselines(document.baselines),
            *network.device_bounds(document.run),
            *network.devices(document.run),
            *network.lines(document.run),
            *carriers.lines(document.run),
            *notes.uneven_ways(document),
            *notes.unknown_ways(document),
        ]
        blocks += [Items(said), Terms([("trust", trust(document))], style="yellow")]
    return _of(document, [*blocks, *notes.missing_blocks(document)])


def in_short(document: Document, brief: bool = True) -> View:
    """The rows, with what is `brief` or with all columns, how far to trust them, and what is
    missing."""
    tables = [found.with_said_once for found in row_tables(document, brief)]
    trusted = [f"Trust: {trust(document)}"] if document.rows else []
    return _of(document, [*tables, Items([*trusted, *notes.missing(document)])])


def _of(document: Document, blocks: list[Block]) -> View:
    return View(blocks, partial(content, document), partial(records, document), "Rows")


# The formats of a run.


def table(document: Document) -> Group:
    """All rows with all columns."""
    return terminal.render(details(document).blocks, WIDTH, wide=True)


def json(document: Document) -> str:
    """All that there is; docs/schema describes it."""
    return json_format.render(in_short(document))


def csv(document: Document) -> str:
    """One line per row, and per state of one that has several, below a heading; a figure that does
    not exist is empty."""
    return csv_format.render(in_short(document))


def markdown(document: Document) -> str:
    """The tables, with the columns that people look for."""
    return markdown_format.render(in_short(document))


def latex(document: Document) -> str:
    """The same for LaTeX."""
    return latex_format.render(in_short(document))


# A run for programs.


def records(document: Document) -> list[dict[str, Any]]:
    """A record for each row in each of its states; a figure that does not exist is None."""
    return [row_fields(row) for row in in_every_state(document.rows)]


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


def slow_fields(suspect: Suspect, setting: Configuration) -> dict[str, Any]:
    """A slow host or link by the configurations of a setting, by name."""
    return {
        "transport": setting.transport,
        "pattern": setting.pattern,
        "size_bytes": setting.known_size,
        "variant": in_words(setting.variant),
        "factor": suspect.effect.factor,
        "low": suspect.effect.low,
        "high": suspect.effect.high,
        "links": suspect.links,
        "hosts": list(suspect.hosts),
    }


def _skip_fields(skip: Skip) -> dict[str, Any]:
    found = msgspec.structs.asdict(skip) | {"variant": variant_text(skip.variant)}
    return {"sizes_bytes" if name == "sizes" else name: value for name, value in found.items()}


def content(document: Document) -> dict[str, Any]:
    """The plan, the ranks, the connections, what carries messages, what hosts have lost, the rows,
    the baselines, the aggregates, what failed or was skipped, and how the run ended."""
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
        "carriers": [msgspec.to_builtins(each) for each in document.run.carriers],
        "losses": [losses_fields(each) for each in losses(document.run)],
        "slow": [
            slow_fields(each, setting)
            for setting, found in slow_by_setting(
                document.run, [row.configuration for row in document.rows]
            )
            for each in found or ()
        ],
        "queues": queue_fields(document),
        "expectations": [each._asdict() for each in shortfalls(document)],
        "rows": records(document),
        "copies": [
            {"size_bytes": each.size, "ns": each.ns, "by_kernel": each.by_kernel}
            for each in document.run.copy_times
        ],
        "devices": [msgspec.to_builtins(each) for each in document.run.devices],
        "device_copies": [msgspec.to_builtins(each) for each in document.run.device_copies],
        "device_latencies": [msgspec.to_builtins(each) for each in document.run.device_latencies],
        "aggregates": [
            {
                "configuration": configuration_fields(aggregate.configuration),
                "pairs": ["-".join(map(str, pair)) for pair in aggregate.pairs],
                "bandwidth_bytes_per_s": as_written(aggregate.bandwidth),
                "messages_per_s": as_written(aggregate.rate),
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
