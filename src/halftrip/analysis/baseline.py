"""The figures of each link in an earlier run, with which a new run is compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from halftrip.analysis.rows import Row, least, rows
from halftrip.errors import UsageError
from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import format_size

# At most this many configurations that a file lacks are named.
_MOST_NAMED = 3


class Expected(NamedTuple):
    """A figure that is expected, in base units (s, bytes per second, messages per second), and the
    wider side of its interval as a share of it; 0 for one that somebody has named."""

    value: float
    width: float = 0.0


def figure_of(row: Row) -> tuple[str, float]:
    """The name of the figure by which rows are compared, and its value in base units: the latency;
    for patterns that fill the path the bandwidth, one way as links are sold, or the message rate if
    messages are empty."""
    if not row.configuration.is_rate:
        return "latency", row.summary.latency * 1e-9
    if row.configuration.size:
        return "bandwidth", row.summary.bandwidth
    return "messages", row.rate


class Baseline(NamedTuple):
    """The figures of the run in the file `name`, by what was measured, whoever measured it: those
    of each link, by the names of its hosts, and those of the median link. Of each pair, the row
    with the fewest other pairs talking counts."""

    name: str
    links: Mapping[Configuration, Mapping[frozenset[str], Expected]]
    typical: Mapping[Configuration, Expected]

    @classmethod
    def of(cls, run: Run, name: str) -> Baseline:
        """The figures of a run. Several pairs of ranks between the same hosts are one link, with
        the median of their figures."""
        found: dict[Configuration, dict[frozenset[str], list[Expected]]] = {}
        for row in least(rows(run, flags=False)):
            _, value = figure_of(row)
            if value > 0:
                hosts = frozenset(map(run.names.host, row.configuration.pair))
                of_setting = found.setdefault(row.configuration.setting, {})
                of_setting.setdefault(hosts, []).append(Expected(value, row.verdict.width))
        medians = {
            setting: {hosts: _median(each) for hosts, each in links.items()}
            for setting, links in found.items()
        }
        typical = {setting: _median(each.values()) for setting, each in medians.items()}
        return cls(name, medians, typical)

    def expected(self, row: Row, hosts: Iterable[str]) -> tuple[Expected, bool] | None:
        """What is expected of a row of a link between these hosts, and whether that is the figure
        of the same link and not of the median one; None where nothing like it was measured."""
        setting = row.configuration.setting
        own = self.links.get(setting, {}).get(frozenset(hosts))
        if own is not None:
            return own, True
        typical = self.typical.get(setting)
        return None if typical is None else (typical, False)


def _median(found: Iterable[Expected]) -> Expected:
    known = list(found)
    return Expected(median([each.value for each in known]), median([each.width for each in known]))


def check_baseline(run: Run, name: str, plan: Plan) -> None:
    """Raises UsageError if the run in the file `name` has nothing to compare with something of what
    `plan` measures. What it has skipped with a reason is skipped again, or is new."""
    known = {(c.transport, c.pattern, c.known_size) for c in run.by_configuration}
    wanted = dict.fromkeys(
        (transport, pattern, size)
        for part in plan.part_plans
        for transport in part.transport
        for pattern in part.pattern
        for size in part.sizes
    )
    lacking = [
        f"{transport} {pattern} {format_size(size)}"
        for transport, pattern, size in wanted
        if (transport, pattern, size) not in known
        and not any(
            skip.transport == transport
            and (skip.patterns is None or pattern in skip.patterns)
            and (skip.sizes is None or size in skip.sizes)
            for skip in run.skips
        )
    ]
    if lacking or not known:
        more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
        what = ", ".join(lacking[:_MOST_NAMED]) + more if lacking else "measurements"
        raise UsageError(f"--baseline: {name} has no {what}; measure the same as there")
