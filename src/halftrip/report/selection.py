"""The part of a run that somebody wants to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.report.document import Document
from halftrip.report.fields import is_called
from halftrip.results.configuration import Configuration
from halftrip.results.records import Skip
from halftrip.units import format_size


class Selection(NamedTuple):
    """What to show; None: everything. `sizes` are ranges of bytes, both ends included; `rows` are
    names of rows, as views print them."""

    transports: Sequence[str] | None = None
    patterns: Sequence[str] | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    pairs: Sequence[tuple[int, int]] | None = None
    rows: Sequence[str] | None = None

    def has(self, configuration: Configuration) -> bool:
        """Whether this configuration is shown."""
        return (
            (self.transports is None or configuration.transport in self.transports)
            and (self.patterns is None or configuration.pattern in self.patterns)
            and (
                self.sizes is None
                or any(
                    configuration.size_known and low <= configuration.size <= high
                    for low, high in self.sizes
                )
            )
            and (self.pairs is None or set(configuration.pair) in map(set, self.pairs))
            and (self.rows is None or any(is_called(configuration, name) for name in self.rows))
        )

    def has_skip(self, skip: Skip) -> bool:
        """Whether any of what was skipped would be shown."""
        return (
            (self.transports is None or skip.transport in self.transports)
            and (
                self.patterns is None
                or skip.patterns is None
                or not set(self.patterns).isdisjoint(skip.patterns)
            )
            and (
                self.sizes is None
                or skip.sizes is None
                or any(low <= size <= high for low, high in self.sizes for size in skip.sizes)
            )
        )


def selected(document: Document, selection: Selection) -> Document:
    """The document with what was selected; each row is judged as part of the whole run. Raises
    UsageError, which says what there is, if nothing was selected."""
    if selection == Selection():
        return document

    def chosen(rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if selection.has(row.configuration)]

    found = document._replace(
        rows=chosen(document.rows),
        latency_rows=chosen(document.latency_rows),
        rate_rows=chosen(document.rate_rows),
        curves=[
            curve
            for curve in document.curves
            if any(selection.has(row.configuration) for row in curve.rows.values())
        ],
        aggregates=[a for a in document.aggregates if selection.has(a.configuration)],
        failures=[f for f in document.failures if selection.has(f.configuration)],
        skips=[skip for skip in document.skips if selection.has_skip(skip)],
    )
    if document.rows and not found.rows and not found.failures:
        raise UsageError(f"nothing to show; the run has {_contents(document.rows)}")
    return found


def _contents(rows: Sequence[Row]) -> str:
    """What a run has, in the words of the options that select it."""

    def named(of: Callable[[Configuration], str]) -> str:
        return ", ".join(dict.fromkeys(of(row.configuration) for row in rows))

    sizes = sorted({row.configuration.size for row in rows if row.configuration.size_known})
    return (
        f"-t {named(lambda each: each.transport)}; -p {named(lambda each: each.pattern)}; "
        f"-s {', '.join(map(format_size, sizes))}; "
        f"--pair {named(lambda each: '-'.join(map(str, each.pair)))}"
    )
