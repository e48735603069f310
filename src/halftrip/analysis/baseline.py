"""The figures of each link in an earlier run, with which a new run is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from halftrip.analysis.like_states import Part, in_common
from halftrip.analysis.rows import Row, in_part, least, rows
from halftrip.errors import UsageError
from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import size_name

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


class LikeFigure(NamedTuple):
    """What is expected of a `part` of a row: of its slices in a state, or of all; `is_own`: by the
    figure of the same link and not of the median one."""

    part: Part
    expected: Expected
    is_own: bool


# The rows of each link, of what was measured.
_Links = Mapping[Configuration, Mapping[frozenset[str], Sequence[Row]]]


class Baseline(NamedTuple):
    """The figures of the run in the file `name`, by what was measured, whoever measured it: those
    of each link, by the names of its hosts, those of the median link, and the `rows` of each link.
    Of each pair, the row with the fewest other pairs talking counts."""

    name: str
    links: Mapping[Configuration, Mapping[frozenset[str], Expected]]
    typical: Mapping[Configuration, Expected]
    rows: _Links

    @classmethod
    def of(
        cls, run: Run, name: str, chosen: Callable[[Configuration], bool] = lambda _: True
    ) -> Baseline:
        """The figures of the rows of a run that are `chosen`. Several pairs of ranks between the
        same hosts are one link, with the median of their figures."""
        found: dict[Configuration, dict[frozenset[str], list[Row]]] = {}
        for row in least(rows(run, flags=False)):
            if chosen(row.configuration) and _expected(row).value > 0:
                hosts = frozenset(map(run.names.host, row.configuration.pair))
                of_setting = found.setdefault(row.configuration.setting, {})
                of_setting.setdefault(hosts, []).append(row)
        medians = {
            setting: {hosts: _median(map(_expected, each)) for hosts, each in links.items()}
            for setting, links in found.items()
        }
        typical = {setting: _median(each.values()) for setting, each in medians.items()}
        return cls(name, medians, typical, found)

    def like(self, row: Row, hosts: Iterable[str]) -> tuple[list[LikeFigure], str]:
        """What is expected of a row of a link between these hosts, in each state that both runs
        have seen; and where these are none, in which ones they were, in words. None of both where
        nothing like it was measured."""
        setting, own = row.configuration.setting, frozenset(hosts)
        links = self.rows.get(setting, {})
        is_own = own in links
        chosen = [own] if is_own else [*links]
        if not chosen:
            return [], ""
        if all(part.level is None for part in row.measured.parts):
            value = self.links[setting][own] if is_own else self.typical[setting]
            return [LikeFigure(row.measured.whole, value, is_own)], ""
        by_part: dict[str, tuple[Part, list[Expected]]] = {}
        apart = ""
        for link in chosen:
            of_link: dict[str, tuple[Part, list[Expected]]] = {}
            for base in links[link]:
                for common in in_common(base.measured, row.measured):
                    apart = apart or common.said_apart
                    if not common.said_apart:
                        _, of_part = of_link.setdefault(common.new.word, (common.new, []))
                        of_part.append(self._expected(setting, link, base, common.base))
            for word, (part, found) in of_link.items():
                by_part.setdefault(word, (part, []))[1].append(_median(found))
        figures = [LikeFigure(part, _median(found), is_own) for part, found in by_part.values()]
        return figures, "" if figures else apart

    def _expected(
        self, setting: Configuration, link: frozenset[str], row: Row, part: Part
    ) -> Expected:
        if len(self.rows[setting][link]) == 1 and in_part(row, part) is row:
            return self.links[setting][link]
        return _expected(in_part(row, part))


def _expected(row: Row) -> Expected:
    return Expected(figure_of(row)[1], row.verdict.width)


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
        f"{transport} {pattern} {size_name(size)}"
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
