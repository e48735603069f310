"""SMPI's factors are the pieces, by its own formula."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.export.fitted_curve import LARGEST, eager_limit, problem, segments
from halftrip.export.simgrid import factors
from harness.pieces import curves, pieces, sizes_on, smpi_time, time_on


@settings(max_examples=50)
@given(curves(), st.lists(st.integers(1, 1 << 30), max_size=5))
def test_the_formula_gives_the_pieces(curve, more):
    assert problem(curve) is None
    told = factors(curve)
    for size in [*sizes_on(curve), *more]:
        if size > 0 or curve.pieces[0].first == 0:
            assert smpi_time(told, size) == pytest.approx(time_on(curve, size), rel=1e-6), size


@settings(max_examples=30)
@given(curves())
def test_segments_have_no_gap_and_thresholds_are_what_smpi_accepts(curve):
    found = segments(curve)
    assert (found[0].above, found[-1].up_to) == (-1, None)
    assert all(one.up_to == other.above > one.above for one, other in pairwise(found))
    for piece, segment in zip(curve.pieces, found, strict=True):
        assert segment.above < piece.first
        assert segment.up_to is None or piece.last <= segment.up_to
    told = factors(curve)
    assert min(told.latency, told.bandwidth) > 0
    assert all(factor >= 0 for _, factor in told.latency_factors)
    assert all(factor > 0 for _, factor in told.bandwidth_factors)
    boundaries = [boundary for boundary, _ in told.latency_factors]
    assert boundaries == sorted(set(boundaries))
    assert (boundaries[0], max(boundaries) <= LARGEST) == (0, True)
    if told.eager is not None:
        assert told.eager <= told.detached <= LARGEST


def test_a_straight_line_has_one_factor_and_no_overhead():
    told = factors(pieces((1, 1 << 20, 1000.0, 0.1)))
    assert (told.latency, told.bandwidth) == pytest.approx((998.4e-9, 1e10))
    assert told.latency_factors == told.bandwidth_factors == ((0, 1.0),)
    assert (told.overheads, told.eager, told.detached) == ((), None, None)


def test_pieces_that_meet_between_their_sizes_end_there():
    curve = pieces((1, 1024, 1000.0, 0.5), (4096, 1 << 20, 256.0, 0.871))
    (first, second) = segments(curve)
    assert first.up_to == second.above == 2005
    assert first.at(2005) == pytest.approx(second.at(2005), rel=1e-3)
    assert eager_limit(curve) is None
    # A jump to shorter times is no eager limit.
    curve = pieces((1, 8, 5000.0, 1.0), (16, 64, 1000.0, 1.0), (128, 1 << 20, 3000.0, 1.0))
    assert [bend.kind for bend in curve.bends] == ["jump", "jump"]
    assert eager_limit(curve) == 64


def test_a_steep_piece_makes_the_sender_busy_which_does_not_wait():
    curve = pieces((1, 4096, 1000.0, 0.1), (8192, 1 << 20, 0.0, 0.5))
    told = factors(curve)
    assert told.latency_factors[1][1] == 0.0
    (none, some) = told.overheads
    assert none == (0, 0.0, 0.0)
    assert some[0] == segments(curve)[1].above
    assert told.detached == LARGEST
    assert smpi_time(told, 1 << 20) == pytest.approx(0.5 * (1 << 20))


def test_what_no_simulator_can_have():
    for of, said in (
        ([(1, 64, -5.0, 1.0)], "from 1 to 64 B an empty message takes less than no time"),
        (
            [(1, 64, 5.0, 1.0), (128, 256, -500.0, 1.0)],
            "from 128 to 256 B a message takes less than no time: measure more sizes",
        ),
        ([(1, 64, 5.0, -0.01), (128, 256, 1.0, 1.0)], "from 1 to 64 B longer messages are faster"),
        ([(1, 8, 5.0, 1.0), (16, 64, 30.0, 0.0)], "from 16 B on the time does not grow"),
        ([(1, 8, 5.0, 1.0), (1 << 31, 1 << 32, 5.0, 1.0)], "no sizes from 2 GiB on"),
    ):
        assert said in problem(pieces(*of))
