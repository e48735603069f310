"""Shows the progress of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from halftrip.results.configuration import Configuration


class Records(Protocol):
    """Takes whole lines of a run file, of which `last` marks the end record; and the lines that
    `who` and its ranks have printed in a run that succeeded."""

    def append(self, lines: bytes, last: bool = False) -> None: ...
    def quote(self, who: str, lines: Sequence[str]) -> None: ...


class RunView(Protocol):
    """Shows progress, if it is `visible`, and warnings. If it `paces` the
    run, no slice begins before `before_slice` has returned."""

    visible: bool
    takes_warnings: bool
    paces: bool

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        """Shows that slice `done` of `total`, of `what`, comes next; that many launches of as many
        slices come later. It is called at most ten times a second, and no rank goes on before it
        has returned."""

    def before_slice(self, setting: Configuration) -> None:
        """Called before each slice, of this setting, if the view `paces`; the slice begins when
        this returns."""

    def warn(self, lines: list[str]) -> None:
        """Shows what may spoil the results, a line for each, if it `takes_warnings`."""


class NoView:
    """Shows nothing."""

    visible = False
    takes_warnings = False
    paces = False

    def update(self, done: int, total: int, what: str, later: int = 0) -> None:
        pass

    def before_slice(self, setting: Configuration) -> None:
        pass

    def warn(self, lines: list[str]) -> None:
        pass
