"""Paths between two ranks: opened once for each way to wait, or refused at both ends."""

import pytest

from halftrip.errors import Unavailable
from halftrip.measure.connection import Connection
from halftrip.results.case import CaseEnd
from halftrip.transports.base import Path, Transport
from halftrip.transports.capabilities import Capabilities
from harness.bench import clock, pair, process
from harness.groups import in_group, on_two_ranks
from harness.runs import case


class NotedPath(Path):
    """A path that notes the calls it gets; with `fails`, it cannot connect."""

    def __init__(self, notes, rank, fails):
        self.address = {"rank": rank}
        self.notes = notes
        self._fails = fails

    def connect(self, address):
        self.notes.append(("connect", address["rank"]))
        if self._fails:
            raise OSError(111, "Connection refused")

    def endpoint(self, case, buffers):
        raise AssertionError("no case is measured over it")

    def close(self):
        self.notes.append("close")


class NotedTransport(Transport):
    capabilities = Capabilities(patterns={"blocking": ("pingpong",)}, waits=("spin", "block"))

    def __init__(self, rank, fails=None):
        super().__init__(process(rank))
        self.fails = fails
        self.notes = []
        self.waits = []

    def missing(self, pair):
        return "there is none at rank 1" if self.fails == "missing" else None

    def path(self, pair, wait):
        self.waits.append(wait)
        if self.fails == "path":
            raise Unavailable("no path")
        return NotedPath(self.notes, self.process.rank, self.fails == "connect")


def connection(group):
    """The connection of ranks 0 and 1; other ranks are not members."""
    return Connection(group, (0, 1), pair(min(group.rank, 1)), clock())


def waits(initiator, responder):
    ends = (CaseEnd(wait=wait) for wait in (initiator, responder))
    return case("noted", **dict(zip(("initiator", "responder"), ends, strict=True)))


def test_cases_that_wait_alike_at_both_ends_share_a_path():
    def work(group):
        transport, own = NotedTransport(group.rank), connection(group)
        alike = [own.path(transport, waits("spin", "block")) for _ in range(2)]
        others = [
            own.path(transport, waits(*each)) for each in (("block", "spin"), ("spin", "spin"))
        ]
        assert alike[0] is alike[1]
        assert len({id(path) for path in (*alike, *others)}) == (3 if group.rank < 2 else 1)
        assert own.opened(waits("spin", "block")) is alike[0]
        assert own.opened(waits("block", "block")) is None
        own.close()
        return transport.waits, transport.notes.count("close")

    results = in_group(3, work)
    # Each end has its own way to wait; a rank that is not a member opens nothing.
    assert results == [
        (["spin", "block", "spin"], 3),
        (["block", "spin", "spin"], 3),
        ([], 0),
    ]


def test_the_responder_connects_first_and_each_end_gets_the_other_s_address():
    order = []

    class OrderedPath(NotedPath):
        def connect(self, address):
            order.append((self.address["rank"], address["rank"]))

    class OrderedTransport(NotedTransport):
        def path(self, pair, wait):
            return OrderedPath([], self.process.rank, False)

    def take_part(rank, group):
        own = connection(group)
        own.path(OrderedTransport(rank), waits("spin", "spin"))
        own.close()

    on_two_ranks(take_part)
    assert order == [(1, 0), (0, 1)]


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("step", "reason"), [("path", "no path"), ("connect", "Connection refused")]
)
def test_a_path_that_cannot_be_opened_is_refused_at_all_ranks_and_closed(failing, step, reason):
    def work(group):
        transport = NotedTransport(group.rank, step if group.rank == failing else None)
        own = connection(group)
        for _ in range(2):
            with pytest.raises(Unavailable, match=f"^{reason}$"):
                own.path(transport, waits("spin", "spin"))
        own.close()
        # It is not tried again.
        return len(transport.waits), transport.notes.count("close")

    tried = in_group(3, work)
    made_none = failing if step == "path" else None
    assert tried == [(1, 0 if rank == made_none else 1) for rank in (0, 1)] + [(0, 0)]


def test_a_transport_that_one_rank_lacks_is_missing_at_all():
    def work(group):
        transport = NotedTransport(group.rank, "missing" if group.rank == 1 else None)
        return connection(group).missing(transport)

    assert in_group(3, work) == ["there is none at rank 1"] * 3


def test_ranks_of_different_hosts_share_no_memory():
    def take_part(rank, group):
        own = Connection(group, (0, 1), pair(rank, same_host=False), clock())
        return own.pair.segment, own.pair.no_segment, own.has_probe, own.probe()

    assert on_two_ranks(take_part) == [(None, "the ranks are on different hosts", False, None)] * 2


def test_ranks_of_one_host_share_memory():
    def take_part(rank, group):
        own = connection(group)
        if rank == 0:
            own.pair.segment[:4] = [1, 2, 3, 4]
        group.barrier()
        return own.pair.segment[:4].tolist()

    assert on_two_ranks(take_part) == [[1, 2, 3, 4]] * 2
