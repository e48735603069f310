"""Curves of straight pieces: made by hand, and what a simulator takes for their messages."""

from hypothesis import strategies as st

from halftrip.analysis.fit import Bend, Piece, Pieces, StraightLine
from halftrip.export.fitted_curve import segments
from halftrip.stats.estimate import Estimate

HEADER = 16


def pieces(*of):
    """Pieces of a curve, each as (first, last, start ns, ns per byte); a bend is a jump where
    the lines do not meet between two of them."""
    found = tuple(
        Piece(first, last, StraightLine(Estimate(start), Estimate(per_byte)))
        for first, last, start, per_byte in of
    )
    return Pieces(found, tuple(map(_bend, found[:-1], found[1:])), ())


def _bend(one, other):
    steps = [
        other.line.at(size) / before if (before := one.line.at(size)) else 2.0
        for size in (one.last, other.first)
    ]
    if all(step > 1.01 for step in steps) or all(step < 0.99 for step in steps):
        return Bend(one.last, other.first, "jump", Estimate(steps[1]))
    return Bend(one.last, other.first, "slope", Estimate(1.5))


@st.composite
def curves(draw):
    """One to five pieces, each of at least two sizes, neither start nor time per byte below 0, and
    of these the last above 0; no message takes less than 1 ns."""
    count = draw(st.integers(1, 5))
    sizes = sorted(draw(st.sets(st.integers(0, 1 << 24), min_size=2 * count, max_size=2 * count)))
    of = []
    for number in range(count):
        first, last = sizes[2 * number : 2 * number + 2]
        is_last = number == count - 1
        rates = st.floats(1e-4, 1e3)
        per_byte = draw(rates if is_last else st.just(0.0) | rates)
        starts = st.floats(1.0, 1e9)
        start = draw(st.just(0.0) | starts if per_byte * first >= 1.0 else starts)
        of.append((first, last, start, per_byte))
    return pieces(*of)


def sizes_on(curve):
    """Sizes on each piece, and on both sides of the places where they end."""
    ends = [each.up_to for each in segments(curve)[:-1]]
    measured = [size for piece in curve.pieces for size in (piece.first, piece.last)]
    return sorted({*measured, *ends, *(end + 1 for end in ends)})


def time_on(curve, size):
    """The time of a message of that size by the only segment that has it, ns."""
    (found,) = (
        each
        for each in segments(curve)
        if each.above < size and (each.up_to is None or size <= each.up_to)
    )
    return found.at(size)


def smpi_time(factors, size):
    """The time of a message of that size, ns, by SMPI's formula, read as SMPI reads it: what has a
    boundary x holds for sizes above x."""
    with_header = size + HEADER
    took = factors.latency * _step(factors.latency_factors, with_header, (1.0,))[0]
    took += (
        with_header / factors.bandwidth / _step(factors.bandwidth_factors, with_header, (1.0,))[0]
    )
    if factors.detached is not None and size < factors.detached:
        start, per_byte = _step(factors.overheads, size, (0.0, 0.0))
        assert start + per_byte * size > -1e-12 * took
        took += start + per_byte * size
    return took * 1e9


def _step(steps, size, before):
    value = before
    for boundary, *values in steps:
        if size > boundary:
            value = values
    return value
