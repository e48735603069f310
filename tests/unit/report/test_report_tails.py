"""``show --tails``: quantiles with their intervals."""

import numpy as np

from halftrip.report.tails import render_tails
from harness import runs
from harness.screens import printed


def tails(*measurements, **changes):
    return printed(render_tails, runs.run(*measurements, **changes))


def slices(n=2000, **changes):
    """Single round trips of 20 us and more, with an exponential tail of 2 us."""
    generator = np.random.default_rng(1)
    return [
        runs.measurement(
            samples=20_000 + generator.exponential(2000, n).astype(int),
            iterations=1, slice=k, **changes,
        )
        for k in range(10)
    ]  # fmt: skip


def cells(lines):
    """The cells of the first row, those of quantiles as the value and both bounds."""
    row = next(line for line in lines if line.startswith(" shm"))
    return row.replace("[", "").replace("]", "").replace(",", "").split()


def test_quantiles_are_shown_with_their_intervals():
    found = [float(cell) for cell in cells(tails(*slices()))[3:16]]
    for place, q in enumerate((0.5, 0.9, 0.99, 0.999)):
        value, low, high = found[3 * place : 3 * place + 3]
        true = 10 - np.log(1 - q)
        assert low < true < high
        assert low <= value <= high
    assert found[-1] >= found[-4]


def test_a_quantile_that_is_not_known_is_left_out():
    lines = tails(*slices(200))
    assert "p99.9" not in lines[1]
    assert "not known here: p99.9 us" in lines
    several = tails(*[runs.measurement(slice=n) for n in range(10)])
    assert "p90" not in several[1]
    assert "p50" in several[1]


def test_round_trips_are_shown_where_the_plan_says_so():
    header = runs.run().header
    header.plan["rtt"] = True
    assert 20 < float(cells(tails(*slices(), header=header))[3]) < 22


def test_windows_are_shown_whole():
    of_window = slices(pattern="stream", window=10)
    assert 20 < float(cells(tails(*of_window))[3]) < 22


def test_a_run_without_rows_says_so():
    assert tails() == ["no tails: nothing was measured"]
