"""A live line on a terminal during a run; nothing without a terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class ProgressLine:
    """The line is drawn only when `update` is called: no thread or timer disturbs the run."""

    def __init__(self, console: Console, hidden: bool = False, quiet: bool = False) -> None:
        self.visible = console.is_terminal and not hidden
        self.takes_warnings = not quiet
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description:>14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self.quotes: list[tuple[str, list[str]]] = []
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> ProgressLine:
        if self.visible:
            self._progress.start()
            self._progress.refresh()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.visible:
            self._progress.stop()

    def update(self, done: int, total: int, what: str) -> None:
        """Shows that `done` of `total` slices are over and `what` is being measured."""
        if self.visible:
            self._progress.update(self._task, completed=done, total=total, description=what)
            self._progress.refresh()

    def warn(self, lines: list[str]) -> None:
        """Prints warnings above the line."""
        for line in lines:
            self._console.print(
                f"halftrip: warning: {line}", soft_wrap=True, markup=False, highlight=False
            )

    def quote(self, who: str, lines: list[str]) -> None:
        """Keeps what a rank has printed in `quotes`, to be shown when the line is removed."""
        self.quotes.append((who, lines))
