"""One-way times, from blocks whose true times are known."""

import msgspec
import numpy as np
import pytest

from halftrip.analysis.one_way import Clocks, one_way_times
from harness.arrivals import BOOTED, SECOND, block, comparison, ping_pong


def test_on_one_host_there_and_back_are_the_round_trip():
    there, back = np.arange(20_000, 20_100), np.arange(60_100, 60_000, -1)
    made = block(there, back)
    found = one_way_times(made, 0, 0)
    assert found[0] == pytest.approx(there, abs=1)
    assert found[1] == pytest.approx(back, abs=1)
    assert sum(found) == pytest.approx(made.times, abs=1)
    _, row = ping_pong([made] * 6, hosts=("a", "a"), latency=40_000)
    assert row.one_way.is_known
    assert row.one_way.is_uneven
    assert row.one_way.there == pytest.approx(20_050, abs=1)
    assert row.one_way.back == pytest.approx(60_050, abs=1)
    assert row.one_way.error < 200


def test_a_rate_that_was_calibrated_wrongly_adds_nothing():
    """10 ppm over a tenth of a second would be 1 us."""
    there, back = np.full(1000, 40_000.0), np.full(1000, 60_000.0)
    found = one_way_times(block(there, back, rate=1 + 1e-5), 0, 0)
    # Each sample has whole ns.
    assert found[0] == pytest.approx(there, abs=2)
    assert found[1] == pytest.approx(back, abs=2)


@pytest.mark.parametrize("ahead", [0, 5, -3 * 10**14, 7 * 10**17])
@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4])
def test_clocks_of_two_hosts_that_drift(ahead, drift):
    """In half a second clocks drift apart by 50 us."""
    there, back = np.full(5000, 30_000.0), np.full(5000, 70_000.0)
    made = [block(there, back, BOOTED + n * SECOND, ahead + round(drift * n * SECOND), drift)
            for n in range(6)]  # fmt: skip
    compared = [
        comparison(BOOTED + n * SECOND, ahead + round(drift * n * SECOND), 8000) for n in (-1, 3, 8)
    ]
    run, row = ping_pong(made, compared=compared, latency=50_000)
    assert row.one_way.is_known
    assert row.one_way.is_uneven
    assert row.one_way.there == pytest.approx(30_000, abs=100)
    assert row.one_way.back == pytest.approx(70_000, abs=100)
    # The comparisons are exact to 4 us.
    assert 4000 <= row.one_way.error < 5000
    reading = Clocks(run).ahead(0, (1, 0), BOOTED + ahead)
    assert reading.ahead == pytest.approx(-ahead, abs=abs(drift * 10 * SECOND) + 100)


@pytest.mark.parametrize(("round_trip", "is_known"), [(9_000, True), (11_000, False)])
def test_times_are_known_up_to_a_tenth_of_the_latency(round_trip, is_known):
    """Such as 5 us of 50."""
    made = [block(np.full(100, 50_000.0), np.full(100, 50_000.0))] * 6
    compared = [comparison(BOOTED + at, 0, round_trip) for at in (-SECOND, SECOND)]
    _, row = ping_pong(made, compared=compared, latency=50_000)
    assert row.one_way.is_known == is_known
    assert row.one_way.error == pytest.approx(round_trip / 2, abs=200)
    assert not row.one_way.is_uneven


@pytest.mark.parametrize(("bad", "is_known"), [(2, True), (4, False)])
def test_slices_in_which_the_clocks_were_not_known_do_not_count(bad, is_known):
    made = [
        block(np.full(100, 50_000.0), np.full(100, 50_000.0), BOOTED + n * 100 * SECOND)
        for n in range(6)
    ]
    compared = [
        comparison(BOOTED + n * 100 * SECOND + at, 0, 10**6 if n < bad else 1000)
        for n in range(6)
        for at in (-SECOND, SECOND)
    ]
    _, row = ping_pong(made, compared=compared, latency=50_000)
    assert row.one_way.is_known == is_known


def test_both_clocks_of_a_pair_without_rank_0_add_to_the_error():
    compared = [
        comparison(BOOTED + at, 7000 * rank, 10_000 * rank, rank)
        for rank in (1, 2)
        for at in (-SECOND, SECOND)
    ]
    run, _ = ping_pong([block([1e5], [1e5])], ("a", "b", "c"), compared)
    reading = Clocks(run).ahead(0, (1, 2), BOOTED + 7000)
    assert reading.ahead == 7000
    assert reading.error == pytest.approx(5000 + 10_000, abs=200)


@pytest.mark.parametrize("hosts", [("a", "b"), ("a", "b", "b")])
def test_clocks_that_were_not_compared_are_not_known(hosts):
    run, row = ping_pong([block([1e5], [1e5])], hosts)
    assert row.one_way is None
    assert Clocks(run).ahead(0, (0, 1), BOOTED) is None
    if len(hosts) > 2:
        # Whose own line is lost, with that of another.
        run = msgspec.structs.replace(run, clock_comparisons=(comparison(BOOTED, 5, rank=2),))
        assert Clocks(run).ahead(0, (1, 2), BOOTED) is None


EVEN = np.full(100, 45_000.0), np.full(100, 55_000.0)
UNEVEN = np.full(100, 40_000.0), np.full(100, 60_000.0)


@pytest.mark.parametrize(("ways", "is_uneven"), [
    ([UNEVEN] * 6, True),
    ([UNEVEN[::-1]] * 6, True),
    ([UNEVEN] * 5 + [UNEVEN[::-1]], False),
    ([UNEVEN] * 5, False),
    ([EVEN] * 6, False),
])  # fmt: skip
def test_one_way_takes_longer_only_if_it_does_so_by_much_in_all_slices(ways, is_uneven):
    _, row = ping_pong([block(*each) for each in ways], ("a", "a"))
    assert row.one_way.is_known
    assert row.one_way.is_uneven == is_uneven
