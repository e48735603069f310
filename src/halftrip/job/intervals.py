"""What the launches of a run have found so far: which rows are known as well as was asked for, and
what later launches may know of them."""

from __future__ import annotations

from halftrip.job.resumption import Done, Due
from halftrip.measure.progress import ConfigurationProgress, Earlier
from halftrip.plan.plan import FEWEST_UNTIL_CI, Plan
from halftrip.results.configuration import Configuration
from halftrip.results.reading import decode
from halftrip.results.records import Failure, Measurement
from halftrip.stats.median import FEWEST_FOR_INTERVAL
from halftrip.stats.series import configuration_times, summarize_configuration
from halftrip.stats.summary import relative_width

# How the lines of their records begin.
_MEASURED = (b'{"record":"measurement"', b'{"record":"failure"')


class Intervals:
    """The confidence intervals of all configurations, while launches go on. It keeps times only
    where they end a run, or rows of it: they take as much memory as the file takes on disk."""

    def __init__(self, plan: Plan) -> None:
        self._is_dealt = plan.dealt
        self._keeps = plan.until_ci or plan.dealt
        self._ci = plan.ci if self._keeps else None
        self._until = plan.until_ci
        # Before as many launches, no row is narrow.
        self._fewest = max(plan.launches, FEWEST_UNTIL_CI) if plan.until_ci else FEWEST_FOR_INTERVAL
        # Not looked at while ranks measure.
        self._lines: list[bytes] = []
        self._measurements: dict[Configuration, list[Measurement]] = {}
        self._progress: dict[Configuration, ConfigurationProgress] = {}
        self._failed: set[Configuration] = set()
        self._narrow: set[Configuration] = set()

    def take(self, line: bytes) -> None:
        """Takes a line of the run file."""
        if self._keeps and line.startswith(_MEASURED):
            self._lines.append(line)

    def are_narrow(self, launches: int) -> bool:
        """Whether a run with --until-ci, or one that is dealt, ends after this many launches: every
        row's interval is as narrow as requested."""
        if self._ci is None or launches < self._fewest:
            return False
        narrow = self.narrow()
        if not self._failed <= self._measurements.keys():
            return False
        return len(narrow) == len(self._measurements) > 0

    def narrow(self) -> Done:
        """The configurations whose intervals are as narrow as requested. Where a launch leaves them
        out, they stay so."""
        if self._ci is None:
            return frozenset()
        self._decode()
        fewest = FEWEST_UNTIL_CI if self._until else self._fewest
        if self._until:
            # All are measured again in each launch.
            self._narrow.clear()
        self._narrow |= {
            configuration
            for configuration, measured in self._measurements.items()
            if configuration not in self._narrow and _width(measured, fewest) <= self._ci
        }
        return frozenset(self._narrow)

    def earlier(self, due: Due) -> list[Earlier]:
        """What is known of the configurations that are due in a launch."""
        self._decode()
        return [
            Earlier(configuration, progress.spread, progress.iteration_ns)
            for configuration, progress in self._progress.items()
            if configuration.variant == due.variant
            and configuration not in due.done
            and progress.iteration_ns is not None
        ]

    def _decode(self) -> None:
        for line in self._lines:
            record = decode(line)
            if isinstance(record, Measurement):
                self._measurements.setdefault(record.configuration, []).append(record)
                if self._is_dealt:
                    progress = self._progress.setdefault(
                        record.configuration, ConfigurationProgress()
                    )
                    progress.add(record)
            elif isinstance(record, Failure):
                self._failed.add(record.configuration)
        self._lines.clear()


def _width(measurements: list[Measurement], fewest: int) -> float:
    """The relative width of a configuration's interval; infinite before so many launches."""
    if len({each.launch for each in measurements}) < fewest:
        return float("inf")
    times = configuration_times(measurements)
    if len(times.by_launch) < fewest:
        return float("inf")
    return relative_width(summarize_configuration(times))
