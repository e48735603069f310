"""The fits of runs: made-up ones, and tables that the authors of older tools published."""

import pytest

from halftrip.analysis.fit import fits
from halftrip.results.names import Names
from halftrip.views.fit import answer
from harness import runs
from harness.curves import run_of
from harness.files import module
from harness.published import MYRINET, VH_VH

sweeps = module("benchmarks/sweeps.py")
jumping = sweeps.jumping


def figure(size, ns, **changes):
    """A row that is one figure: a message takes `ns`."""
    values = {"iterations": 1000, "stopped": "count", "samples": [round(2000 * ns)], "rtts": None}
    return runs.measurement("mpi", size, **(values | changes))


def fitted(*measurements):
    (found,) = fits(runs.run(*measurements))
    return found


def bends(found):
    return [(each.low, each.high) for each in found.pieces.bends]


def test_a_run_has_a_fit_of_each_curve_with_intervals_over_its_slices():
    first, second = (
        run_of(segments, transport=transport)
        for transport, segments in (("shm", []), ("tcp", [(4096, 3000.0, 0.1)]))
    )
    straight, bent = fits(runs.run(*first.measurements, *second.measurements))
    assert straight.curve.times.over == "slices"
    assert bends(straight) == []
    relative = straight.lines[1]
    assert relative.method == "relative"
    assert relative.unfit is None
    assert relative.line.start.value == pytest.approx(1000, rel=0.02)
    assert not relative.line.per_byte.is_apart_from(0.1)
    assert relative.n_half.low < 10_000 < relative.n_half.high
    assert bends(bent) == [(2048, 4096)]
    (bend,) = bent.pieces.bends
    assert bend.kind == "jump"
    assert all(each.unfit for each in bent.lines)


def test_launches_are_what_intervals_are_over_where_there_are_several():
    found = fits(run_of(launches=4, slices=2))[0]
    assert found.curve.times.over == "launches"
    assert len(found.lines[0].by_launch) == 4


def test_one_launch_that_lacks_sizes_does_not_count():
    run = run_of(launches=3, slices=1)
    kept = [each for each in run.measurements if each.launch < 2 or each.configuration.size < 64]
    found = fitted(*kept)
    assert len(found.lines[0].by_launch) == 2


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({8: 100.0, 16: 100.0}, "2 sizes; a line needs 3 at least: measure more"),
        ({8: 0.0, 16: 0.0, 32: 100.0}, r"1 size \(2 more without a time above 0\); a line needs 3"),
    ],
)
def test_too_few_sizes_are_not_fitted(sizes, said):
    found = fitted(*(figure(size, ns) for size, ns in sizes.items()))
    assert found.lines == ()
    assert found.pieces is None
    assert said.replace("\\", "") in found.curve.reason.replace("\\", "")


def test_an_empty_message_takes_no_less_than_no_time():
    of_launches = [
        figure(size, 10 * size + start, launch=launch)
        for launch, start in enumerate((-60, 100, 100))
        for size in (8, 64, 512, 4096)
    ]
    ordinary, *_ = fitted(*of_launches).lines
    assert ordinary.unfit == "an empty message would take less than no time in 1 of 3 launches"


def test_hpcbench_over_myrinet_changes_its_protocol_above_16_kib():
    found = fitted(
        *(
            figure(size, size * 8e3 / rate, pattern="stream", samples=[round(size * 8e6 / rate)])
            for size, rate in MYRINET.items()
        )
    )
    assert (16384, 32768) in bends(found)


def test_mpi4py_has_a_cold_first_row_and_one_outlier():
    found = fitted(*(figure(size, 1e3 * us) for size, us in VH_VH.items()))
    assert found.pieces.outliers == (8, 2048)
    assert bends(found) == []


# A sweep of 1,000 sizes, each measured in one slice or a few.


@pytest.mark.parametrize(
    "sweep", [*sweeps.SWEEPS[1:4], *sweeps.SWEEPS[5:7]], ids=lambda sweep: sweep.name
)
def test_a_sweep_on_a_machine_that_moves_has_the_jumps_that_are_there_and_no_others(sweep):
    """That many runs do is for benchmarks/truth.py to show."""
    assert sweeps.jumps_are_found(sweep, 1) == (2, 2)
    assert sweeps.any_other(sweep, sweeps.JUMPS, 1).hits == 0
    if sweep.slices > 1:
        assert sweeps.any_other(sweep, (), 1).hits == 0


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
