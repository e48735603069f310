"""``show --tails``, ``--cost`` and ``--flags``."""

import numpy as np

from halftrip.views import cost as cost_view
from halftrip.views import tails as tails_view
from halftrip.views import why
from harness import runs
from harness.screens import cells, printed


def tails(*measurements, **changes):
    return printed(tails_view.tails, runs.run(*measurements, **changes))


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
    # One that is not known is left out.
    lines = tails(*slices(200))
    assert "p99.9" not in lines[0]
    assert "not known here: p99.9 us" in lines
    several = tails(*[runs.measurement(slice=n) for n in range(10)])
    assert ("p50" in several[0], "p90" in several[0]) == (True, False)


def test_quantiles_of_round_trips_and_of_windows_are_whole():
    assert 20 < quantile(tails(*slices(), header=runs.planned(rtt=True)), "p50")[0] < 22
    of_window = slices(pattern="stream", window=10)
    assert 20 < quantile(tails(*of_window), "p50")[0] < 22


SPINS = runs.usage(1.0, 0.0, voluntary=0)
WORKS = runs.usage(0.5, 0.375, waited=0.01, core={"others": 0.25, "hertz": 3.1e9, "joules": 12.5})


def cost(*measurements):
    return printed(cost_view.cost, runs.run(*measurements))


def test_what_is_not_known_of_the_cost_or_is_zero_has_no_column():
    """All that may be known is in tests/golden/formats/1.cost.txt."""
    lines = cost(runs.measurement(usage=(SPINS, SPINS)))
    missing = "interrupts, unaccounted, throttled, steal, frequency GHz, energy J"
    assert f"not known here: core, waited, others, {missing}" in " ".join(" ".join(lines).split())
    assert "all 0: major faults" in lines
    assert not any(line.startswith("energy:") for line in lines)


def test_the_cost_of_slices_is_added_and_suspect_samples_counted():
    lines = cost(
        runs.measurement(usage=(WORKS, WORKS), preemptions=[(2, 1)]),
        runs.measurement(usage=(WORKS, WORKS), slice=1, preemptions=[(0, 2)]),
    )
    assert cells(lines, "elapsed") == ["2.00", "2.00"]
    assert cells(lines, "others") == ["25.0", "25.0"]
    assert cells(lines, "suspect")[0] == "4"


def test_rows_without_a_cost_are_left_out_and_others_named_as_in_the_table():
    (line,) = cost(runs.measurement())
    assert line.startswith("no cost: ")
    assert cost() == ["no cost: nothing was measured"]
    waits = ("spin:block", "spin")
    measured = [runs.measurement("tcp", wait=wait, usage=(SPINS, WORKS)) for wait in waits]
    lines = cost(runs.measurement("simulated"), *measured)
    assert not any("simulated" in line for line in lines)
    assert sorted(filter(None, cells(lines, "wait"))) == sorted(waits)


def flags(*measurements, **changes):
    return printed(why.flags, runs.run(*measurements, **changes))


def calm(transport="shm", **changes):
    return [runs.measurement(transport, slice=n, seed=n, **changes) for n in range(6)]


def test_a_run_without_flags_says_so():
    """One with some is tests/golden/formats/1.flags.txt."""
    none = "no flags: none of the 2 rows gives a reason to doubt"
    assert flags(*calm(), *calm("tcp")) == [none]


def test_rows_with_flags_are_named_by_the_fields_in_which_they_differ():
    windows = flags(*(runs.measurement(pattern="stream", window=window) for window in (1, 64)))
    assert [line.split(":")[0] for line in windows[1:3]] == [
        "  shm window 1 8 B",
        "  shm window 64 8 B",
    ]
    puts = flags(*(
        runs.measurement(pattern="put", mode="onesided", window=64, places=places, touch=touch)
        for places in ("own", "same") for touch in ("none", "timed")
    ))  # fmt: skip
    assert [line.split(":")[0] for line in puts[1:3]] == [
        "  shm own none 8 B",
        "  shm own timed 8 B",
    ]
    # The name of an unknown transport is printed as it stands.
    odd = flags(runs.measurement("[bold]new[/bold]"))
    assert odd[1].startswith("  [bold]new[/bold] 8 B:")
