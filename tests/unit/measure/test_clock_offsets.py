"""Clocks of several hosts that are ahead of rank 0's by a known time, compared over real groups."""

from types import SimpleNamespace

import pytest

from halftrip import _native
from halftrip.clock import raw_now
from halftrip.measure import clock_offsets as module
from halftrip.measure.clock_offsets import HostClocks, clock_comparisons
from halftrip.results.records import ClockComparison
from halftrip.stats.clock_line import MeasuredOffset
from harness.groups import on_ranks

AHEAD = 7 * 10**9
HOSTS = ["a", "a", "b", "b", "c"]
HOURS = {"a": 0, "b": AHEAD, "c": -2 * AHEAD}


@pytest.fixture
def own_clocks(monkeypatch):
    """The ranks are threads, which have one clock: hosts seem to have those of HOURS. They are
    compared in their order."""
    ahead = []

    def compare(*arguments):
        if not ahead:
            ahead.extend(hours for hours in HOURS.values() if hours)
        sent, answered, received = _native.compare_clocks(*arguments)
        return sent, answered + ahead.pop(0), received

    fakes = SimpleNamespace(compare_clocks=compare, answer_clocks=_native.answer_clocks)
    monkeypatch.setattr(module, "_native", fakes)


@pytest.mark.usefixtures("own_clocks")
def test_all_ranks_learn_the_offsets_of_all_hosts_to_half_of_a_round_trip():
    before = raw_now()

    def take_part(rank, group):
        compared = clock_comparisons(group, HOSTS, launch=3)
        # The group goes on.
        assert group.allgather(rank, int) == [0, 1, 2, 3, 4]
        return compared

    found = on_ranks(len(HOSTS), take_part)
    assert found == [found[0]] * len(HOSTS)
    assert [(each.rank, each.ranks) for each in found[0]] == [(2, [2, 3]), (4, [4])]
    for each in found[0]:
        assert abs(each.ahead - HOURS[HOSTS[each.rank]]) <= each.round_trip / 2
        assert each.launch == 3
        assert before < each.at < raw_now()
        assert each.comparison == MeasuredOffset(each.at, each.ahead, each.round_trip / 2)


@pytest.mark.usefixtures("own_clocks")
def test_the_clock_of_a_rank_is_that_of_its_host():
    def take_part(rank, group):
        clocks = HostClocks(group, HOSTS)
        clocks.compare()
        return [clocks.ahead(other) for other in range(len(HOSTS))]

    for found in on_ranks(len(HOSTS), take_part):
        # However busy the machine is, a round trip takes less than some seconds.
        assert found == [pytest.approx(HOURS[host], abs=3e9) for host in HOSTS]
        assert found[0] == 0


def test_between_two_comparisons_the_difference_follows_a_line():
    clocks = HostClocks(None, ["a", "b"])
    for at in (0, 10**9):
        clocks.add("b", MeasuredOffset(at, 50 + at // 10**5, 1.0))
    assert clocks.ahead(1, 10**9 // 2) == 50 + 5000
    assert clocks.ahead(0, 10**9 // 2) == 0
    # Ranks of one host share its clock and say nothing.
    alone = HostClocks(None, ["a", "a"])
    assert (alone.compare(), alone.ahead(1), alone.is_stale) == ([], 0, False)


@pytest.mark.parametrize("took", [0.01, 1.0])
def test_clocks_of_several_hosts_are_compared_again_but_not_too_often(monkeypatch, took):
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def compare(group, hosts, launch, yields):
        now[0] += took
        return [ClockComparison(rank=1, ranks=[1], at=0, ahead=5, round_trip=1, launch=launch)]

    monkeypatch.setattr(module, "clock_comparisons", compare)
    clocks = HostClocks(SimpleNamespace(barrier=lambda: None), ["a", "b"])
    assert clocks.is_stale
    pause = max(module._STALE_SECONDS, took / module._MOST_SHARE)
    for _ in range(2):
        assert len(clocks.compare()) == 1
        assert clocks.ahead(1, 0) == 5
        now[0] += 0.9 * pause
        assert not clocks.is_stale
        now[0] += 0.2 * pause
        assert clocks.is_stale
