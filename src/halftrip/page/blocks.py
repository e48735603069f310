"""What a report consists of, whatever it is written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.plots.chart import Chart
from halftrip.report.layout import Table


class Said(NamedTuple):
    """A paragraph; `term` is what it is about, in front of it."""

    text: str
    term: str = ""


class Items(NamedTuple):
    """A list of lines."""

    lines: Sequence[str]


class Code(NamedTuple):
    """Lines to be copied, or whose columns stand below each other."""

    text: str
    title: str


class Tabled(NamedTuple):
    """A table with its title, and lines about what its columns are. `differing` are the numbers of
    lines whose cells differ where they should be alike."""

    title: str
    table: Table
    legend: Sequence[str] = ()
    differing: frozenset[int] = frozenset()


class Drawn(NamedTuple):
    """A picture."""

    chart: Chart


class Rule(NamedTuple):
    """A rule of good measuring: what it asks for, one of the words of `rules.Kept`, and how a run
    keeps it or why it does not."""

    asks: str
    kept: str
    how: Sequence[str]


class Ruled(NamedTuple):
    """Rules in their order, counted from 1."""

    rules: Sequence[Rule]


class Folded(NamedTuple):
    """What only some readers want to see, behind a line that says what it is."""

    summary: str
    blocks: Sequence[Said | Items | Code | Tabled | Ruled]


Block = Said | Items | Code | Tabled | Drawn | Ruled | Folded


class Section(NamedTuple):
    """A part of a report under a heading; `name` is its anchor."""

    name: str
    title: str
    blocks: Sequence[Block]


class Report(NamedTuple):
    """A whole report: its title, a line below that, and its sections."""

    title: str
    line: str
    sections: Sequence[Section]

    @property
    def charts(self) -> list[Chart]:
        """All its pictures, in their order."""
        return [
            block.chart
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Drawn)
        ]
