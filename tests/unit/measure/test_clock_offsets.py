"""Clocks of several hosts that are ahead of rank 0's by a known time."""

import threading
from types import SimpleNamespace

import msgspec
import pytest

from halftrip.clock import raw_now
from halftrip.measure import clock_offsets as module
from halftrip.measure.clock_offsets import HostClocks, clock_offsets
from harness.groups import on_ranks

AHEAD = 7 * 10**9


class TimedGroup:
    """Rank 0's end of a group of three, on a made-up clock, ns. The next of `delays` are the times
    of a round trip there and back; rank 1's clock is ahead."""

    rank = 0

    def __init__(self, delays):
        self.now = 1000
        self._delays = iter(delays)

    def send(self, to, payload):
        assert to == 1
        there, self._back = next(self._delays)
        self.now += there

    def receive(self, source):
        answer = msgspec.msgpack.encode(self.now + AHEAD)
        self.now += self._back
        return answer

    def broadcast(self, value, kind):
        return value


def offsets(monkeypatch, delays):
    group = TimedGroup(delays)
    monkeypatch.setattr(module, "raw_now", lambda: group.now)
    return clock_offsets(group, ["a", "b", "a"])


@pytest.mark.parametrize("shortest", [0, 4, 9])
def test_the_shortest_round_trip_gives_the_offset(monkeypatch, shortest):
    delays = [(5000 + 10 * number, 100) for number in range(10)]
    delays[shortest] = (40, 40)
    # Rank 2 shares the clock of rank 0, on the same host.
    assert offsets(monkeypatch, delays) == {"a": 0, "b": AHEAD}


@pytest.mark.parametrize(("there", "back"), [(100, 0), (0, 100), (70, 30)])
def test_the_offset_is_wrong_by_half_of_the_round_trip_at_most(monkeypatch, there, back):
    found = offsets(monkeypatch, [(there, back)] * 10)["b"]
    assert found - AHEAD == (there - back) / 2


HOSTS = ["a", "a", "b", "b", "c"]
HOURS = {"a": 0, "b": AHEAD, "c": -2 * AHEAD}


@pytest.fixture
def own_clocks(monkeypatch):
    """Each rank's thread has the clock of its host; returned is what sets it."""
    ahead = {}
    monkeypatch.setattr(module, "raw_now", lambda: raw_now() + ahead[threading.get_ident()])
    return lambda rank: ahead.update({threading.get_ident(): HOURS[HOSTS[rank]]})


@pytest.fixture
def nearly():
    """Wrong by half of the shortest round trip of ten: less than three seconds, however busy the
    machine is."""
    return {host: pytest.approx(ahead, abs=3e9) for host, ahead in HOURS.items()}


def test_all_ranks_learn_the_offsets_of_all_hosts(own_clocks, nearly):
    """Over a real group, whose ranks are threads."""

    def take_part(rank, group):
        own_clocks(rank)
        return clock_offsets(group, HOSTS)

    found = on_ranks(len(HOSTS), take_part)
    assert found == [found[0]] * len(HOSTS)
    assert found[0] == nearly
    assert found[0]["a"] == 0


def test_ranks_of_one_host_share_its_clock_and_say_nothing():
    assert clock_offsets(None, ["a"] * 3) == {"a": 0}


def test_the_clock_of_a_rank_is_that_of_its_host(own_clocks, nearly):
    def take_part(rank, group):
        own_clocks(rank)
        clocks = HostClocks(group, HOSTS)
        clocks.compare()
        return [clocks.ahead(other) for other in range(len(HOSTS))]

    for found in on_ranks(len(HOSTS), take_part):
        assert found == [nearly[host] for host in HOSTS]


def test_clocks_of_several_hosts_are_compared_again_after_a_while(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(module, "clock_offsets", lambda group, hosts: dict.fromkeys(hosts, 5))
    clocks = HostClocks(None, ["a", "b"])
    assert clocks.is_stale
    for _ in range(2):
        clocks.compare()
        assert not clocks.is_stale
        assert clocks.ahead(1) == 5
        now[0] += module._STALE_SECONDS + 0.1
        assert clocks.is_stale


def test_one_host_s_clock_is_never_compared():
    assert not HostClocks(None, ["a", "a"]).is_stale
