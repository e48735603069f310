"""The same rows for programs: JSON and CSV. Times are ns, bandwidth is bytes per second."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import msgspec

from halftrip.model import Run
from halftrip.show.rows import Row, rows


def _flat(row: Row) -> dict[str, Any]:
    case = msgspec.to_builtins(row.case)
    case["pair"] = f"{row.case.pair[0]}-{row.case.pair[1]}"
    low, high = row.line if row.line is not None else (None, None)
    summary = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.summary._asdict().items()
    }
    return {
        **case,
        **summary,
        "exchanges": row.exchanges,
        "line_low": low,
        "line_high": high,
        "flags": " ".join(flag.name for flag in row.flags),
    }


def as_json(run: Run) -> str:
    """One object: the rows, the bounds, what was not measured, and how the run ended."""
    document = {
        "halftrip": run.head.halftrip,
        "started": run.head.started,
        "plan": run.head.plan,
        "rows": [_flat(row) for row in rows(run)],
        "copies": [{"size": c.size, "ns": c.ns} for c in run.copies],
        "skipped": [
            {"transport": s.transport, "sizes": s.sizes, "reason": s.reason} for s in run.skips
        ],
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
