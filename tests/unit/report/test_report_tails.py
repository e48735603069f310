"""``show --tails``: quantiles with their intervals."""

import numpy as np

from halftrip.report.tails import render_tails
from harness import runs
from harness.screens import cells, printed


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


def quantile(lines, name):
    """The quantile of the first row, and the bounds that its share gives."""
    (cell, *_) = cells(lines, name)
    value, share = (float(word) for word in cell.rstrip(" %").split(" ± "))
    return [value, value * (1 - share / 100), value * (1 + share / 100)]


def test_quantiles_are_shown_with_their_intervals():
    lines = tails(*slices())
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)):
        value, low, high = quantile(lines, name)
        true = 10 - np.log(1 - q)
        assert low < true < high
        assert low <= value <= high
    assert float(cells(lines, "max")[0]) >= quantile(lines, "p99.9")[0]


def test_a_quantile_that_is_not_known_is_left_out():
    lines = tails(*slices(200))
    assert "p99.9" not in lines[0]
    assert "not known here: p99.9 us" in lines
    several = tails(*[runs.measurement(slice=n) for n in range(10)])
    assert "p90" not in several[0]
    assert "p50" in several[0]


def test_round_trips_where_the_plan_says_so_and_windows_are_shown_whole():
    header = runs.run().header
    header.plan["rtt"] = True
    assert 20 < quantile(tails(*slices(), header=header), "p50")[0] < 22
    of_window = slices(pattern="stream", window=10)
    assert 20 < quantile(tails(*of_window), "p50")[0] < 22
