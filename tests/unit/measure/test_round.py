"""Rounds of one case, measured by both ranks in one process."""

import os

import numpy as np
import pytest

from halftrip.measure.aggregate import aggregate
from halftrip.measure.round import RoundBlock
from halftrip.results.block import Block
from halftrip.results.case import CaseEnd
from halftrip.results.records import Measurement
from harness.bench import measure
from harness.plans import skip_baselines, walk
from harness.runs import case


@pytest.mark.parametrize(("size", "clock_cost", "timed"), [(1, 1e5, False), (300_000, 20.0, True)])
def test_receives_are_timed_only_where_a_sample_is_one_exchange(size, clock_cost, timed):
    """With several exchanges, one more clock read in each would take too much of the sample."""
    the_case = case("shm", size, pattern="bidirectional", window=8)
    round_ = measure(the_case, clock_cost=clock_cost)
    assert round_.problems == [None]
    for block in (kept.blocks[0] for kept in round_.kept):
        for times in (block.receive_times, block.peer_receive_times):
            assert times.size == (block.times.size if timed else 0)


@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_the_responder_takes_times_where_they_do_not_lengthen_the_initiator_s(pattern):
    round_ = measure(case("unix", 64, pattern=pattern, window=1 if pattern == "pingpong" else 8))
    block = round_.kept[-1].blocks[0]
    assert block.peer_times.size == (block.times.size if pattern == "stream" else 0)


# Ends that wait in different ways.

BLOCKING = ("unix", "tcp", "pipe", "udp")


def unlike(transport, waits, **fields):
    initiator, responder = (CaseEnd(wait=wait) for wait in waits)
    return case(transport, 64, initiator=initiator, responder=responder, **fields)


def descriptors(path):
    return [path._socket.fileno()] if hasattr(path, "_socket") else [path.in_fd, path.out_fd]


@pytest.mark.parametrize("transport", BLOCKING)
@pytest.mark.parametrize("waits", [("spin", "block"), ("block", "spin")])
def test_ends_that_wait_in_different_ways_are_measured(transport, waits):
    """Each end's descriptors are in its own mode while its case is measured."""
    modes = {}

    def note(rank, path):
        modes[rank] = {os.get_blocking(descriptor) for descriptor in descriptors(path)}

    round_ = measure(unlike(transport, waits, verify=True), spoil=note)
    assert round_.problems == [None]
    assert round_.verified[0] > 0
    assert sum(kept.sampled.times.size for kept in round_.kept) > 0
    assert modes == {rank: {wait == "block"} for rank, wait in enumerate(waits)}


def test_a_blocking_end_that_sends_and_receives_at_once_polls():
    """Two ends that both block in a write would wait for ever."""
    modes = {}

    def note(rank, path):
        modes[rank] = {os.get_blocking(descriptor) for descriptor in descriptors(path)}

    the_case = unlike("unix", ("block", "block"), pattern="bidirectional", window=4)
    assert measure(the_case, spoil=note).problems == [None]
    assert modes == {0: {False}, 1: {False}}


def test_a_plan_whose_ends_wait_in_different_ways_is_measured_over_every_such_path(monkeypatch):
    skip_baselines(monkeypatch)
    records, _ = walk(transport=",".join(BLOCKING), wait="spin:block", sizes="8")
    measured = {found.case.transport: found.case for found in records.of(Measurement)}
    assert set(measured) == set(BLOCKING)
    for found in measured.values():
        assert (found.initiator.wait, found.responder.wait) == ("spin", "block")
        assert found.both_ends("wait") == "spin:block"


# The iterator.


def test_a_round_gives_the_timed_part_of_each_batch():
    round_ = measure(case("unix"))
    assert round_.first[0] > 0
    assert sum(round_.elapsed) >= sum(int(kept.sampled.times.sum()) for kept in round_.kept)


# Several pairs at the same time.


def block(times, start=0, timed_out=0):
    return Block(times=np.array(times, dtype=np.int64), start=start, timed_out=timed_out)


def test_a_sample_of_several_pairs_takes_as_long_as_the_slowest():
    """For as many samples as every pair has."""
    both = RoundBlock([block([1, 5, 4]), block([3, 2], timed_out=7)])
    assert both.sampled.times.tolist() == [3, 5]
    assert both.sampled.timed_out == 7
    assert both.sampled.elapsed == 15


@pytest.mark.parametrize(
    ("starts", "offsets", "span", "samples"),
    [
        ((0, 0), (0, 0), 1000, 20),
        # The second begins half way through the first.
        ((0, 500), (0, 0), 500, 10),
        # Its clock is ahead by as much.
        ((0, 500), (0, 500), 1000, 20),
        # A sample that is partly within the time counts in part.
        ((0, 930), (0, 0), 70, 1.4),
        ((0, 1000), (0, 0), None, None),
    ],
)
def test_an_aggregate_counts_the_messages_of_the_time_in_which_all_pairs_were_active(
    starts, offsets, span, samples
):
    pairs = [case("shm", pair=(0, 2)), case("shm", pair=(1, 3))]
    blocks = [block([100] * 10, start) for start in starts]
    spans, messages = aggregate(pairs, [blocks], exchanges=3, offsets=offsets)
    # Two messages, one after the other, in each of three exchanges.
    assert spans == ([] if span is None else [span])
    assert messages == ([] if span is None else [pytest.approx(6 * samples)])
