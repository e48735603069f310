"""What blocks say, without any form: lines, and the tables as records."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from halftrip.analysis.figure import VERDICT, or_none
from halftrip.render import blocks
from halftrip.report.fields import word
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


def texts_of(terms: blocks.Terms) -> list[tuple[str, str]]:
    """Each term with what is said of it, and its commands, in one line."""
    every = ((term, (text, *terms.commands.get(term, ()))) for term, text in terms.items)
    return [(term, "; ".join(filter(None, parts))) for term, parts in every]


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
    blocks.Terms: lambda block: [_after(*each) for each in texts_of(block)],
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


def names_in(table: blocks.Table) -> range:
    """The numbers of the columns with texts in front of the figures, which tell lines apart. A word
    without a name, such as the verdict of a comparison, stays in front of them."""
    begin = 0 if table.columns[0].name else 1
    named = itertools.takewhile(_is_name, table.columns[begin:])
    return range(begin, begin + sum(1 for _ in named))


def _is_name(column: blocks.Column) -> bool:
    return column.is_text and column.value is None and column.name != VERDICT


def name_in(table: blocks.Table, line: blocks.TableLine, numbers: Iterable[int]) -> str:
    """What the cells of these columns tell, in one text."""
    cells = ((table.columns[n].name, line.cells[n]) for n in numbers)
    return " ".join(word(name, cell) for name, cell in cells if cell not in ("", NOTHING))


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
                record |= {f"{key}{end}": or_none(each) for end, each in ends}
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
        return or_none(value)
    if value in (NOTHING, ""):
        return None
    if not column.is_text and _NUMBER.fullmatch(value):
        plain = value.replace(",", "")
        return float(plain) if "." in plain else int(plain)
    return value
