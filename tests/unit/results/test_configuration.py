"""What follows from the settings of a configuration."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.results.patterns import SHAPES
from harness.runs import configuration

KINDS = [(pattern, mode) for pattern, shape in SHAPES.items() for mode in shape.modes]


@given(st.sampled_from(KINDS), st.integers(1, 256), st.integers(0, 1 << 22), st.integers(0, 1000))
def test_messages_and_bytes_in_flight_are_those_of_a_window(kind, window, size, iterations):
    pattern, mode = kind
    made = configuration("tcp", size, pattern=pattern, mode=mode, window=window)
    assert made.bytes_in_flight == window * size
    assert made.messages_in(iterations) == iterations * window
    assert made.has_window == (window > 1)
    assert made.kind == ("tcp", pattern, mode, window)


@pytest.mark.parametrize(("pattern", "mode"), KINDS)
def test_the_round_trip_beside_it_differs_in_nothing_else(pattern, mode):
    made = configuration("tcp", 8, pattern=pattern, mode=mode, window=4, buffers="same")
    beside = made.round_trip
    assert beside.kind == ("tcp", "pingpong", "blocking", 1)
    assert msgspec.structs.replace(beside, pattern=pattern, mode=mode, window=4) == made
