"""Traffic beside what is timed: which cores it has, and that it goes on all the time."""

import threading
import time
from types import SimpleNamespace

import msgspec
import pytest

from halftrip import _native
from halftrip.clock import raw_now
from halftrip.control.watchdog import _ENDS, GRACE_SECONDS, Watchdog
from halftrip.errors import HalftripError, Interrupted, Unavailable
from halftrip.measure.background import BackgroundEnd, stood_still
from halftrip.measure.batch_runner import BatchReport, BatchRunner
from halftrip.measure.pair import PairEnd
from halftrip.plan.plan import Plan
from halftrip.results.background import BackgroundTraffic
from halftrip.telemetry.topology import Core, CoreView, Place, cores_beside
from halftrip.transports.base import Problem
from harness.bench import AMPLE_BYTES, set_up
from harness.groups import on_two_ranks
from harness.runs import configuration


def view(cores, host="h"):
    """Cores of two processors each, of one machine."""
    made = tuple(Core(number=n, physical=str(n // 2), cache="0") for n in cores)
    return CoreView(host, made, tuple(cores), machine="m")


@pytest.mark.parametrize(
    ("cores", "timed", "flows", "expected"),
    [
        (range(2), (0, 1), 1, [[None], [None]]),
        # Other physical cores first, then their other processors.
        (range(8), (0, 2), 1, [[4], [5]]),
        (range(8), (0, 2), 2, [[4, 6], [5, 7]]),
        (range(8), (0, 2), 4, [[4, 6, 1, None], [5, 7, 3, None]]),
        (range(3), (0, 1), 1, [[2], [None]]),
        (range(8), (None, None), 1, [[None], [None]]),
        (range(8), (0, 2), 0, [[], []]),
    ],
)
def test_it_has_cores_that_are_not_timed(cores, timed, flows, expected):
    places = [[Place(core, shared=False)] for core in timed]
    assert cores_beside([view(cores)] * 2, places, flows) == expected


def beside(text, work, transport="unix"):
    """What `work` returns at the initiator while the background goes on at both ends."""
    plan = Plan(transport=(transport,), background=(text,))

    def take_part(rank, group):
        setup = set_up(group, [transport], plan=plan)
        setup.beside[:] = [[None] * plan.all_threads] * 2
        threads = range(1, plan.all_threads)
        pairs = [PairEnd(setup, setup.context((0, 1), each), AMPLE_BYTES) for each in threads]
        timed = configuration(transport, 64, background=text)
        try:
            end = BackgroundEnd(setup, pairs, timed)
            end.open(is_first=True)
        except Unavailable as error:
            return str(error)
        found = []
        for _ in range(2):
            end.begin()
            began = raw_now()
            if rank == 0:
                work()
            ended = raw_now()
            end.end()
            found.append(end.traffic(began, ended) if rank == 0 else None)
        for pair in pairs:
            pair.close()
        return found

    return on_two_ranks(take_part, threads=plan.all_threads)[0]


@pytest.mark.parametrize(
    "text",
    [
        "stream:unix:64K",
        "bidirectional:unix:8K",
        "stream*3:unix:1K",
        "stream:udp:1K",
        "pingpong:udp:8",
        "stream:udp:1K:20MB",
    ],
)
def test_it_goes_on_until_it_is_ended_slice_after_slice(text):
    for traffic in beside(text, lambda: time.sleep(0.03), text.split(":")[1]):
        assert traffic.bytes > 0
        # On a busy machine a thread may wait for its core between two batches.
        assert 0.1 < traffic.running <= 1.0
        assert not traffic.own_cores


def test_a_rate_is_kept():
    """Within what a thread may sleep too long on a busy machine."""
    for traffic in beside("stream:unix:4K:1MB", lambda: time.sleep(0.1)):
        assert 2e5 < traffic.bandwidth < 2e6


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stream:mpi:64K", "--background stream:mpi:64K: mpi cannot be used here"),
        ("put:unix:8", "--background put:unix:8: a byte stream has no memory"),
    ],
)
def test_what_is_not_possible_is_refused_at_both_ends(text, why):
    assert beside(text, lambda: None).startswith(why)


@pytest.mark.parametrize("transport", ["unix", "shm"])
def test_what_a_thread_raises_is_raised_at_both_ends(monkeypatch, transport):
    """And neither waits for the other: a rank that ends closes what leads to the other, and its
    watchdog ends it, as nobody is told who waits in memory."""
    run, noted, known = BatchRunner.run, [], threading.Event()

    def fails(runner, batch):
        if runner._context.initiates:
            return run(runner, batch)
        raise RuntimeError("planted")

    def end(error, rank):
        # As a watchdog does: who has only seen a closed connection lets the reason come first.
        if isinstance(error, _ENDS):
            known.wait(GRACE_SECONDS)
        noted.append((str(error), rank))
        known.set()
        _native.request_stop()

    monkeypatch.setattr(BatchRunner, "run", fails)
    monkeypatch.setattr(Watchdog, "current", SimpleNamespace(fail=end))
    with pytest.raises((_native.PeerClosed, _native.Stopped, OSError, Interrupted)):
        beside(f"stream:{transport}:64K", lambda: None, transport)
    _native.request_stop(False)
    assert noted[0] == ("planted", 1)


@pytest.mark.parametrize(("silent", "kind"), [(False, Interrupted), (True, HalftripError)])
def test_of_a_path_that_the_peer_has_ended_the_reason_may_still_come(monkeypatch, silent, kind):
    """Over TCP between hosts, what ends a flow at one end is a closed connection at the other."""
    problem, noted = Problem("the peer closed its end", silent=silent), []
    report = BatchReport(problem=problem, gives_up=True)
    monkeypatch.setattr(BatchRunner, "run", lambda *_: report)
    watchdog = SimpleNamespace(fail=lambda error, _: noted.append(error))
    monkeypatch.setattr(Watchdog, "current", watchdog)
    with pytest.raises((HalftripError, OSError)):
        beside("stream:unix:64K", lambda: None)
    said = "--background: unix stream 64K failed: the peer closed its end"
    assert (kind, said) in [(type(error), str(error)) for error in noted]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"bytes": 0}, "it moved nothing while messages were timed"),
        ({"running": 0.7}, "it stood still for 30 % of the time"),
    ],
)
def test_traffic_that_stood_still_is_said(changes, said):
    usual = BackgroundTraffic(bytes=1, ns=1, running=1.0, load=0.1, own_cores=True)
    assert stood_still(msgspec.structs.replace(usual, **changes)) == said
