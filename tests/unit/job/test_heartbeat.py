"""Ranks on other hosts are asked for a sign of life, others are not."""

import socket
from contextlib import contextmanager

import pytest

from halftrip.control.greeting import introduce
from halftrip.control.protocol import Channel, Ping
from halftrip.job import connected
from halftrip.job.connected import ConnectedRank, Heartbeat, longest_idle
from halftrip.plan.plan import Plan


@contextmanager
def ranks(count):
    ends = [socket.socketpair() for _ in range(count)]
    yield [
        (ConnectedRank(f"rank {number}", introduce("control", number), Channel(own)), Channel(peer))
        for number, (own, peer) in enumerate(ends)
    ]
    for pair in ends:
        for end in pair:
            end.close()


@pytest.fixture
def clock(monkeypatch):
    moment = [0.0]
    monkeypatch.setattr(connected.time, "monotonic", lambda: moment[0])

    def advance(seconds):
        moment[0] += seconds

    return advance


def test_neither_ranks_of_this_host_nor_a_pause_of_the_launcher_count(clock):
    with ranks(2) as found:
        beat = Heartbeat(())
        assert beat.patience is None
        clock(100.0)
        assert beat.beat(rank for rank, _ in found) == []
        assert [rank.unanswered for rank, _ in found] == [0, 0]
    # It was stopped by its user for an hour.
    with ranks(2) as found:
        beat = Heartbeat({1})
        assert beat.beat(rank for rank, _ in found) == []
        clock(3600.0)
        assert beat.beat(rank for rank, _ in found) == []


def test_who_does_not_answer_is_given_up(clock):
    with ranks(3) as found:
        beat = Heartbeat({1, 2})
        silent = []
        for _ in range(connected._MOST_UNANSWERED + 1):
            assert silent == []
            silent = beat.beat(rank for rank, _ in found)
            assert isinstance(found[1][1].receive(), Ping)
            found[1][0].unanswered = 0
            clock(beat.patience)
        assert [rank.name for rank in silent] == ["rank 2"]


def test_a_server_that_answers_and_lets_nothing_be_measured_is_given_up(clock):
    with ranks(2) as found:
        beat = Heartbeat({1}, longest=longest_idle(Plan(time=1.0, timeout=2.0)))

        def beats(seconds):
            for _ in range(int(seconds / connected._PING_SECONDS)):
                found[1][0].unanswered = 0
                clock(connected._PING_SECONDS)
                yield beat.beat(rank for rank, _ in found)

        assert not any(beats(90.0))
        beat.measured()
        assert not any(beats(90.0))
        assert any(beats(4.0))
        assert longest_idle(Plan(iterations=1)) is None
