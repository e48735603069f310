"""Records as CSV, for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from halftrip.render import json as as_json
from halftrip.render.blocks import View
from halftrip.render.plain import records_of, tables_in, title_of

# A text that a spreadsheet takes for a formula: it begins as one, and is no number with its unit.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?!\s*$|\d[\d.,]*(e[+-]?\d+)?\s?(%|\w+(/[^\W\d]+)?)?$)")


def render(view: View) -> str:
    """The records of a view, or else the lines of its tables; of several tables, each line begins
    with the title of its own."""
    if view.records is not None:
        return text(view.records())
    tables = tables_in(view.blocks)
    if len(tables) < 2:
        return text([record for each in tables for record in records_of(each)])
    return text(
        [
            {"table": title_of(each) or number, **record}
            for number, each in enumerate(tables, 1)
            for record in records_of(each)
        ]
    )


def text(records: Sequence[Mapping[str, Any]]) -> str:
    """A line for each record, below a heading with the keys of all; what a record has not is
    empty."""
    made = io.StringIO()
    if records:
        names = dict.fromkeys(name for record in records for name in record)
        writer = csv.DictWriter(made, fieldnames=[*names], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in each.items()} for each in records)
    return made.getvalue()


def _cell(value: Any) -> Any:
    """Lists and objects within a record as JSON in one line; what a spreadsheet would compute as
    the text that it is."""
    if isinstance(value, dict | list):
        return as_json.line(value)[:-1]
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
