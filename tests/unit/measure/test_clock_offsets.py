"""Clocks of several hosts that are ahead of rank 0's by a known time."""

import threading

import pytest

from halftrip.clock import raw_now
from halftrip.measure import clock_offsets as module
from halftrip.measure.clock_offsets import clock_offsets
from harness.groups import in_group, on_two_ranks

AHEAD = 7 * 10**9


class TimedGroup:
    """Rank 0's end of a group of three, on a made-up clock, ns. The next of `delays` are the times
    of a round trip there and back; rank 1's clock is ahead."""

    rank = 0

    def __init__(self, delays):
        self.now = 1000
        self._delays = iter(delays)

    def broadcast(self, value, kind):
        self._there, self._back = next(self._delays)

    def gather(self, value, kind):
        self.now += self._there
        answers = [value, self.now + AHEAD, self.now + 12]
        self.now += self._back
        return answers


def offsets(monkeypatch, delays):
    group = TimedGroup(delays)
    monkeypatch.setattr(module, "raw_now", lambda: group.now)
    return clock_offsets(group, ["a", "b", "a"])


@pytest.mark.parametrize("shortest", [0, 4, 9])
def test_the_shortest_round_trip_gives_the_offset(monkeypatch, shortest):
    delays = [(5000 + 10 * number, 100) for number in range(10)]
    delays[shortest] = (40, 40)
    # Rank 2 shares the clock of rank 0, on the same host.
    assert offsets(monkeypatch, delays) == [0, AHEAD, 0]


@pytest.mark.parametrize(("there", "back"), [(100, 0), (0, 100), (70, 30)])
def test_the_offset_is_wrong_by_half_of_the_round_trip_at_most(monkeypatch, there, back):
    _, found, _ = offsets(monkeypatch, [(there, back)] * 10)
    assert found - AHEAD == (there - back) / 2


def test_only_rank_0_learns_the_offsets(monkeypatch):
    """Over a real group, whose ranks are threads, each with a clock of its own."""
    ahead = {}
    monkeypatch.setattr(module, "raw_now", lambda: raw_now() + ahead[threading.get_ident()])

    def take_part(rank, group):
        ahead[threading.get_ident()] = AHEAD * rank
        return clock_offsets(group, ["a", "b"])

    found, nothing = on_two_ranks(take_part)
    assert found[0] == 0
    # Wrong by half of a round trip: less than a minute, however busy the machine is.
    assert found[1] == pytest.approx(AHEAD, abs=60e9 / 2)
    assert nothing == []


def test_ranks_of_one_host_share_its_clock():
    assert in_group(3, lambda group: clock_offsets(group, ["a"] * 3)) == [[0, 0, 0]] * 3
