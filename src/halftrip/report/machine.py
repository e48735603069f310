"""The same rows for programs: JSON and CSV. What has a unit says it in its name."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import msgspec

from halftrip.analysis.summaries import usage_figures
from halftrip.report.rows import Row, rows
from halftrip.results.case import Case
from halftrip.results.run import Run
from halftrip.units import with_units


def _number(value: float) -> float | None:
    """None for what JSON has no word for."""
    return None if math.isnan(value) else value


def _pair(pair: tuple[int, int]) -> str:
    return f"{pair[0]}-{pair[1]}"


def _fields(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of a record, without its tag."""
    return msgspec.structs.asdict(value)


def _case(case: Case) -> dict[str, Any]:
    return with_units(_fields(case) | {"pair": _pair(case.pair)})


def _flat(row: Row) -> dict[str, Any]:
    low, high = row.line if row.line is not None else (None, None)
    summary = {name: _number(value) for name, value in row.summary._asdict().items()}
    figures = {
        **summary,
        "exchanges": row.exchanges,
        "messages": _number(row.rate),
        "total_bandwidth": _number(row.bandwidth),
        "peer_bandwidth": row.peer_bandwidth,
        "bandwidth_there": row.each_way[0] if row.each_way else None,
        "bandwidth_back": row.each_way[1] if row.each_way else None,
        "sent": row.delivery.sent if row.delivery else None,
        "lost": row.delivery.lost if row.delivery else None,
        "late": row.delivery.late if row.delivery else None,
        "jitter": row.delivery.jitter if row.delivery else None,
        "verified": row.verified,
        "launches": row.launches,
        "between_launches": _number(row.components.between) if row.components else None,
        "within_launches": _number(row.components.within) if row.components else None,
        "line_low": low,
        "line_high": high,
        "marked": row.marked,
        **usage_figures(row.case, row.usage, row.delivered),
        "flags": " ".join(flag.name for flag in row.flags),
    }
    return _case(row.case) | with_units(figures)


def as_json(run: Run) -> str:
    """One object: the rows, the bounds, what was not measured, and how the run ended."""
    document = {
        "halftrip": run.head.halftrip,
        "started": run.head.started,
        "plan": run.head.plan,
        "rows": [_flat(row) for row in rows(run)],
        "copies": [with_units({"size": c.size, "ns": c.ns}) for c in run.copies],
        "together": [
            {
                "case": _case(t.case),
                "pairs": [_pair(pair) for pair in t.pairs],
                **with_units({"bandwidth": _number(t.bandwidth), "messages": _number(t.rate)}),
            }
            for t in run.togethers
        ],
        "failed": [{"case": _case(f.case), "reason": f.reason} for f in run.failures],
        "skipped": [with_units(_fields(skip)) for skip in run.skips],
        "interrupted": run.interrupted,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def as_csv(run: Run) -> str:
    """One line per row, with a heading; empty where a figure does not exist."""
    flat = [_flat(row) for row in rows(run)]
    text = io.StringIO()
    if flat:
        writer = csv.DictWriter(text, fieldnames=list(flat[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
    return text.getvalue()
