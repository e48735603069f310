"""The group over sockets: every rank gets the values of the others."""

import pytest

from halftrip.control.collectives import lead_socket_group
from halftrip.control.protocol import Listener
from halftrip.errors import Interrupted
from harness.groups import TOKEN, in_group


@pytest.mark.parametrize("reach", ["unix", "loopback", "network"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_values_reach_all_ranks_in_order(size, reach):
    def work(group):
        assert group.size == size
        received = group.broadcast({"size": 8} if group.rank == 0 else None, dict)
        gathered = group.gather(group.rank * 10, int)
        everybody = group.allgather(f"rank {group.rank}", str)
        group.barrier()
        return received, gathered, everybody

    names = [f"rank {rank}" for rank in range(size)]
    results = in_group(size, work, reach)
    assert results[0] == ({"size": 8}, [10 * rank for rank in range(size)], names)
    assert results[1:] == [({"size": 8}, None, names)] * (size - 1)


def test_large_values_arrive_whole():
    blob = bytes(range(256)) * 40_000
    assert in_group(2, lambda group: len(group.allgather(blob, bytes)[1])) == [len(blob)] * 2


def test_a_rank_that_leaves_is_named():
    def work(group):
        if group.rank == 1:
            return None
        return group.gather(None, None)

    results = in_group(2, work)
    assert isinstance(results[0], Interrupted)
    assert str(results[0]) == "rank 1 died"


def test_a_rank_that_never_comes_is_given_up():
    listener = Listener(TOKEN)
    with pytest.raises(TimeoutError):
        lead_socket_group(listener, 2, timeout=0.05)
    listener.close()
