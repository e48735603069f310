"""The fits of runs: made-up ones, and tables that the authors of older tools published."""

import pytest

from halftrip.analysis.fit import fits
from halftrip.results.names import Names
from halftrip.views.fit import answer
from harness import runs
from harness.choice import extended
from harness.curves import run_of
from harness.files import module

sweeps = module("benchmarks/sweeps.py")
jumping = sweeps.jumping


def figure(size, ns, **changes):
    """A row that is one figure: a message takes `ns`."""
    values = {"iterations": 1000, "stopped": "count", "samples": [round(2000 * ns)], "rtts": None}
    return runs.measurement("mpi", size, **(values | changes))


def fitted(*measurements):
    (found,) = fits(runs.run(*measurements))
    return found


def test_launches_are_what_intervals_are_over_where_several_have_all_sizes():
    found = fits(run_of(launches=4, slices=2))[0]
    assert found.curve.times.over == "launches"
    assert len(found.lines[0].by_launch) == 4
    run = run_of(launches=3, slices=1)
    kept = [each for each in run.measurements if each.launch < 2 or each.configuration.size < 64]
    assert len(fitted(*kept).lines[0].by_launch) == 2


def test_neither_too_few_sizes_nor_less_than_no_time_are_fitted():
    found = fitted(figure(8, 0.0), figure(16, 0.0), figure(32, 100.0))
    assert (found.lines, found.pieces) == ((), None)
    assert "1 size (2 more without a time above 0); a line needs 3" in found.curve.reason
    of_launches = [
        figure(size, 10 * size + start, launch=launch)
        for launch, start in enumerate((-60, 100, 100))
        for size in (8, 64, 512, 4096)
    ]
    ordinary, *_ = fitted(*of_launches).lines
    assert ordinary.unfit == "an empty message would take less than no time in 1 of 3 launches"


# A sweep of 1,000 sizes, each measured in one slice or a few.


@pytest.mark.parametrize(
    "sweep",
    [
        *sweeps.SWEEPS[1:3],
        sweeps.SWEEPS[-1],
        *extended(*((each,) for each in (sweeps.SWEEPS[3], *sweeps.SWEEPS[5:7]))),
    ],
    ids=lambda sweep: sweep.name,
)
def test_a_sweep_on_a_machine_that_moves_has_the_jumps_that_are_there_and_no_others(sweep):
    """That many runs do is for benchmarks/truth.py to show."""
    assert sweeps.jumps_are_found(sweep, 1) == (2, 2)
    assert sweeps.any_other(sweep, sweeps.JUMPS, 1).hits == 0
    if sweep.slices > 1:
        assert sweeps.any_other(sweep, (), 1).hits == 0


def test_a_slice_shorter_than_the_clock_can_tell_says_nothing():
    sizes = range(100, 1600, 100)
    times = {size: (size, 0 if size == 300 else size, size) for size in sizes}
    found = [
        runs.measurement("shm", size, samples=[2 * ns] * 20, slice=n, iterations=1)
        for size in sizes
        for n, ns in enumerate(times[size])
    ]
    (fitted,) = fits(runs.run(*found))
    assert len(fitted.pieces.pieces) == 1


def test_a_curve_is_of_one_state_where_it_goes_with_it():
    moving = jumping((90.0, 280.0), 1.0)
    for sweep, goes in ((sweeps.Sweep(moving), True), (sweeps.Sweep(moving, 20e3, 0.0), False)):
        (fitted,) = fits(sweeps.swept(sweep, 5))
        assert (fitted.curve.state is not None) is (fitted.curve.elsewhere > 0) is goes
        said = " ".join(answer([fitted], Names.of([])))
        assert ("times are those while cores were" in said) is goes


def test_what_was_measured_in_several_slices_is_no_disturbance():
    """A few sizes that something makes slower, after which the line goes on: of single times they
    are on no piece, of several they are a piece."""
    sizes = range(100, 10_000, 100)
    humps = {size: 1.5 if 5_000 <= size < 5_300 else 1.0 for size in sizes}
    for slices, pieces, outliers in ((1, 1, 3), (10, 3, 0)):
        rows = [
            runs.measurement(size=size, half_ns=(1000 + size) * factor, slice=number, seed=number)
            for size, factor in humps.items()
            for number in range(slices)
        ]
        (fitted,) = fits(runs.run(*rows))
        assert len(fitted.pieces.pieces) == pieces
        assert len(fitted.pieces.outliers) == outliers
