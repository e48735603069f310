"""Slices of one configuration, measured by both ranks in one process."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.control.protocol import decoded, encoded
from halftrip.measure.batch_runner import BatchReport
from halftrip.measure.slice_runner import _TimeBySize
from halftrip.measure.slices import _block
from halftrip.results.configuration import EndSettings
from halftrip.transports.base import Timed
from harness import runs
from harness.bench import measure
from harness.runs import configuration


@given(st.dictionaries(st.integers(0, 99), st.floats(1, 9), min_size=1), st.integers(0, 99))
def test_the_time_of_the_nearest_size_is_expected(times, size):
    found = _TimeBySize()
    for each, time in times.items():
        found.set(each, time)
    least = min(abs(each - size) for each in times)
    assert found.nearest(size) in [times.get(size + off) for off in (-least, least)]


def test_a_block_has_what_each_end_reports():
    reports = [
        BatchReport(
            Timed(
                times=np.array([first, 2]),
                start=first,
                end=first + 5,
                receive_times=np.array([first, 3]),
                arrivals=np.array([first, 4]),
                timed_out=first,
            ),
            usage=runs.usage(load=first / 100),
        )
        for first in (10, 20)
    ]
    # The responder's has come from another process.
    block = _block(reports[0], decoded(encoded(reports[1]), BatchReport))
    assert (block.start, block.end, block.peer_start, block.timed_out) == (10, 15, 20, 10)
    found = (block.times, block.receive_times, block.arrivals)
    assert [each.tolist() for each in found] == [[10, 2], [10, 3], [20, 4]]
    assert block.peer_times.tolist() == [20, 2]
    assert block.peer_receive_times.tolist() == [20, 3]
    assert block.usage == tuple(each.usage for each in reports)


@pytest.mark.parametrize(("size", "clock_cost", "timed"), [(1, 1e5, False), (300_000, 20.0, True)])
def test_receives_are_timed_only_where_a_sample_is_one_iteration(size, clock_cost, timed):
    """With several iterations, one more clock read in each would take too much of the sample."""
    the_configuration = configuration("shm", size, pattern="bidirectional", window=8)
    measured = measure(the_configuration, clock_cost=clock_cost).only
    assert measured.blocks
    for block in measured.blocks:
        for times in (block.receive_times, block.peer_receive_times):
            assert times.size == (block.times.size if timed else 0)


# Ends that wait in different ways.

BLOCKING = ("unix", "tcp", "pipe", "udp")


def unlike(transport, waits, **fields):
    initiator, responder = (EndSettings(wait=wait) for wait in waits)
    return configuration(transport, 64, initiator=initiator, responder=responder, **fields)


def descriptors(path):
    return [path._socket.fileno()] if hasattr(path, "_socket") else [path.in_fd, path.out_fd]


@pytest.mark.parametrize("transport", BLOCKING)
@pytest.mark.parametrize("waits", [("spin", "block"), ("block", "spin")])
def test_ends_that_wait_in_different_ways_are_measured(transport, waits):
    """Each end's descriptors are in its own mode while its configuration is measured."""
    modes = {}

    def note(rank, path):
        modes[rank] = {os.get_blocking(descriptor) for descriptor in descriptors(path)}

    measured = measure(unlike(transport, waits, verify=True), spoil=note).only
    assert measured.verified > 0
    assert measured.samples.size > 0
    assert modes == {rank: {wait == "block"} for rank, wait in enumerate(waits)}


def test_a_blocking_end_that_sends_and_receives_at_once_polls():
    """Two ends that both block in a write would wait for ever."""
    modes = {}

    def note(rank, path):
        modes[rank] = {os.get_blocking(descriptor) for descriptor in descriptors(path)}

    the_configuration = unlike("unix", ("block", "block"), pattern="bidirectional", window=4)
    assert measure(the_configuration, spoil=note).problem is None
    assert modes == {0: {False}, 1: {False}}


# Slices.


def test_the_time_of_all_batches_is_counted_and_what_both_ends_spent(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.untimed_iterations", lambda *_: 7)
    # Whatever else runs: an iteration is far shorter than 0.2 s.
    found = measure(configuration("unix", 64), clock_cost=2e6)
    measured = found.only
    assert measured.first > 0
    assert measured.iterations > 1
    for block in measured.blocks:
        initiator, responder = block.usage
        assert initiator.iterations == responder.iterations
        assert initiator.iterations == 7 + block.times.size * measured.iterations
        assert initiator.elapsed > 0
    kept = int(measured.samples.sum())
    assert found.timed_ns == [kept + measured.first + measured.warm_up.ns]


def test_blocks_follow_each_other(monkeypatch):
    monkeypatch.setattr("halftrip.measure.sampler.LONGEST_CALL_NS", 100_000)
    measured = measure(configuration("unix", 64), iterations=400, clock_cost=1.0).only
    assert len(measured.blocks) > 1
    starts = [block.start for block in measured.blocks]
    ends = [block.start + block.elapsed for block in measured.blocks]
    assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True))
