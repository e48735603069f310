"""What blocks say, without any form: lines, and the tables as records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from halftrip.analysis.figure import as_written
from halftrip.render import blocks
from halftrip.report.numbers import NOTHING
from halftrip.stats.estimate import Estimate

_NUMBER = re.compile(r"-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?|-?[0-9]+(\.[0-9]+)?")


def unfolded(shown: Iterable[blocks.Block]) -> Iterator[blocks.Block]:
    """These blocks, with those of a fold below its summary."""
    for block in shown:
        if isinstance(block, blocks.Fold):
            yield blocks.Heading(block.summary)
            yield from unfolded(block.blocks)
        else:
            yield block


def lines_of(block: blocks.Block) -> Sequence[str]:
    """What a block says beside tables, line by line."""
    write = _LINES.get(type(block))
    return [] if write is None else write(block)


def _after(term: str, text: str) -> str:
    return f"{term}: {text}" if term else text


def advice_of(check: blocks.CheckLine) -> str:
    """What to do, which commands follow, if there are any; empty where there is nothing to do."""
    return f"{check.advice or ''}{':' if check.commands else ''}"


def found_by(check: blocks.CheckLine) -> str:
    """What was found, and what to do, in one line; what is no sentence ends with a semicolon."""
    parts = [*filter(None, [*check.found, advice_of(check)])]
    parts += check.commands
    ended = [part if part.endswith((".", ":", ";")) else f"{part};" for part in parts[:-1]]
    return " ".join([*ended, *parts[-1:]])


_LINES: Mapping[type[blocks.Block], Callable[[Any], Sequence[str]]] = {
    blocks.Paragraph: lambda block: [_after(block.term, block.text)],
    blocks.Items: lambda block: block.lines,
    blocks.Terms: lambda block: [_after(term, text) for term, text in block.items],
    blocks.Heading: lambda block: [block.text],
    blocks.SummaryLine: lambda block: [" · ".join(block.parts)],
    blocks.Code: lambda block: [block.title, *block.text.splitlines()],
    blocks.Checks: lambda block: [
        f"{each.asks}: {each.state}: {found_by(each)}" for each in block.checks
    ],
    blocks.Picture: lambda block: [block.chart.title, block.chart.text],
}


def tables_in(shown: Iterable[blocks.Block]) -> list[blocks.Table]:
    """The tables of these blocks."""
    return [block for block in unfolded(shown) if isinstance(block, blocks.Table)]


def legend_of(shown: Iterable[blocks.Block]) -> list[str]:
    """What is said of the columns of the tables."""
    columns: Sequence[blocks.Column] = ()
    found: list[str] = []
    for block in unfolded(shown):
        if isinstance(block, blocks.Table):
            columns = block.columns
        elif isinstance(block, blocks.Legend):
            found += block.lines(columns)
    return found


def title_of(table: blocks.Table) -> str:
    """The title in one line."""
    return "; ".join(filter(None, table.title))


def records_of(table: blocks.Table) -> list[dict[str, Any]]:
    """A record for each line; an estimate is three figures: itself, and the ends of its
    interval."""
    keys = _keys(table.columns)
    found = []
    for line in table.lines:
        record: dict[str, Any] = {}
        for key, column, value in zip(keys, table.columns, line.values or line.cells, strict=True):
            if isinstance(value, Estimate):
                ends = zip(("", "_low", "_high"), value, strict=True)
                record |= {f"{key}{end}": as_written(each) for end, each in ends}
            else:
                record[key] = _plain(value, column)
        found.append(record)
    return found


def _keys(columns: Iterable[blocks.Column]) -> list[str]:
    """A key for each column; of equal ones the later have a number."""
    keys: list[str] = []
    for column in columns:
        key = column.key or _slug(f"{column.name} {column.unit}") or "note"
        same = sum(each == key or each.rpartition("_")[0] == key for each in keys)
        keys.append(f"{key}_{same + 1}" if key in keys else key)
    return keys


def _slug(text: str) -> str:
    """``95 %`` as ``95_percent``."""
    named = text.replace("%", " percent ").replace("/s", " per s").replace("10^6", "million")
    return "_".join(re.findall(r"[A-Za-z0-9.]+", named)).replace(".", "_")


def _plain(value: Any, column: blocks.Column) -> Any:
    """A number of a text that is one; None of what is not known."""
    if not isinstance(value, str):
        return as_written(value)
    if value in (NOTHING, ""):
        return None
    if not column.is_text and _NUMBER.fullmatch(value):
        plain = value.replace(",", "")
        return float(plain) if "." in plain else int(plain)
    return value
