"""The group over sockets: messages between any two ranks, and every rank gets the values of the
others."""

import contextlib
import time
from functools import partial
from itertools import combinations

import msgspec
import pytest

from halftrip.control import collectives
from halftrip.control.calling import as_it_is, connect
from halftrip.control.collectives import (
    children_of,
    join_socket_group,
    lead_socket_group,
    parent_of,
)
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener
from halftrip.control.network import Network
from halftrip.control.protocol import Address, Closed, encoded
from halftrip.errors import Interrupted, Unavailable
from harness.doors import HELLO
from harness.groups import TOKEN, in_group, on_ranks
from harness.limits import AMPLE_SECONDS
from harness.paths import NOTHING, added, held
from harness.tcp_relay import FAR, NEAR
from harness.threads import in_thread

# The tree.


def test_every_rank_is_in_the_tree_once_and_no_more_than_log2_steps_from_its_root():
    for size in range(1, 70):
        children = [list(children_of(rank, size)) for rank in range(size)]
        assert sorted(child for below in children for child in below) == list(range(1, size))
        depths = {0: 0}
        for rank in range(1, size):
            assert rank in children[parent_of(rank)]
            depths[rank] = depths[parent_of(rank)] + 1
        steps = (size - 1).bit_length()
        assert max(depths.values()) <= steps
        assert max(map(len, children)) <= steps


# Values.


SIZES = [(size, "unix") for size in (1, 2, 3, 4, 6, 7, 9, 20)]


@pytest.mark.parametrize(("size", "reach"), [*SIZES, (5, "loopback"), (2, Network())])
def test_values_reach_all_ranks_in_order_and_nothing_stays_open(size, reach):
    def work(group):
        assert group.size == size
        received = group.broadcast({"size": 8} if group.rank == 0 else None, dict)
        gathered = group.gather(group.rank * 10, int)
        everybody = group.allgather(f"rank {group.rank}", str)
        group.barrier()
        return received, gathered, everybody

    names = [f"rank {rank}" for rank in range(size)]
    before = held()
    results = in_group(size, work, reach)
    assert results[0] == ({"size": 8}, [10 * rank for rank in range(size)], names)
    assert results[1:] == [({"size": 8}, None, names)] * (size - 1)
    assert added(before) == NOTHING


def test_values_arrive_whole_and_no_rank_passes_a_barrier_before_all():
    blob = bytes(range(256)) * 40_000
    assert in_group(2, lambda group: len(group.allgather(blob, bytes)[1])) == [len(blob)] * 2
    reached = []

    def work(group):
        for turn in range(3):
            reached.append((turn, group.rank))
            group.barrier()
            assert sum(number == turn for number, _ in reached) == group.size

    assert in_group(7, work) == [None] * 7


# Messages between two ranks.


@pytest.mark.parametrize("reach", ["unix", "loopback"])
@pytest.mark.parametrize("ranks", [(0, 1), (1, 2)])
def test_threads_of_two_ranks_talk_at_the_same_time(ranks, reach):
    """Each hears only of its own peer, in whichever order their first messages come."""
    threads = 5

    def work(group):
        if group.rank not in ranks:
            return
        (peer,) = set(ranks) - {group.rank}

        def talk(thread):
            for number in range(20):
                group.send(peer, b"%d %d" % (thread, number), thread)
                assert group.receive(peer, thread) == b"%d %d" % (thread, number)

        order = range(threads) if group.rank == ranks[0] else reversed(range(threads))
        for finish in [in_thread(partial(talk, thread)) for thread in order]:
            assert finish() is None

    assert in_group(3, work, reach, threads) == [None] * 3


def test_ranks_that_have_left_each_other_can_talk_again(monkeypatch):
    """With many ranks only those that are neighbours in the tree stay connected, and all to
    rank 0."""
    monkeypatch.setattr(collectives, "_MOST_CONNECTED", 2)
    size = 5

    def take_part(rank, group):
        for _ in range(2):
            for pair in combinations(range(size), 2):
                if rank in pair:
                    peer = sum(pair) - rank
                    for thread in (0, 1):
                        group.send(peer, b"%d" % rank, thread)
                        assert group.receive(peer, thread) == b"%d" % peer
                    group.leave(peer)
                group.barrier()
        return {peer for peer, _ in group._channels}

    connected = on_ranks(size, take_part, threads=2)
    for rank, peers in enumerate(connected):
        near = {0, parent_of(rank)} if rank else set(range(size))
        assert peers == (near | set(children_of(rank, size))) - {rank}


# What fails.


@pytest.mark.parametrize(("died", "named"), [(3, [2, 0, 3, None]), (2, [2, 0, None, 2])])
def test_each_rank_names_the_one_that_it_waited_for(died, named):
    """Rank 3 is below rank 2 in the tree."""

    def work(group):
        # Two that have never talked are not connected.
        group.barrier()
        return None if group.rank == died else group.allgather(None, None)

    results = in_group(4, work)
    said = [None if number is None else f"rank {number} died" for number in named]
    assert [None if each is None else str(each) for each in results] == said


def test_a_rank_that_cannot_be_reached_is_named():
    def work(group):
        if group.rank == 1:
            group._listener.close()
        group.barrier()
        if group.rank == 2:
            group.send(1, b"x")

    results = in_group(3, work)
    assert isinstance(results[2], Interrupted)
    assert str(results[2]).startswith("rank 2 cannot reach rank 1: ")


def test_ranks_that_do_not_reach_each_other_both_say_so_and_go_on_with_others(monkeypatch):
    monkeypatch.setattr(collectives, "_MEET_SECONDS", 0.2)

    def work(group):
        said = ""
        if group.rank == 2:
            group._addresses[1] = Address(hosts=("127.0.0.1",), port=1)
        if group.rank:
            with pytest.raises(Unavailable) as refused:
                group.meet(3 - group.rank)
            said = str(refused.value)
        return group.allgather(said, str)

    found = in_group(3, work, "loopback")
    assert found[0] == found[1] == found[2]
    _, first, second = found[0]
    assert first.startswith("rank 2 has not reached rank 1 at 127.0.0.1 port ")
    assert "within 0 s; ports that a firewall" in first
    no_way = "rank 2 cannot reach rank 1: no way to port 1: 127.0.0.1: Connection refused; ports "
    assert second.startswith(no_way)
    assert "--data-ports" in second


def test_who_never_comes_is_given_up_and_nothing_stays_open():
    listener = Listener(TOKEN, (), rank=0)
    with pytest.raises(TimeoutError):
        lead_socket_group(listener, TOKEN, 2, timeout=0.05)
    listener.close()
    listener = Listener(TOKEN, (), rank=0)
    listener.close()
    before = held()
    with pytest.raises(OSError, match="refused"):
        join_socket_group(listener.address, TOKEN, 1, 2, "unix")
    assert added(before) == NOTHING


# Strangers, and ranks that are not awaited.


def test_a_rank_that_says_what_no_rank_says_is_named():
    for payload in (b"", b"nonsense", b"\x91" * 5000, b"\xa2\xff\xfe"):

        def work(group, payload=payload):
            if group.rank == 1:
                group.send(0, payload)
                return None
            return group.gather(None, int)

        results = in_group(2, work)
        assert isinstance(results[0], Interrupted)
        assert str(results[0]).startswith("rank 1 sent what no rank says: malformed message: ")


@pytest.mark.parametrize(
    "hello",
    [
        introduce("group", 1, to=0),
        introduce("group", 3, to=0),
        introduce("group", -1, to=0),
        introduce("life", 2, to=0),
        introduce("group", 2, to=1),
        introduce("group", 2, to=0, thread=1),
    ],
)
def test_only_the_other_ranks_of_a_group_join_it_each_once(hello):
    listener = Listener(TOKEN, (), rank=0)
    groups = {}

    def lead():
        groups[0] = lead_socket_group(listener, TOKEN, 3, AMPLE_SECONDS)

    def join(rank):
        groups[rank] = join_socket_group(listener.address, TOKEN, rank, 3, "unix")

    leading, first = in_thread(lead), in_thread(lambda: join(1))
    while Guest("group", 1) in listener.awaited or not listener.awaited:
        time.sleep(0.001)
    with pytest.raises(Closed):
        connect(listener.address, TOKEN, hello)
    join(2)
    assert (leading(), first()) == (None, None)
    with pytest.raises(OSError, match="refused"):
        connect(listener.address, TOKEN, introduce("group", 1, to=0))
    for group in groups.values():
        group.close()


def test_a_rank_listens_only_while_others_may_connect():
    """Nobody connects to the last one, and nobody to any once all are connected."""

    def take_part(rank, group):
        before = group._listener._is_closed
        for other in {0, 1, 2} - {rank}:
            group.send(other, b"x")
            group.receive(other)
        return before, group._listener._is_closed

    assert on_ranks(3, take_part) == [(True, True), (False, True), (True, True)]


# Ranks on the other side of a run, which know the token and need not be honest.


@pytest.mark.parametrize("claimed", [[(0, "x")], [(1, "x"), (2, "x")], []])
def test_no_rank_speaks_for_another_one(claimed):
    def work(group):
        if group.rank:
            group.send(0, encoded(claimed))
            return
        with pytest.raises(Interrupted, match="rank 1 speaks for others than those below it"):
            group.gather("own", str)

    assert in_group(2, work) == [None, None]


def test_no_host_is_called_but_the_partner_and_this_one():
    with contextlib.closing(Listener(TOKEN, (), "loopback")) as listener:
        address = msgspec.structs.replace(listener.address, hosts=("127.0.0.9",))
        with pytest.raises(OSError, match=r"127\.0\.0\.9: not the host that this run is with"):
            connect(address, TOKEN, HELLO, network=Network(partners=("192.0.2.1",)))


def test_a_rank_that_is_near_does_not_come_from_elsewhere():
    """127.0.0.2 stands for another host: whoever calls from here has the address that it calls."""
    hello = introduce("group", 0, to=1)

    def call(prepare=as_it_is):
        connect(listener.address, TOKEN, hello, AMPLE_SECONDS, prepare=prepare).close()

    with contextlib.closing(Listener(TOKEN, {hello.guest}, Network(FAR), rank=1)) as listener:
        listener.near = {0}
        accepting = in_thread(lambda: listener.accept(AMPLE_SECONDS)[0].close())
        with pytest.raises(Closed):
            call(lambda end: end.bind((NEAR, 0)))
        call()
        assert accepting() is None
