"""Decides whether the responder of a ping-pong says when messages arrive."""

from __future__ import annotations

from halftrip.measure.batch import CLOCK_SHARE


class Arrivals:
    """Of one configuration. `cost` is that of the clock readings in a sample of which the
    responder's is one, ns; None: it never says so."""

    def __init__(self, cost: float | None) -> None:
        self._cost = cost
        # The same for all samples, as the reading is in their times.
        self._are_cheap: bool | None = None

    def are_wanted(self, iterations: int, sample_ns: float) -> bool:
        """Whether it says so in a batch whose samples have so many iterations and take about
        `sample_ns`: only where a sample is one iteration, and at the first such batch took long
        enough for the readings."""
        if iterations > 1 or self._cost is None:
            return False
        if self._are_cheap is None:
            self._are_cheap = self._cost <= CLOCK_SHARE * sample_ns
        return self._are_cheap
