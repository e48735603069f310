"""The part of a run that somebody wants to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from halftrip.errors import UsageError
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.units import format_size


class Selection(NamedTuple):
    """What to show; None: everything. `sizes` are ranges of bytes, both ends included."""

    transports: Sequence[str] | None = None
    patterns: Sequence[str] | None = None
    sizes: Sequence[tuple[int, int]] | None = None
    pairs: Sequence[tuple[int, int]] | None = None

    def has(self, configuration: Configuration) -> bool:
        """Whether this configuration is shown."""
        return (
            (self.transports is None or configuration.transport in self.transports)
            and (self.patterns is None or configuration.pattern in self.patterns)
            and (
                self.sizes is None
                or any(low <= configuration.size <= high for low, high in self.sizes)
            )
            and (self.pairs is None or configuration.pair in self.pairs)
        )


def selected(run: Run, selection: Selection) -> Run:
    """The run with what was selected. Raises UsageError, which says what there is, if that is
    nothing."""
    if selection == Selection():
        return run
    found = msgspec.structs.replace(
        run,
        measurements=tuple(m for m in run.measurements if selection.has(m.configuration)),
        failures=tuple(f for f in run.failures if selection.has(f.configuration)),
        aggregates=tuple(a for a in run.aggregates if selection.has(a.configuration)),
        skips=tuple(
            skip
            for skip in run.skips
            if selection.transports is None or skip.transport in selection.transports
        ),
    )
    if run.measurements and not found.measurements and not found.failures:
        raise UsageError(f"nothing to show; the run has {_contents(run)}")
    return found


def _contents(run: Run) -> str:
    """What a run has, in the words of the options that select it."""

    def named(of: Callable[[Configuration], str]) -> str:
        return ", ".join(dict.fromkeys(map(of, run.by_configuration)))

    sizes = sorted({configuration.size for configuration in run.by_configuration})
    return (
        f"-t {named(lambda each: each.transport)}; -p {named(lambda each: each.pattern)}; "
        f"-s {', '.join(map(format_size, sizes))}; "
        f"--pair {named(lambda each: '-'.join(map(str, each.pair)))}"
    )
