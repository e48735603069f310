"""States of the machine, from cache-line round trips: each belongs to one state at most."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.stats.states import State, block_states, requested_state, states

probes = st.lists(st.floats(20, 2000), min_size=1, max_size=120)


@given(probes)
def test_states_are_in_order_and_do_not_overlap(them):
    known = states(them)
    assert known
    for state in known:
        assert state.low <= state.high
        assert state.low in them
        assert state.high in them
    for one, other in itertools.pairwise(known):
        assert other.low > 1.25 * one.high
    for probe in them:
        assert sum(state.has(probe) for state in known) <= 1


def test_close_probes_make_one_state():
    assert states([]) == []
    assert states([100.0]) == [State(100.0, 100.0)]
    assert states([100.0, 124.0, 150.0]) == [State(100.0, 150.0)]
    assert states([100.0, 126.0]) == [State(100.0, 100.0), State(126.0, 126.0)]


def test_rare_probes_are_a_disturbance_and_no_state():
    assert states([100.0] * 3 + [300.0]) == [State(100.0, 100.0)]
    assert states([100.0] * 3 + [300.0] * 2) == [State(100.0, 100.0), State(300.0, 300.0)]
    assert states([100.0] * 39 + [300.0] * 2) == [State(100.0, 100.0)]
    assert states([100.0] * 38 + [300.0] * 2) == [State(100.0, 100.0), State(300.0, 300.0)]


def test_a_block_in_which_the_state_changed_has_none():
    known = states([100.0, 200.0])
    assert block_states(known, [100.0, 104.0, 200.0, 192.0, 150.0, 150.0]) == [
        0, None, 1, 1, None,
    ]  # fmt: skip


def test_the_requested_state_is_the_first_or_last_of_clear_ones():
    them = [100.0, 102.0] * 10 + [200.0, 210.0] * 5
    assert requested_state(them, "near") == State(100.0, 102.0)
    assert requested_state(them, "far") == State(200.0, 210.0)


@settings(max_examples=50)
@given(st.lists(st.floats(100, 120), min_size=1, max_size=60))
def test_where_the_line_moves_continuously_near_is_the_lowest_quarter(them):
    near, far = requested_state(them, "near"), requested_state(them, "far")
    assert near.low == min(them)
    assert far.high == max(them)
    assert near.high == np.quantile(them, 0.25)
    assert far.low == np.quantile(them, 0.75)
    assert near.high <= far.low
