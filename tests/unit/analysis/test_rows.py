"""The rows of a run: their order, and the figures of slices, losses and directions."""

import pytest

from halftrip.analysis.rows import rows
from halftrip.results.counts import Delivery
from harness import runs


def row_of(*measurements):
    (row,) = rows(runs.run(*measurements))
    return row


def test_rows_are_in_the_order_of_transports_and_sizes():
    sizes = [64, 1, 4096]
    run = runs.run(
        *(runs.measurement(t, s) for s in sizes for t in ("tcp", "new", "mpi")),
    )
    shown = [(row.configuration.transport, row.configuration.size) for row in rows(run)]
    assert shown == [(t, s) for t in ("mpi", "tcp", "new") for s in sorted(sizes)]


def test_rows_with_and_without_a_rate_and_of_different_ends_are_sorted():
    run = runs.run(
        *(runs.stream(rate=rate) for rate in (1e9, 9e7, None, 1e8)),
        *(runs.measurement("tcp", wait=wait) for wait in ("spin:block", "spin", "block")),
    )
    found = [row.configuration for row in rows(run)]
    assert [each.both_ends("wait") for each in found[:3]] == ["block", "spin", "spin:block"]
    assert [each.rate for each in found[3:]] == [None, 9e7, 1e8, 1e9]


def test_slices_make_one_row():
    row = row_of(
        runs.measurement(slice=0, rtts=(150.0, 160.0)),
        runs.measurement(slice=1, seed=2, iterations=20, rtts=(130.0, 131.0)),
    )
    assert row.summary.samples == 800
    assert row.iterations == 20
    assert row.core_to_core_rtt == (130.0, 160.0)


def test_bandwidth_with_losses_is_over_all_the_time():
    """The first windows go into the queue at once; what it cannot deliver is lost later."""
    samples = [5_000] * 60 + [20_000] * 40
    row = row_of(runs.stream(samples=samples, delivery=Delivery(sent=1000, lost=100, reordered=0)))
    assert row.bandwidth == pytest.approx(900 * 1000 / 1.1e-3)
    row = row_of(runs.stream(samples=samples, delivery=Delivery(sent=1000, lost=0, reordered=0)))
    assert row.bandwidth == pytest.approx(10 * 1000 / 5e-6)
    assert row.peer_bandwidth == pytest.approx(1e9)


def test_deliveries_of_slices_are_added_and_the_last_jitter_counts():
    row = row_of(runs.stream(delivery=Delivery(sent=1000, lost=250, reordered=10, jitter=1500.0)))
    assert row.bandwidth == pytest.approx(0.75e9)
    assert row.rate == pytest.approx(0.75e6)
    assert row.peer_bandwidth is None
    row = row_of(
        runs.stream(delivery=Delivery(sent=10, lost=1, reordered=2, jitter=5.0)),
        runs.stream(delivery=Delivery(sent=30, lost=3, reordered=0, jitter=7.0), slice=1),
    )
    assert row.delivery == Delivery(sent=40, lost=4, reordered=2, jitter=7.0)
    assert row.delivered == pytest.approx(0.9)
    # A lost iteration of a ping-pong is no sample.
    lost = Delivery(sent=500, lost=100, reordered=0)
    with_losses = row_of(runs.measurement("udp", 8, "block", delivery=lost))
    assert with_losses.bandwidth == row_of(runs.measurement("udp", 8, "block")).bandwidth


def test_each_direction_is_measured_until_its_last_receive():
    row = row_of(
        runs.stream(
            pattern="bidirectional", peer_times=runs.times(),
            peer_receive_times=runs.times(10_000), receive_times=runs.times(5_000),
        )
    )  # fmt: skip
    assert row.bandwidth == pytest.approx(2e9)
    assert row.each_way == (pytest.approx(1e9), pytest.approx(2e9))
