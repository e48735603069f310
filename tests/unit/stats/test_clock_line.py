"""The difference of two clocks over time: the truth is within what is said, however the path
between them delays messages."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.clock_line import _MOST, MOST_DRIFT, ClockLine, MeasuredOffset

# Rounding to whole ns: of the moments of an exchange, and of a reading.
ROUNDING = 2.0
SECOND = 1_000_000_000


class Clocks:
    """Two clocks and a path between them. The second is ahead by `offset` at 0, ns, and gains the
    share `drift`. A message takes `there` or `back` ns, and for as long again as a drawn number
    times `jitter`."""

    def __init__(self, offset=0, drift=0.0, there=5000, back=5000, jitter=0.0, seed=0):
        self._offset, self._drift = offset, drift
        self._ways, self._jitter = (there, back), jitter
        self._random = np.random.default_rng(seed)

    def ahead(self, at):
        return self._offset + self._drift * at

    def compare(self, at, exchanges=10):
        """The comparison at about this moment: that of the shortest of several exchanges."""
        made = []
        for _ in range(exchanges):
            late = self._random.exponential(self._jitter, 2) if self._jitter else (0.0, 0.0)
            there, back = (way * (1 + more) for way, more in zip(self._ways, late, strict=True))
            answered = at + there + self.ahead(at + there)
            received = at + there + back
            made.append((received - at, answered - (at + received) / 2, (at + received) / 2))
            at = received
        round_trip, ahead, middle = min(made)
        return MeasuredOffset(round(middle), round(ahead), round_trip / 2)

    def check(self, line, at):
        """The truth at this moment is within the error of what the line says."""
        reading = line.at(at)
        assert abs(reading.ahead - self.ahead(at)) <= reading.error + ROUNDING
        return reading


clocks = st.builds(
    Clocks,
    offset=st.integers(-(10**15), 10**15),
    drift=st.floats(-MOST_DRIFT / 2, MOST_DRIFT / 2),
    there=st.floats(500, 1e6),
    back=st.floats(500, 1e6),
    jitter=st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    seed=st.integers(0, 1000),
)


@given(
    clocks,
    st.lists(st.integers(0, 60 * SECOND), min_size=1, max_size=12),
    st.lists(st.integers(0, 60 * SECOND), min_size=1, max_size=8),
    st.integers(1, 20),
)
def test_the_truth_is_within_the_error_at_all_moments(clocks, compared, asked, exchanges):
    """Between comparisons, before the first and after the last."""
    line = ClockLine([clocks.compare(at, exchanges) for at in compared])
    for at in asked:
        clocks.check(line, at)


@given(st.floats(0, 100e-6), st.integers(0, 100))
@settings(max_examples=30)
def test_drift_between_comparisons_adds_nothing(drift, seed):
    """Two clocks that drift apart by 100 ppm differ by half a millisecond more after 5 s."""
    clocks = Clocks(7 * SECOND, drift, jitter=0.2, seed=seed)
    line = ClockLine([clocks.compare(at * SECOND, 100) for at in range(0, 61, 5)])
    for at in range(0, 60 * SECOND, SECOND // 3):
        assert clocks.check(line, at).error < 2 * 5000


def test_what_a_single_comparison_is_worth_and_very_many():
    line = ClockLine([MeasuredOffset(0, 100, 50.0)])
    errors = [line.at(at * SECOND).error for at in (0, 1, 2)]
    assert errors == [50.0, 50.0 + MOST_DRIFT * SECOND, 50.0 + 2 * MOST_DRIFT * SECOND]
    assert {line.at(at * SECOND).ahead for at in (-1, 0, 1)} == {100}
    # A file may have any number of them: the nearest count.
    line = ClockLine([MeasuredOffset(at, at // 1000, 1.0) for at in range(0, 10**6, 10)])
    assert len(line._near(500_000)) == 2 * _MOST
    assert line.at(500_000).ahead == 500


def test_a_rate_that_changes_is_in_the_error():
    """A line through comparisons of which each is exact does not fit."""
    curve = [MeasuredOffset(at * SECOND, 1000 * at**2, 1.0) for at in range(6)]
    assert ClockLine(curve).at(round(2.5 * SECOND)).error > 1000
    # Far from there it does not matter.
    straight = [MeasuredOffset((at + 100) * SECOND, 10 * at, 1.0) for at in range(6)]
    assert ClockLine([*curve, *straight]).at(102 * SECOND).error < 5


huge = st.integers(-(1 << 62), 1 << 62)


@given(st.lists(st.builds(MeasuredOffset, huge, huge, st.floats(0, 1e17)), min_size=1), huge)
def test_any_figures_of_a_file_give_a_reading(comparisons, at):
    reading = ClockLine(comparisons).at(at)
    assert np.isfinite(reading.error)
    assert reading.error >= 0
