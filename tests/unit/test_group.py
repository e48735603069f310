"""The group over sockets: what one rank says, the others hear."""

import threading

import pytest

from halftrip.control.collectives import join_socket_group, lead_socket_group
from halftrip.control.protocol import Abort, Listener, introduce
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job import join
from halftrip.plan.plan import Plan

TOKEN = "a token"


def in_group(size, work, reach="unix"):
    """Runs work(group) on `size` ranks, each a thread, and returns what each gave or raised."""
    listener = Listener(TOKEN, reach)
    results = [None] * size

    def rank_main(rank):
        if rank == 0:
            group = lead_socket_group(listener, size, timeout=10)
        else:
            group = join_socket_group(listener.address, introduce(TOKEN, "group", rank), size)
        try:
            results[rank] = work(group)
        except HalftripError as error:
            results[rank] = error
        finally:
            group.close()

    threads = [threading.Thread(target=rank_main, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()
    return results


@pytest.mark.parametrize("reach", ["unix", "loopback", "network"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_what_a_rank_says_the_others_hear(size, reach):
    def work(group):
        assert group.size == size
        told = group.broadcast({"size": 8} if group.rank == 0 else None, dict)
        gathered = group.gather(group.rank * 10, int)
        everybody = group.allgather(f"rank {group.rank}", str)
        group.barrier()
        return told, gathered, everybody

    names = [f"rank {rank}" for rank in range(size)]
    results = in_group(size, work, reach)
    assert results[0] == ({"size": 8}, [10 * rank for rank in range(size)], names)
    assert results[1:] == [({"size": 8}, None, names)] * (size - 1)


def test_large_values_get_through():
    blob = bytes(range(256)) * 40_000
    assert in_group(2, lambda group: len(group.allgather(blob, bytes)[1])) == [len(blob)] * 2


def test_a_rank_that_leaves_is_named():
    def work(group):
        if group.rank == 1:
            return "gone"
        return group.gather(None, None)

    results = in_group(2, work)
    assert isinstance(results[0], Interrupted)
    assert str(results[0]) == "rank 1 died"


def test_a_rank_that_never_comes_is_not_waited_for_for_ever():
    listener = Listener(TOKEN)
    with pytest.raises(TimeoutError):
        lead_socket_group(listener, 2, timeout=0.2)
    listener.close()


@pytest.mark.parametrize("kind", [HalftripError, UsageError])
def test_a_file_that_rank_0_cannot_make_ends_all_ranks(kind):
    def create(plan):
        raise kind("no space left")

    results = in_group(3, lambda group: join._create(group, Plan(), create))
    assert [type(result) for result in results] == [kind] * 3
    assert {str(result) for result in results} == {"no space left"}


def test_a_rank_that_cannot_reach_rank_0_is_a_reason_and_ends_those_that_can(monkeypatch):
    connect = join.connect

    def connect_some(address, hello):
        if hello.rank == 2:
            raise OSError(113, "no way to port 1")
        return connect(address, hello)

    def work(group):
        (channel,) = join._lifelines(group, TOKEN)
        message = channel.receive()
        channel.close()
        return message

    monkeypatch.setattr(join, "connect", connect_some)
    monkeypatch.setattr(join, "_CONNECT_SECONDS", 0.5)
    results = in_group(3, work)
    assert str(results[0]) == "1 of 2 ranks could not reach rank 0 in 0 s"
    assert results[1] == Abort(str(results[0]))
    assert "rank 2 cannot reach rank 0: [Errno 113] no way to port 1" in str(results[2])
